/* store.c - memory that lives as long as the symbolizer, and its interned strings */
#include "symbols/store.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/fnv.h"

enum { CHUNK_BYTES = 64 * 1024, ALIGN_BYTES = 16, FIRST_SLOTS = 1024 };

struct hwi_store_chunk {
  struct hwi_store_chunk *next;
  size_t used, capacity;
  _Alignas(ALIGN_BYTES) unsigned char bytes[];
};

static struct hwi_store_chunk *new_chunk(size_t bytes)
{
  size_t capacity = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
  struct hwi_store_chunk *chunk = malloc(sizeof *chunk + capacity);
  if (chunk) {
    chunk->next = NULL;
    chunk->used = 0;
    chunk->capacity = capacity;
  }
  return chunk;
}

void *hwi_store_take(struct hwi_store *store, size_t bytes)
{
  if (bytes > SIZE_MAX / 2)
    return NULL;
  bytes = (bytes + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
  struct hwi_store_chunk *chunk = store->chunks;
  if (!chunk || chunk->capacity - chunk->used < bytes) {
    chunk = new_chunk(bytes);
    if (!chunk)
      return NULL;
    chunk->next = store->chunks;
    store->chunks = chunk;
  }
  void *taken = chunk->bytes + chunk->used;
  chunk->used += bytes;
  return taken;
}

uint64_t hwi_hash(const void *data, size_t bytes, uint64_t seed)
{
  uint64_t hash = hwi_fnv(HWI_FNV_BASIS ^ seed, data, bytes);
  return hash ^ hash >> 32;
}

/* Returns the slot of `text`, or the free slot where it belongs. There is always a free one. */
static const char **slot_of(const char **strings, size_t slots, const char *text)
{
  size_t at = hwi_hash(text, strlen(text), 0) & (slots - 1);
  while (strings[at] && strcmp(strings[at], text) != 0)
    at = (at + 1) & (slots - 1);
  return &strings[at];
}

static bool make_room(struct hwi_store *store)
{
  if (store->string_count * 2 < store->string_slots)
    return true;
  size_t slots = store->string_slots ? store->string_slots * 2 : FIRST_SLOTS;
  const char **strings = calloc(slots, sizeof *strings);
  if (!strings)
    return false;
  for (size_t i = 0; i < store->string_slots; i++) {
    if (store->strings[i])
      *slot_of(strings, slots, store->strings[i]) = store->strings[i];
  }
  free(store->strings);
  store->strings = strings;
  store->string_slots = slots;
  return true;
}

const char *hwi_store_string(struct hwi_store *store, const char *text)
{
  if (!text || !make_room(store))
    return NULL;
  const char **slot = slot_of(store->strings, store->string_slots, text);
  if (*slot)
    return *slot;
  size_t bytes = strlen(text) + 1;
  char *copy = hwi_store_take(store, bytes);
  if (!copy)
    return NULL;
  memcpy(copy, text, bytes);
  *slot = copy;
  store->string_count++;
  return copy;
}

void hwi_store_release(struct hwi_store *store)
{
  while (store->chunks) {
    struct hwi_store_chunk *next = store->chunks->next;
    free(store->chunks);
    store->chunks = next;
  }
  free(store->strings);
  *store = (struct hwi_store){0};
}
