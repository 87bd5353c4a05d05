/* store.c - memory that is released all at once, and interned strings in it */
#include "trace/store.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "trace/grow.h"

enum { CHUNK_BYTES = 64 * 1024, ALIGN_BYTES = 16 };

/* --- memory --- */

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

/* --- strings --- */

static uint32_t find(const struct hwi_store *store, uint32_t tag, const void *bytes, size_t count)
{
  const struct hwi_hash_slot *at = hwi_hash_table_first(&store->numbers, tag);
  for (; at->number; at = hwi_hash_table_next(&store->numbers, at)) {
    const struct hwi_stored_string *string = &store->strings[at->number];
    if (string->bytes == count && (count == 0 || memcmp(string->text, bytes, count) == 0))
      break;
  }
  return at->number;
}

uint32_t hwi_store_find_text(const struct hwi_store *store, const char *text)
{
  const size_t bytes = strlen(text);
  return find(store, (uint32_t)hwi_hash_bytes(text, bytes, 0), text, bytes);
}

uint32_t hwi_store_intern(struct hwi_store *store, const void *bytes, size_t count)
{
  const uint32_t tag = (uint32_t)hwi_hash_bytes(bytes, count, 0), known = find(store, tag, bytes, count);
  if (known)
    return known;
  const uint32_t number = store->string_count + 1;
  if (number == UINT32_MAX ||
      !hwi_grow((void **)&store->strings, &store->string_capacity, (size_t)number + 1, sizeof *store->strings))
    return 0;
  char *copy = hwi_store_take(store, count + 1);
  if (!copy || !hwi_hash_table_add(&store->numbers, tag, number))
    return 0;
  if (count)
    memcpy(copy, bytes, count);
  copy[count] = '\0';
  store->strings[number] = (struct hwi_stored_string){copy, count};
  return store->string_count = number;
}

uint32_t hwi_store_intern_text(struct hwi_store *store, const char *text)
{
  return hwi_store_intern(store, text, strlen(text));
}

const char *hwi_store_string(struct hwi_store *store, const char *text)
{
  const uint32_t number = text ? hwi_store_intern_text(store, text) : 0;
  return number ? store->strings[number].text : NULL;
}

void hwi_store_release(struct hwi_store *store)
{
  while (store->chunks) {
    struct hwi_store_chunk *next = store->chunks->next;
    free(store->chunks);
    store->chunks = next;
  }
  free(store->strings);
  hwi_hash_table_release(&store->numbers);
  *store = (struct hwi_store){0};
}
