/* test_owners.c - the owners of blocks are read from images of all word sizes and byte orders */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "memory/heaps/heap.h"

enum { BASE = 0x20000000, IMAGE_BYTES = 4096, CHUNKS_AT = 512, TABLE_AT = 1024, BLOCK_AT = 2048, KEY = 0x1234567 };

/* An image that is written in the order of the machine it is of. */
struct image {
  struct hwi_memory memory;
  unsigned char bytes[IMAGE_BYTES];
};

static void put(struct image *image, size_t at, uint64_t number, unsigned bytes)
{
  for (unsigned i = 0; i < bytes; i++)
    image->bytes[at + i] = (unsigned char)(number >> 8 * (image->memory.swaps_bytes ? bytes - 1 - i : i));
}

static void put_root(struct image *image, uint32_t red_zone_bytes)
{
  memcpy(image->bytes, "heapwrig-owners\n", 16);
  put(image, 16, 0x01020304, 4);
  put(image, 20, 1, 2);
  put(image, 22, image->memory.word_bytes, 1);
  put(image, 24, BASE, 8);
  put(image, 32, KEY, 8);
  put(image, 40, BASE + CHUNKS_AT, 8);
  put(image, 48, 31, 4);
  put(image, 52, 1, 4);
  put(image, 72, red_zone_bytes, 4);
  put(image, 76, 16, 4);
  put(image, 80, 8, 4);
  put(image, CHUNKS_AT, BASE + TABLE_AT, image->memory.word_bytes);
}

/* Adds a stack at the unit; returns the unit behind it. */
static uint32_t put_stack(struct image *image, uint32_t unit, uint32_t count)
{
  const size_t at = TABLE_AT + 8 * unit;
  put(image, at + 8, count, 4);
  for (uint32_t i = 0; i < count; i++)
    put(image, at + 16 + i * image->memory.word_bytes, 0x1000 * count + i, image->memory.word_bytes);
  return unit + (16 + count * image->memory.word_bytes + 7) / 8;
}

static uint32_t check_of(uint64_t address, uint32_t stack, uint64_t meta)
{
  const uint64_t mixed = KEY ^ address ^ (uint64_t)stack << 32 ^ (meta << 24 | meta >> 40);
  return (uint32_t)((mixed * UINT64_C(0x9e3779b97f4a7c15)) >> 32);
}

static void put_block(struct image *image, size_t at, uint32_t stack, uint64_t bytes, bool is_freed)
{
  const uint64_t meta = bytes | UINT64_C(0x48) << 56;
  const uint32_t check = check_of(BASE + at, stack, meta);
  put(image, at - 16, is_freed ? ~check : check, 4);
  put(image, at - 12, stack, 4);
  put(image, at - 8, meta, 8);
}

static struct image *image_of(unsigned word_bytes, bool swaps_bytes, uint32_t red_zone_bytes)
{
  struct image *image = calloc(1, sizeof *image);
  assert_non_null(image);
  image->memory.word_bytes = word_bytes;
  image->memory.swaps_bytes = swaps_bytes;
  assert_true(hwi_memory_add_region(
      &image->memory,
      &(struct hwi_region){
          .begin = BASE, .end = BASE + IMAGE_BYTES, .bytes = image->bytes, .known = IMAGE_BYTES, .is_writable = true}));
  hwi_memory_finish(&image->memory);
  put_root(image, red_zone_bytes);
  return image;
}

static void release(struct image *image)
{
  hwi_memory_close(&image->memory);
  free(image);
}

static void check_heap(const struct hwi_core_heap *heap)
{
  assert_string_equal(heap->allocator, "annotated");
  assert_int_equal(heap->block_count, 3);
  assert_int_equal(heap->stack_count, 2);
  assert_int_equal(heap->blocks[0].address, BASE + BLOCK_AT);
  assert_int_equal(hwi_core_block_bytes(&heap->blocks[0]), 100);
  assert_int_equal(heap->owners[0].stack, 2);
  assert_int_equal(heap->stacks[1].count, 3);
  assert_int_equal(heap->frames[heap->stacks[1].first + 2], 0x3002);
  assert_int_equal(heap->owners[1].stack, 1);
  assert_int_equal(heap->frames[heap->stacks[0].first], 0x1000);
  assert_int_equal(hwi_core_block_state(&heap->blocks[1]), HWI_CORE_BLOCK_LIVE);
  assert_int_equal(hwi_core_block_state(&heap->blocks[2]), HWI_CORE_BLOCK_CACHED);
  assert_int_equal(heap->owners[2].stack, 0);
}

static void test_all_machines(void **state)
{
  (void)state;
  for (int i = 0; i < 4; i++) {
    struct image *image = image_of(i & 1 ? 8 : 4, i & 2, 0);
    struct hwi_core_heap heap;
    const uint32_t second = put_stack(image, 1, 1);
    put_stack(image, second, 3);
    put_block(image, BLOCK_AT, second, 100, false);
    put_block(image, BLOCK_AT + 128, 1, 0, false);
    put_block(image, BLOCK_AT + 160, 999, 50, true);               /* no such stack */
    memcpy(image->bytes + 3000, image->bytes + BLOCK_AT - 16, 16); /* a copy is no block */
    assert_int_equal(hwi_core_heap_find(&heap, &image->memory, NULL), 0);
    check_heap(&heap);
    hwi_core_heap_release(&heap);
    release(image);
  }
}

static void test_red_zone(void **state)
{
  (void)state;
  struct image *image = image_of(4, false, 8);
  struct hwi_core_heap heap;
  put_block(image, BLOCK_AT, 0, 10, false);
  memset(image->bytes + BLOCK_AT + 10, 0xfb, 8);
  put_block(image, BLOCK_AT + 64, 0, 10, false);
  memset(image->bytes + BLOCK_AT + 74, 0xfb, 7);
  assert_int_equal(hwi_core_heap_find(&heap, &image->memory, NULL), 0);
  assert_int_equal(heap.block_count, 2);
  assert_int_equal(heap.damage_count, 1);
  assert_int_equal(heap.damages[0].address, BASE + BLOCK_AT + 64 + 17);
  hwi_core_heap_release(&heap);
  release(image);
}

/* Without the root, blocks are found by their inline stacks. */
static void test_lost_root(void **state)
{
  (void)state;
  for (int i = 0; i < 4; i++) {
    struct image *image = image_of(i & 1 ? 8 : 4, i & 2, 0);
    const unsigned word = image->memory.word_bytes;
    struct hwi_core_heap heap;
    memset(image->bytes, 0, 512);
    assert_int_not_equal(hwi_core_heap_find(&heap, &image->memory, NULL), 0);
    const uint64_t words[] = {0x50616548, 100, 7, 1, 0x1111, 0x2222, 0, 0, 0x466f7250};
    for (size_t w = 0; w < sizeof words / sizeof *words; w++)
      put(image, BLOCK_AT - 16 - sizeof words / sizeof *words * word + w * word, words[w], word);
    put_block(image, BLOCK_AT, 5, 100, false);
    put(image, 3000, 0x50616548, word); /* without an end */
    assert_int_equal(hwi_core_heap_find(&heap, &image->memory, NULL), 0);
    assert_int_equal(heap.block_count, 1);
    assert_int_equal(heap.blocks[0].address, BASE + BLOCK_AT);
    assert_int_equal(hwi_core_block_bytes(&heap.blocks[0]), 100);
    assert_int_equal(heap.stacks[heap.owners[0].stack - 1].count, 2);
    assert_int_equal(heap.frames[1], 0x2222);
    hwi_core_heap_release(&heap);
    release(image);
  }
}

/* Whatever is in the memory, nothing outside of it is read. */
static void test_forged(void **state)
{
  (void)state;
  srand(1);
  for (int round = 0; round < 3000; round++) {
    struct image *image = image_of(round & 1 ? 8 : 4, round & 2, round % 3 ? 0 : 8);
    struct hwi_core_heap heap;
    put_block(image, BLOCK_AT, put_stack(image, 1, 2), 1000, false);
    put_block(image, IMAGE_BYTES, 1, UINT64_C(1) << 47, false);
    for (int i = 0; i < 1 + round % 8; i++)
      image->bytes[28 + rand() % (round % 2 ? 64 : 2000)] = (unsigned char)rand();
    if (hwi_core_heap_find(&heap, &image->memory, NULL) == 0)
      hwi_core_heap_release(&heap);
    release(image);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_machines), cmocka_unit_test(test_red_zone),
                                     cmocka_unit_test(test_lost_root), cmocka_unit_test(test_forged)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
