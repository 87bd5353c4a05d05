/* forge_heap.c - for the tests: looks for the heap of a core dump again and again, in memory that was written over
 *
 *   forge_heap FILE SEED ROUNDS   Each round overwrites some words, and restores them.
 *   forge_heap FILE               Once for each call of malloc, which fails, as do all after it.
 *
 * Ends with an error if blocks are not in order, if an error has no text, or if memory is not freed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../../trace/failing_malloc.h"
#include "memory/heaps/heap.h"
#include "memory/image/core_file.h"

enum { WORDS_MOST = 64 };

static struct hwi_memory memory;
static uint64_t seed;

static uint64_t next_random(void)
{
  seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
  return seed;
}

static void fail(const char *what)
{
  fprintf(stderr, "%s\n", what);
  exit(1);
}

static size_t check(void)
{
  struct hwi_core_heap heap;
  struct hwi_error error = {0};
  const int status = hwi_core_heap_find(&heap, &memory, &error);
  const size_t count = heap.block_count;
  if (status < 0 && !error.text[0])
    fail("an error has no text");
  for (size_t i = 1; i < heap.block_count; i++)
    if (heap.blocks[i].address < heap.blocks[i - 1].address)
      fail("blocks are not in order");
  for (size_t i = 0; i < heap.damage_count && i < HWI_DAMAGES_MAX; i++)
    if (!heap.damages[i].text[0])
      fail("a damage has no text");
  hwi_core_heap_release(&heap);
  return count;
}

/* Returns a word of memory that can be written. */
static unsigned char *any_word(void)
{
  for (;;) {
    const struct hwi_region *region = &memory.regions[next_random() % memory.region_count];
    if (region->is_writable && region->known >= sizeof(uint64_t))
      return (unsigned char *)(uintptr_t)region->bytes +
             next_random() % (region->known / sizeof(uint64_t)) * sizeof(uint64_t);
  }
}

static uint64_t forged_word(uint64_t old)
{
  uint64_t other;
  memcpy(&other, any_word(), sizeof other);
  switch (next_random() % 6) {
  case 0:
    return other;
  case 1:
    return old ^ UINT64_C(1) << next_random() % 64;
  case 2:
    return old + next_random() % 65 - 32;
  case 3:
    return 0;
  case 4:
    return (old & ~UINT64_C(0xffff)) | (other & 0xffff);
  default:
    return next_random();
  }
}

static void forge(unsigned char *const *targets, size_t count)
{
  uint64_t old[WORDS_MOST];
  for (size_t i = 0; i < count; i++) {
    memcpy(&old[i], targets[i], sizeof *old);
    const uint64_t word = forged_word(old[i]);
    memcpy(targets[i], &word, sizeof word);
  }
  check();
  while (count-- > 0)
    memcpy(targets[count], &old[count], sizeof *old);
}

/* Not what is in most blocks of the programs here: zeros, or bytes of 0xff. */
static unsigned char *used_word(void)
{
  uint64_t word = 0;
  unsigned char *at = NULL;
  for (int tries = 0; tries < 10000 && word + 1 <= 1; tries++) {
    at = any_word();
    memcpy(&word, at, sizeof word);
  }
  return at;
}

static void forge_rounds(int rounds)
{
  for (int round = 0; round < rounds; round++) {
    unsigned char *targets[WORDS_MOST];
    const size_t count = 1 + next_random() % WORDS_MOST;
    for (size_t i = 0; i < count; i++)
      targets[i] = used_word();
    forge(targets, count);
  }
}

static void fail_each_call(void)
{
  const size_t blocks = check();
  bool has_failed = true;
  for (uint64_t calls = 0; has_failed; calls++) {
    struct hwi_core_heap heap;
    struct hwi_error error = {0};
    failing_malloc_arm(calls, UINT64_MAX);
    const int status = hwi_core_heap_find(&heap, &memory, &error);
    const size_t count = heap.block_count;
    hwi_core_heap_release(&heap);
    has_failed = failing_malloc_disarm();
    if (failing_malloc_leaks())
      fail("memory is not freed");
    if (status < 0 ? !has_failed || !error.text[0] : count != blocks)
      fail("a call that failed changes what is found");
  }
}

int main(int count, char **words)
{
  struct hwi_error error = {0};
  if (count < 2 || hwi_core_file_open(&memory, words[1], &error) < 0)
    fail(error.text);
  for (size_t i = 0; i < memory.region_count; i++) {
    struct hwi_region *region = &memory.regions[i];
    unsigned char *copy = malloc(region->known + 1);
    memcpy(copy, region->bytes, region->known);
    region->bytes = copy;
  }
  seed = count > 2 ? strtoull(words[2], NULL, 10) * UINT64_C(0x9e3779b97f4a7c15) + 1 : 0;
  if (count > 3)
    forge_rounds(atoi(words[3]));
  else
    fail_each_call();
  return 0;
}
