/* intern.c - numbers for byte strings: equal strings have equal numbers */
#include "compare/intern.h"

#include <stdlib.h>
#include <string.h>

#include "symbols/store.h"
#include "trace/grow.h"

enum { FIRST_SLOTS = 1024 };

static bool grow_slots(struct hwi_intern *intern)
{
  if (intern->count * 2 < intern->slot_count)
    return true;
  size_t slot_count = intern->slot_count > 0 ? intern->slot_count * 2 : FIRST_SLOTS;
  uint32_t *slots = calloc(slot_count, sizeof *slots);
  if (!slots)
    return false;
  for (size_t number = 1; number < intern->count; number++) {
    size_t at = intern->items[number].hash & (slot_count - 1);
    while (slots[at] != 0)
      at = (at + 1) & (slot_count - 1);
    slots[at] = (uint32_t)number;
  }
  free(intern->slots);
  intern->slots = slots;
  intern->slot_count = slot_count;
  return true;
}

uint32_t hwi_intern(struct hwi_intern *intern, const void *bytes, size_t count)
{
  intern->count += intern->count == 0;
  if (!grow_slots(intern))
    return 0;
  uint64_t hash = hwi_hash(bytes, count, 0);
  size_t at = hash & (intern->slot_count - 1);
  for (; intern->slots[at] != 0; at = (at + 1) & (intern->slot_count - 1)) {
    const struct hwi_interned *item = &intern->items[intern->slots[at]];
    if (item->hash == hash && item->bytes == count && memcmp(intern->text + item->off, bytes, count) == 0)
      return intern->slots[at];
  }
  if (intern->count == UINT32_MAX ||
      !hwi_grow((void **)&intern->items, &intern->room, intern->count + 1, sizeof *intern->items) ||
      !hwi_grow((void **)&intern->text, &intern->text_room, intern->text_bytes + count + 1, 1))
    return 0;
  memcpy(intern->text + intern->text_bytes, bytes, count);
  intern->items[intern->count] = (struct hwi_interned){hash, intern->text_bytes, count};
  intern->text_bytes += count;
  intern->slots[at] = (uint32_t)intern->count;
  return (uint32_t)intern->count++;
}

void hwi_intern_release(struct hwi_intern *intern)
{
  free(intern->text);
  free(intern->items);
  free(intern->slots);
  *intern = (struct hwi_intern){0};
}
