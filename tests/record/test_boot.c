/* test_boot.c - blocks that are allocated before libc is ready
 *
 * A fault here breaks programs before main: blocks overlap, a free takes a heap block for one of ours, or an extension
 * loses a region while threads race for it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>

#include "record/runtime/boot.h"

enum { SMALL = 100, SMALL_COUNT = 1000, THREADS = 4, PER_THREAD = 3000 };

static uint8_t *begin; /* of the buffer: the first block is after its header */

static bool is_all(const uint8_t *block, size_t size, uint8_t value)
{
  for (size_t i = 0; i < size; i++)
    if (block[i] != value)
      return false;
  return true;
}

static void test_blocks_are_apart_zeroed_and_known(void **state)
{
  (void)state;
  static uint8_t *blocks[SMALL_COUNT]; /* more than the buffer holds: the last ones are in a mapped region */
  uint64_t before = hwi_boot_block_count();
  for (size_t i = 0; i < SMALL_COUNT; i++) {
    blocks[i] = hwi_boot_alloc(SMALL, 1);
    assert_non_null(blocks[i]);
    assert_int_equal((uintptr_t)blocks[i] % HWI_BOOT_ALIGN, 0);
    assert_true(is_all(blocks[i], SMALL, 0));
    assert_true(hwi_boot_owns(blocks[i]));
    memset(blocks[i], (int)(i % 251), SMALL);
  }
  begin = blocks[0] - HWI_BOOT_ALIGN;
  assert_true((uintptr_t)blocks[SMALL_COUNT - 1] - (uintptr_t)begin >= HWI_BOOT_BUFFER_BYTES);
  assert_int_equal(hwi_boot_block_count() - before, SMALL_COUNT);
  for (size_t i = 0; i < SMALL_COUNT; i++) {
    assert_int_equal(hwi_boot_size(blocks[i]), SMALL);
    assert_true(is_all(blocks[i], SMALL, (uint8_t)(i % 251)));
  }
}

static void test_alignments_and_odd_sizes(void **state)
{
  (void)state;
  for (size_t align = 1; align <= 1 << 16; align *= 2)
    for (size_t size = 0; size < 70; size += 23) {
      uint8_t *block = hwi_boot_alloc(size, align);
      assert_non_null(block);
      assert_int_equal((uintptr_t)block % align, 0);
      assert_int_equal(hwi_boot_size(block), size);
      assert_true(hwi_boot_owns(block));
    }
}

static void test_large_blocks_get_regions_of_their_own(void **state)
{
  (void)state;
  size_t size = 5 << 20;
  uint8_t *first = hwi_boot_alloc(size, 16), *second = hwi_boot_alloc(size, 4096);
  assert_non_null(first);
  assert_non_null(second);
  memset(first, 1, size);
  memset(second, 2, size);
  assert_true(is_all(first, size, 1));
  assert_true(hwi_boot_owns(first) && hwi_boot_owns(second));
}

static void test_impossible_sizes(void **state)
{
  (void)state;
  assert_null(hwi_boot_alloc(SIZE_MAX, 16));
  assert_null(hwi_boot_alloc(SIZE_MAX - 64, 16));
  assert_null(hwi_boot_alloc(PTRDIFF_MAX, 16));
}

static void test_other_blocks_are_not_ours(void **state)
{
  (void)state;
  int on_stack = 0;
  void *heap = calloc(1, 10);
  assert_false(hwi_boot_owns(heap));
  assert_false(hwi_boot_owns(&on_stack));
  assert_false(hwi_boot_owns(NULL));
  const volatile uintptr_t outside[] = {(uintptr_t)begin - 1, UINTPTR_MAX};
  assert_false(hwi_boot_owns((void *)outside[0]));
  assert_false(hwi_boot_owns((void *)outside[1]));
  free(heap);
}

static void *take_many(void *number)
{
  uint8_t **blocks = calloc(PER_THREAD, sizeof *blocks);
  for (size_t i = 0; i < PER_THREAD; i++) {
    blocks[i] = hwi_boot_alloc(1 + i % 900, 16);
    memset(blocks[i], (int)(uintptr_t)number, 1 + i % 900);
  }
  return blocks;
}

static void test_threads_never_share_a_block(void **state)
{
  (void)state;
  pthread_t threads[THREADS];
  for (uintptr_t i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, take_many, (void *)(i + 1)), 0);
  uint8_t **blocks[THREADS];
  for (size_t i = 0; i < THREADS; i++)
    pthread_join(threads[i], (void **)&blocks[i]);
  for (size_t i = 0; i < THREADS; i++) {
    for (size_t j = 0; j < PER_THREAD; j++) {
      assert_true(is_all(blocks[i][j], 1 + j % 900, (uint8_t)(i + 1)));
      assert_true(hwi_boot_owns(blocks[i][j]));
    }
    free(blocks[i]);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_blocks_are_apart_zeroed_and_known),
      cmocka_unit_test(test_alignments_and_odd_sizes),
      cmocka_unit_test(test_large_blocks_get_regions_of_their_own),
      cmocka_unit_test(test_impossible_sizes),
      cmocka_unit_test(test_other_blocks_are_not_ours),
      cmocka_unit_test(test_threads_never_share_a_block),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
