/* names.c - a set of file names */
#include "launch/names.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 64 };

static size_t slot_of(const struct hwi_names *names, const char *name)
{
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  for (const char *at = name; *at; at++)
    hash = (hash ^ (uint8_t)*at) * UINT64_C(0x100000001b3);
  size_t slot = hash & (names->slot_count - 1);
  while (names->slots[slot] && strcmp(names->slots[slot], name) != 0)
    slot = (slot + 1) & (names->slot_count - 1);
  return slot;
}

bool hwi_names_has(const struct hwi_names *names, const char *name)
{
  return names->slot_count && names->slots[slot_of(names, name)];
}

static bool grow(struct hwi_names *names)
{
  struct hwi_names larger = {.slot_count = names->slot_count ? 2 * names->slot_count : FIRST_SLOTS,
                             .count = names->count};
  larger.slots = calloc(larger.slot_count, sizeof *larger.slots);
  if (!larger.slots)
    return false;
  for (size_t i = 0; i < names->slot_count; i++)
    if (names->slots[i])
      larger.slots[slot_of(&larger, names->slots[i])] = names->slots[i];
  free(names->slots);
  *names = larger;
  return true;
}

bool hwi_names_add(struct hwi_names *names, const char *name)
{
  if (2 * (names->count + 1) > names->slot_count && !grow(names))
    return false;
  size_t slot = slot_of(names, name);
  if (names->slots[slot])
    return true;
  names->slots[slot] = strdup(name);
  names->count += names->slots[slot] != NULL;
  return names->slots[slot] != NULL;
}

void hwi_names_release(struct hwi_names *names)
{
  for (size_t i = 0; i < names->slot_count; i++)
    free(names->slots[i]);
  free(names->slots);
  *names = (struct hwi_names){0};
}
