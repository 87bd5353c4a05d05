/* contents.c - what live blocks hold
 *
 * Duplicates: a hash of each block's bytes leads to the first block with that hash; the bytes themselves decide whether they
 * are equal.
 */
#include "memory/types/contents.h"

#include <stdlib.h>
#include <string.h>

#include "trace/table.h"

enum { LEAST_TEXT = 4, LEAST_DENSE = 256, MOST_DENSE = 4096, BYTE_VALUES = 256 };

const char *const hwi_content_names[HWI_CONTENTS] = {"zeros", "text", "pointers", "dense", "other", "not_known"};

/* A content that was seen. */
struct seen {
  uint64_t hash;  /* 0: an empty slot */
  uint32_t block; /* of the heap */
  uint32_t copies;
};

struct search {
  struct hwi_core_contents *contents;
  const struct hwi_core_heap *heap;
  const struct hwi_core_modules *modules;
  struct hwi_memory_reader reader;
  struct seen *slots;
  size_t slot_count;
  uint64_t heap_begin, heap_end;
};

/* --- one block --- */

static bool are_zeros(const unsigned char *bytes, uint64_t count)
{
  return count == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, count - 1) == 0);
}

/* Returns how many bytes the character at `bytes` has; 0: it is no character of a text. */
static uint64_t character(const unsigned char *bytes, uint64_t count)
{
  enum {
    BLANK = 0x20,
    DELETE = 0x7F,
    CONTINUED = 0x80,
    CONTINUED_MASK = 0xC0,
    TWO = 0xC2,
    THREE = 0xE0,
    FOUR = 0xF0,
    NONE = 0xF5
  };
  const unsigned char first = bytes[0];
  if (first < CONTINUED)
    return (first >= BLANK && first != DELETE) || first == '\t' || first == '\n' || first == '\r';
  const uint64_t wanted = first < TWO || first >= NONE ? 0 : first < THREE ? 2 : first < FOUR ? 3 : 4;
  if (wanted == 0 || wanted > count)
    return 0;
  for (uint64_t i = 1; i < wanted; i++)
    if ((bytes[i] & CONTINUED_MASK) != CONTINUED)
      return 0;
  return wanted;
}

/* Returns how many bytes of text there are before the first NUL; 0 if there is none, or something else before it. */
static uint64_t text_bytes(const unsigned char *bytes, uint64_t count)
{
  uint64_t at = 0;
  for (uint64_t more; at < count && bytes[at]; at += more)
    if ((more = character(bytes + at, count - at)) == 0)
      return 0;
  return at < count && at >= LEAST_TEXT ? at : 0;
}

void hwi_content_text(char text[HWI_CONTENT_TEXT_BYTES], const unsigned char *bytes, uint64_t count)
{
  const uint64_t there = text_bytes(bytes, count);
  uint64_t at = 0, more;
  while (at < there && (more = character(bytes + at, there - at)) > 0 && at + more < HWI_CONTENT_TEXT_BYTES)
    at += more;
  memcpy(text, bytes, at);
  text[at] = 0;
}

static bool are_pointers(const struct search *search, const unsigned char *bytes, uint64_t count)
{
  const struct hwi_memory *memory = search->reader.memory;
  uint64_t words = 0, pointers = 0;
  for (uint64_t at = 0; at + memory->word_bytes <= count; at += memory->word_bytes) {
    const uint64_t word = hwi_memory_load(memory, bytes + at);
    if (word == 0)
      continue;
    words++;
    pointers += (word >= search->heap_begin && word < search->heap_end) || hwi_core_modules_of(search->modules, word);
  }
  return words && 2 * pointers >= words;
}

/* Random bytes have each value about equally often: the sum of squares of how often is then little more than the square of
 * the number of bytes / 256. */
static bool is_dense(const unsigned char *bytes, uint64_t count)
{
  uint64_t times[BYTE_VALUES] = {0}, squares = 0;
  if (count < LEAST_DENSE)
    return false;
  count = count < MOST_DENSE ? count : MOST_DENSE;
  for (uint64_t i = 0; i < count; i++)
    times[bytes[i]]++;
  for (int i = 0; i < BYTE_VALUES; i++)
    squares += times[i] * times[i];
  return squares * BYTE_VALUES < 2 * count * count + count * BYTE_VALUES;
}

static enum hwi_content content_of(const struct search *search, const unsigned char *bytes, uint64_t count)
{
  return are_zeros(bytes, count)              ? HWI_CONTENT_ZEROS
         : text_bytes(bytes, count)           ? HWI_CONTENT_TEXT
         : are_pointers(search, bytes, count) ? HWI_CONTENT_POINTERS
         : is_dense(bytes, count)             ? HWI_CONTENT_DENSE
                                              : HWI_CONTENT_OTHER;
}

/* --- duplicates --- */

static uint64_t hash_of(const unsigned char *bytes, uint64_t count)
{
  static const uint64_t prime = UINT64_C(0x9E3779B97F4A7C15);
  uint64_t hash = count * prime, word;
  for (; count >= sizeof word; bytes += sizeof word, count -= sizeof word) {
    memcpy(&word, bytes, sizeof word);
    hash = (hash ^ word) * prime;
    hash ^= hash >> 32;
  }
  for (; count; bytes++, count--)
    hash = (hash ^ *bytes) * prime;
  hash ^= hash >> 29;
  return hash ? hash : 1;
}

static bool is_equal(struct search *search, uint32_t block, const unsigned char *bytes, uint64_t count)
{
  const struct hwi_core_block *other = &search->heap->blocks[block];
  const unsigned char *other_bytes =
      hwi_core_block_bytes(other) == count ? hwi_memory_bytes(&search->reader, other->address, count) : NULL;
  return other_bytes && memcmp(other_bytes, bytes, count) == 0;
}

static void look_for_duplicate(struct search *search, uint32_t block, const unsigned char *bytes, uint64_t count)
{
  const uint64_t hash = hash_of(bytes, count);
  size_t at = hash & (search->slot_count - 1);
  while (search->slots[at].hash &&
         (search->slots[at].hash != hash || !is_equal(search, search->slots[at].block, bytes, count)))
    at = (at + 1) & (search->slot_count - 1);
  struct seen *seen = &search->slots[at];
  if (!seen->hash)
    *seen = (struct seen){.hash = hash, .block = block};
  if (seen->copies++ == 0)
    return;
  search->contents->duplicates.blocks++;
  search->contents->duplicates.bytes += count;
}

static uint64_t saved(const struct hwi_duplicate *duplicate)
{
  return (duplicate->copies - 1) * duplicate->bytes;
}

/* Keeps the ones with most bytes, in order. */
static void rank(struct hwi_core_contents *contents, const struct hwi_duplicate *duplicate)
{
  size_t at = contents->most_count;
  if (at == HWI_DUPLICATES_MAX && saved(duplicate) <= saved(&contents->most[at - 1]))
    return;
  contents->most_count += at < HWI_DUPLICATES_MAX;
  for (at = contents->most_count - 1; at > 0 && saved(&contents->most[at - 1]) < saved(duplicate); at--)
    contents->most[at] = contents->most[at - 1];
  contents->most[at] = *duplicate;
}

static void rank_all(struct search *search)
{
  for (size_t i = 0; i < search->slot_count; i++)
    if (search->slots[i].copies > 1) {
      const struct hwi_core_block *block = &search->heap->blocks[search->slots[i].block];
      rank(search->contents,
           &(struct hwi_duplicate){block->address, hwi_core_block_bytes(block), search->slots[i].copies});
    }
}

/* --- all --- */

static void look_at(struct search *search, uint32_t number)
{
  const struct hwi_core_block *block = &search->heap->blocks[number];
  const uint64_t count = hwi_core_block_bytes(block);
  const unsigned char *bytes = hwi_memory_bytes(&search->reader, block->address, count);
  struct hwi_core_heap_sum *sum =
      &search->contents->sums[bytes ? content_of(search, bytes, count) : HWI_CONTENT_NOT_KNOWN];
  sum->blocks++;
  sum->bytes += count;
  if (bytes)
    look_for_duplicate(search, number, bytes, count);
}

bool hwi_core_contents_find(struct hwi_core_contents *contents, const struct hwi_memory *memory,
                            const struct hwi_core_heap *heap, const struct hwi_core_modules *modules)
{
  const size_t live = hwi_core_heap_sum(heap, HWI_CORE_BLOCK_LIVE).blocks;
  struct search search = {
      .contents = contents, .heap = heap, .modules = modules, .reader = {.memory = memory}, .slot_count = 64};
  *contents = (struct hwi_core_contents){0};
  while (search.slot_count < 2 * live)
    search.slot_count *= 2;
  search.slots = heap->block_count <= UINT32_MAX ? hwi_table_create(search.slot_count * sizeof *search.slots) : NULL;
  if (!search.slots)
    return false;
  if (heap->block_count) {
    search.heap_begin = heap->blocks[0].address;
    search.heap_end = heap->blocks[heap->block_count - 1].address + 1;
  }
  for (size_t i = 0; i < heap->block_count; i++)
    if (hwi_core_block_state(&heap->blocks[i]) == HWI_CORE_BLOCK_LIVE)
      look_at(&search, (uint32_t)i);
  rank_all(&search);
  hwi_table_release(search.slots, search.slot_count * sizeof *search.slots);
  return true;
}
