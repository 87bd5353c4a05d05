/* keys.c - numbers for items that formats list once and refer to */
#include "export/keys.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "trace/grow.h"

enum { FIRST_SLOTS = 1024 };

/* Slots are at most half full. `hash_of` returns the hash of an existing item. */
static bool grow_slots(struct hwi_key_slots *slots, uint32_t count,
                       uint64_t (*hash_of)(const void *table, uint32_t number), const void *table)
{
  if ((size_t)count * 2 < slots->count)
    return true;
  size_t made_count = slots->count ? slots->count * 2 : FIRST_SLOTS;
  uint32_t *made = calloc(made_count, sizeof *made);
  if (!made)
    return false;
  for (uint32_t number = 1; number <= count; number++) {
    size_t at = hash_of(table, number) & (made_count - 1);
    while (made[at])
      at = (at + 1) & (made_count - 1);
    made[at] = number;
  }
  free(slots->numbers);
  *slots = (struct hwi_key_slots){made, made_count};
  return true;
}

/* --- pairs --- */

static uint64_t hash_key(uint64_t a, uint64_t b)
{
  uint64_t hash = (a ^ (b << 29 | b >> 35)) * UINT64_C(0x9e3779b97f4a7c15);
  return hash ^ hash >> 32;
}

static uint64_t hash_of_key(const void *table, uint32_t number)
{
  const struct hwi_keys *keys = table;
  return hash_key(keys->items[number].a, keys->items[number].b);
}

uint32_t hwi_keys_intern(struct hwi_keys *keys, uint64_t a, uint64_t b)
{
  if (!grow_slots(&keys->slots, keys->count, hash_of_key, keys))
    return 0;
  size_t at = hash_key(a, b) & (keys->slots.count - 1);
  for (; keys->slots.numbers[at]; at = (at + 1) & (keys->slots.count - 1)) {
    const struct hwi_key *key = &keys->items[keys->slots.numbers[at]];
    if (key->a == a && key->b == b)
      return keys->slots.numbers[at];
  }
  if (keys->count == UINT32_MAX - 1 ||
      !hwi_grow((void **)&keys->items, &keys->capacity, (size_t)keys->count + 2, sizeof *keys->items))
    return 0;
  keys->items[++keys->count] = (struct hwi_key){a, b};
  return keys->slots.numbers[at] = keys->count;
}

void hwi_keys_release(struct hwi_keys *keys)
{
  free(keys->items);
  free(keys->slots.numbers);
  *keys = (struct hwi_keys){0};
}

/* --- texts --- */

static uint64_t hash_text(const char *text)
{
  uint64_t hash = 0;
  for (; *text; text++)
    hash = (hash ^ (unsigned char)*text) * UINT64_C(0x9e3779b97f4a7c15);
  return hash ^ hash >> 32;
}

static uint64_t hash_of_text(const void *table, uint32_t number)
{
  const struct hwi_strings *strings = table;
  return hash_text(strings->items[number]);
}

uint32_t hwi_strings_intern(struct hwi_strings *strings, const char *text)
{
  if (!grow_slots(&strings->slots, strings->count, hash_of_text, strings))
    return 0;
  size_t at = hash_text(text) & (strings->slots.count - 1);
  for (; strings->slots.numbers[at]; at = (at + 1) & (strings->slots.count - 1))
    if (strcmp(strings->items[strings->slots.numbers[at]], text) == 0)
      return strings->slots.numbers[at];
  if (strings->count == UINT32_MAX - 1 ||
      !hwi_grow((void **)&strings->items, &strings->capacity, (size_t)strings->count + 2, sizeof *strings->items))
    return 0;
  char *copy = strdup(text);
  if (!copy)
    return 0;
  strings->items[++strings->count] = copy;
  return strings->slots.numbers[at] = strings->count;
}

void hwi_strings_release(struct hwi_strings *strings)
{
  for (uint32_t i = 1; i <= strings->count; i++)
    free(strings->items[i]);
  free(strings->items);
  free(strings->slots.numbers);
  *strings = (struct hwi_strings){0};
}
