/* name_set.c - a set of file names */
#include "launch/follow/name_set.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/fnv.h"

enum { FIRST_SLOTS = 64 };

static size_t slot_of(const struct hwi_name_set *names, const char *name)
{
  size_t slot = hwi_fnv_text(name) & (names->slot_count - 1);
  while (names->slots[slot] && strcmp(names->slots[slot], name) != 0)
    slot = (slot + 1) & (names->slot_count - 1);
  return slot;
}

bool hwi_name_set_has(const struct hwi_name_set *names, const char *name)
{
  return names->slot_count && names->slots[slot_of(names, name)];
}

static bool grow(struct hwi_name_set *names)
{
  struct hwi_name_set larger = {.slot_count = names->slot_count ? 2 * names->slot_count : FIRST_SLOTS,
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

bool hwi_name_set_add(struct hwi_name_set *names, const char *name)
{
  if (2 * (names->count + 1) > names->slot_count && !grow(names))
    return false;
  size_t slot = slot_of(names, name);
  if (names->slots[slot])
    return true;
  names->slots[slot] = strdup(name);
  names->count += names->slots[slot] != NULL;
  return names->slots[slot];
}

void hwi_name_set_release(struct hwi_name_set *names)
{
  for (size_t i = 0; i < names->slot_count; i++)
    free(names->slots[i]);
  free(names->slots);
  *names = (struct hwi_name_set){0};
}
