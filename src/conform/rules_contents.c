/* rules_contents.c - contents of blocks: not shared, kept as long as the block lives, zero where requested */
#define _GNU_SOURCE
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "conform/conform.h"

struct block {
  unsigned char *start;
  size_t bytes;
  uint32_t seed;
};

static void check_block(const struct block *block)
{
  size_t wrong = hwi_pattern_check(block->start, block->bytes, block->seed);
  EXPECT(wrong == block->bytes, "byte %zu of a live block of %zu bytes was overwritten", wrong, block->bytes);
}

static void make_block(struct block *block, size_t bytes, uint32_t seed)
{
  *block = (struct block){seen(malloc(bytes)), bytes, seed};
  EXPECT(block->start, "no memory for %zu bytes", bytes);
  hwi_pattern_fill(block->start, bytes, seed);
}

static void drop_block(struct block *block)
{
  check_block(block);
  free(block->start);
  block->start = NULL;
}

void hwi_rule_usable_size(void)
{
  enum { COUNT = 400 };
  static struct block blocks[COUNT];
  uint32_t state = 5;
  for (int round = 0; round < 10; round++) {
    for (uint32_t i = 0; i < COUNT; i++) {
      size_t asked = hwi_random_size(&state, 300000);
      blocks[i].start = seen(i % 3 ? malloc(asked) : aligned_alloc(64, asked));
      EXPECT(blocks[i].start, "no memory for %zu bytes", asked);
      blocks[i].bytes = malloc_usable_size(blocks[i].start);
      blocks[i].seed = i;
      EXPECT(blocks[i].bytes >= asked, "malloc_usable_size of a block of %zu bytes is %zu", asked, blocks[i].bytes);
      hwi_pattern_fill(blocks[i].start, blocks[i].bytes, i);
    }
    for (int i = 0; i < COUNT; i++)
      drop_block(&blocks[i]);
  }
}

static void dirty(size_t bytes)
{
  enum { COUNT = 32 };
  void *used[COUNT];
  for (int i = 0; i < COUNT; i++) {
    used[i] = seen(malloc(bytes));
    EXPECT(used[i], "no memory for %zu bytes", bytes);
    memset(used[i], 0xdd, bytes);
  }
  for (int i = 0; i < COUNT; i++)
    free(used[i]);
}

void hwi_rule_calloc_zeroed(void)
{
  enum { COUNT = 32 };
  static const size_t sizes[] = {1, 8, 24, 100, 500, 1024, 4000, 4096, 10000, 40000, 200000, 1000000};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    unsigned char *zeroed[COUNT];
    dirty(sizes[i]);
    for (int k = 0; k < COUNT; k++) {
      zeroed[k] = seen(k % 2 ? calloc(1, sizes[i]) : calloc(sizes[i], 1));
      EXPECT(zeroed[k], "no memory for %zu bytes", sizes[i]);
      size_t wrong = hwi_zero_check(zeroed[k], sizes[i]);
      EXPECT(wrong == sizes[i], "byte %zu of calloc'ed %zu is not zero", wrong, sizes[i]);
      memset(zeroed[k], 0xee, sizes[i]);
    }
    for (int k = 0; k < COUNT; k++)
      free(zeroed[k]);
  }
}

/* --- realloc --- */

static void reallocate(struct block *block, size_t bytes, uint32_t seed)
{
  size_t old_bytes = block->bytes, common = bytes < old_bytes ? bytes : old_bytes;
  unsigned char *moved = seen(realloc(block->start, bytes));
  EXPECT(moved, "realloc from %zu to %zu bytes gave NULL", old_bytes, bytes);
  size_t wrong = hwi_pattern_check(moved, common, block->seed);
  EXPECT(wrong == common, "realloc from %zu to %zu bytes lost byte %zu", old_bytes, bytes, wrong);
  hwi_pattern_fill(moved, bytes, seed);
  *block = (struct block){moved, bytes, seed};
}

enum { LARGE = 4 << 20 };

void hwi_rule_realloc_grow(void)
{
  for (size_t step = 1; step < 2000; step = step * 3 + 2) {
    struct block block, neighbour;
    make_block(&block, 1, 1);
    make_block(&neighbour, 100, 2);
    for (size_t bytes = 2; bytes < LARGE; bytes += bytes / 3 + step)
      reallocate(&block, bytes, (uint32_t)bytes);
    drop_block(&neighbour);
    drop_block(&block);
  }
}

void hwi_rule_realloc_shrink(void)
{
  for (size_t bytes = LARGE; bytes > 16; bytes /= 3) {
    struct block block;
    make_block(&block, bytes, 1);
    for (size_t less = bytes - 1; less > 0; less -= less / 3 + 1)
      reallocate(&block, less, (uint32_t)less);
    drop_block(&block);
  }
}

void hwi_rule_realloc_random(void)
{
  enum { COUNT = 1000, STEPS = 30000 };
  static struct block blocks[COUNT];
  uint32_t state = 11;
  for (uint32_t i = 0; i < COUNT; i++)
    make_block(&blocks[i], hwi_random_size(&state, 100000), i);
  for (uint32_t i = 0; i < STEPS; i++)
    reallocate(&blocks[hwi_random(&state) % COUNT], hwi_random_size(&state, 100000), i);
  for (int i = 0; i < COUNT; i++)
    drop_block(&blocks[i]);
}

void hwi_rule_realloc_failure(void)
{
  volatile size_t huge = PTRDIFF_MAX;
  static const size_t sizes[] = {1, 100, 5000, 500000};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    struct block block;
    make_block(&block, sizes[i], 9);
    EXPECT(!seen(realloc(block.start, huge)), "realloc to 2^63 - 1 bytes gave a block");
    EXPECT(!seen(realloc(block.start, huge * 2)), "realloc to 2^64 - 2 bytes gave a block");
    check_block(&block);
    reallocate(&block, sizes[i] * 2, 10);
    drop_block(&block);
  }
}

/* --- many blocks --- */

void hwi_rule_overlap(void)
{
  enum { COUNT = 3000, STEPS = 100000 };
  static struct block blocks[COUNT];
  uint32_t state = 3;
  for (uint32_t i = 0; i < STEPS; i++) {
    struct block *block = &blocks[hwi_random(&state) % COUNT];
    if (block->start)
      drop_block(block);
    else
      make_block(block, hwi_random_size(&state, 50000), i);
  }
  for (int i = 0; i < COUNT; i++)
    if (blocks[i].start)
      drop_block(&blocks[i]);
}

void hwi_rule_every_size(void)
{
  enum { SMALL = 5000, SHIFT_MIN = 12, SHIFT_MAX = 20, AROUND = 33 };
  static struct block blocks[SMALL + 1];
  for (uint32_t bytes = 1; bytes <= SMALL; bytes++)
    make_block(&blocks[bytes], bytes, bytes);
  for (int bytes = 1; bytes <= SMALL; bytes++)
    drop_block(&blocks[bytes]);
  for (int shift = SHIFT_MIN; shift <= SHIFT_MAX; shift++)
    for (int around = -AROUND; around <= AROUND; around += 11) {
      struct block first, second;
      size_t bytes = ((size_t)1 << shift) + (size_t)around;
      make_block(&first, bytes, 1);
      make_block(&second, bytes, 2);
      drop_block(&first);
      drop_block(&second);
    }
}

void hwi_rule_million_blocks(void)
{
  enum { COUNT = 1000000 };
  void **first = NULL;
  hwi_conform_now("with many live blocks");
  for (size_t i = 0; i < COUNT; i++) {
    void **block = seen(malloc(16 + i % 32));
    EXPECT(block, "no memory when %zu blocks of up to 47 bytes were live", i);
    block[0] = first;
    block[1] = (void *)((uintptr_t)block ^ i);
    first = block;
  }
  for (size_t i = COUNT; i-- > 0;) {
    void **next = first[0];
    EXPECT(first[1] == (void *)((uintptr_t)first ^ i), "block %zu was overwritten", i);
    free(first);
    first = next;
  }
}

void hwi_rule_reuse(void)
{
  enum { ROUNDS = 20, COUNT = 500, MOST = 100 << 20 };
  static struct block blocks[COUNT];
  uint32_t state = 21;
  size_t before = hwi_resident_bytes();
  for (uint32_t round = 0; round < ROUNDS; round++) {
    for (uint32_t i = 0; i < COUNT; i++)
      make_block(&blocks[i], hwi_random_size(&state, 500000), i);
    for (int i = 0; i < COUNT; i++)
      drop_block(&blocks[i]);
  }
  size_t more = hwi_resident_bytes() - before;
  EXPECT(more < MOST, "%zu MB stay resident of blocks that were freed, 9 MB at a time", more / 1000000);
}
