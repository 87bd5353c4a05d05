/* test_heap.c - a general heap used by one thread: its blocks are whole and exclusive
 *
 * Breaks if blocks overlap or lose their contents, or if the records are wrong after any step.
 */
#include "new_heap.h"

#include <stdlib.h>

static size_t mapped_bytes(struct hw_heap *heap)
{
  const struct hw_heap_stats stats = stats_of(heap);
  assert_true(stats.peak_mapped_bytes >= stats.mapped_bytes);
  return stats.mapped_bytes;
}

static void each_request_gets_the_smallest_class_that_is_large_enough(void **state)
{
  (void)state;
  static const size_t classes[] = {16, 48, 1008, 4096, 20000, LARGEST};
  enum { COUNT = sizeof classes / sizeof *classes };
  const struct hw_heap_config config = {.class_bytes = classes, .class_count = COUNT};
  struct hw_heap *heap = hw_heap_create(&config, NULL);
  assert_non_null(heap);
  size_t class_index = 0;
  for (size_t bytes = 0; bytes <= LARGEST; bytes++) {
    class_index += bytes > classes[class_index];
    void *block = hw_heap_alloc(heap, bytes);
    assert_int_equal(hw_heap_usable_bytes(heap, block), classes[class_index]);
    assert_int_equal(hw_heap_free(heap, block), HW_HEAP_OK);
  }
  assert_int_equal(used_bytes(heap), 0);
  expect_right(heap);
  hw_heap_destroy(heap);
}

static void alignments(void **state)
{
  (void)state;
  struct hw_heap *heap = new_heap();
  for (size_t align = 1; align <= (size_t)64 * MIB; align *= 2)
    for (size_t bytes = 0; bytes < 3 * (size_t)MIB; bytes = bytes * 3 + 1) {
      char *block = hw_heap_alloc_aligned(heap, align, bytes);
      assert_non_null(block);
      assert_int_equal((uintptr_t)block % align, 0);
      assert_true(hw_heap_usable_bytes(heap, block) >= bytes);
      if (bytes)
        block[0] = block[bytes - 1] = 1;
      assert_int_equal(hw_heap_free(heap, block), HW_HEAP_OK);
    }
  assert_null(hw_heap_alloc_aligned(heap, 0, 1));
  assert_null(hw_heap_alloc_aligned(heap, 48, 1));
  expect_right(heap);
  hw_heap_destroy(heap);
}

/* --- blocks --- */

static bool count_block(void *context, void *block, size_t bytes)
{
  const struct model *model = ((void **)context)[0];
  size_t *count = ((void **)context)[1];
  for (size_t i = 0; i < model->count; i++)
    *count += model->blocks[i].at == block && model->blocks[i].bytes <= bytes;
  return true;
}

static void random_steps_keep_everything(void **state)
{
  (void)state;
  enum { STEPS = 60000, CHECK_STEPS = 5000 };
  static struct model model;
  for (unsigned most_bits = 6; most_bits <= 24; most_bits += 6) {
    model = (struct model){.heap = new_heap(), .seed = 88172645463325252u + most_bits};
    for (int i = 1; i <= STEPS / (most_bits > 20 ? 20 : 1); i++) {
      assert_true(model_step(&model, most_bits));
      if (i % CHECK_STEPS)
        continue;
      size_t count = 0;
      expect_right(model.heap);
      hw_heap_walk(model.heap, count_block, (void *[]){&model, &count});
      assert_int_equal(count, model.count);
    }
    assert_true(model_free_all(&model));
    assert_int_equal(used_bytes(model.heap), 0);
    hw_heap_collect(model.heap);
    expect_right(model.heap);
    hw_heap_destroy(model.heap);
  }
}

static bool end_at_third(void *context, void *block, size_t bytes)
{
  (void)block, (void)bytes;
  return ++*(int *)context < 3;
}

static void a_walk_ends_when_the_visitor_wants(void **state)
{
  (void)state;
  struct hw_heap *heap = new_heap();
  int count = 0;
  for (int i = 0; i < 10; i++)
    hw_heap_alloc(heap, (size_t)1 << 2 * i);
  hw_heap_walk(heap, end_at_third, &count);
  assert_int_equal(count, 3);
  hw_heap_destroy(heap);
}

/* --- sizes --- */

static void a_good_size_is_that_of_the_block(void **state)
{
  (void)state;
  static const size_t classes[] = {16, 48, 1008, 4096, 20000, LARGEST};
  const struct hw_heap_config config = {.class_bytes = classes, .class_count = COUNT(classes)};
  const struct hw_heap_config huge = {.pages = HW_HEAP_PAGES_TRANSPARENT};
  struct hw_heap *heaps[] = {new_heap(), heap_with(&config), heap_with(&huge)};
  for (size_t i = 0; i < COUNT(heaps); i++) {
    for (size_t bytes = 0; bytes < 8 * MIB; bytes += bytes / 9 + 1) {
      void *block = hw_heap_alloc(heaps[i], bytes);
      assert_int_equal(hw_heap_usable_bytes(heaps[i], block), hw_heap_good_bytes(heaps[i], bytes));
      assert_int_equal(hw_heap_free(heaps[i], block), HW_HEAP_OK);
      hw_heap_collect(heaps[i]); /* a kept block above 2 MiB may be longer than is needed */
    }
    assert_int_equal(hw_heap_good_bytes(heaps[i], SIZE_MAX), SIZE_MAX);
    hw_heap_destroy(heaps[i]);
  }
}

/* Returns what the block has then. It keeps its place and its contents. */
static size_t bytes_after(struct hw_heap *heap, unsigned char *block, size_t bytes, bool is_possible)
{
  size_t old_bytes = hw_heap_usable_bytes(heap, block);
  memset(block, 7, old_bytes);
  assert_int_equal(hw_heap_resize_in_place(heap, block, bytes), is_possible);
  size_t new_bytes = hw_heap_usable_bytes(heap, block);
  assert_int_equal(new_bytes >= bytes, is_possible);
  for (size_t i = 0; i < old_bytes && i < new_bytes; i += 1000)
    assert_int_equal(block[i], 7);
  memset(block, 7, new_bytes);
  expect_right(heap);
  return new_bytes;
}

static void blocks_are_resized_in_place(void **state)
{
  (void)state;
  struct hw_heap *heap = new_heap();
  unsigned char *small = hw_heap_alloc(heap, 100), *span = hw_heap_alloc(heap, 500000);
  assert_int_equal(bytes_after(heap, small, 112, true), 112);
  assert_int_equal(bytes_after(heap, small, 113, false), 112);
  assert_int_equal(bytes_after(heap, small, 1, true), 112);
  assert_int_equal(bytes_after(heap, span, 700000, true), 11 * 65536);
  assert_int_equal(bytes_after(heap, span, 3 * MIB, false), 11 * 65536);
  assert_int_equal(bytes_after(heap, span, 100000, true), 2 * 65536);
  assert_int_equal(bytes_after(heap, span, 10, true), 65536);
  unsigned char *next = hw_heap_alloc(heap, 100000);
  assert_ptr_equal(next, span + 65536);
  assert_int_equal(bytes_after(heap, span, 65537, false), 65536);
  unsigned char *large = hw_heap_alloc(heap, 3 * MIB);
  assert_int_equal(bytes_after(heap, large, 3 * MIB + 4097, true), 3 * MIB + 8192);
  unsigned char *after = hw_heap_alloc(heap, 3 * MIB); /* in the next unit */
  assert_int_equal(bytes_after(heap, large, 9 * MIB, false), 3 * MIB + 8192);
  assert_int_equal(hw_heap_free(heap, after), HW_HEAP_OK);
  hw_heap_collect(heap);
  assert_int_equal(bytes_after(heap, large, 9 * MIB, true), 9 * MIB);
  assert_int_equal(bytes_after(heap, large, 3 * MIB, true), 3 * MIB);
  assert_false(hw_heap_resize_in_place(heap, NULL, 1));
  assert_false(hw_heap_resize_in_place(heap, small + 16, 1));
  assert_false(hw_heap_resize_in_place(heap, large, SIZE_MAX));
  unsigned char *all[] = {small, span, next, large};
  for (size_t i = 0; i < COUNT(all); i++)
    assert_int_equal(hw_heap_free(heap, all[i]), HW_HEAP_OK);
  assert_int_equal(used_bytes(heap), 0);
  hw_heap_destroy(heap);
}

/* Also not a block that only its alignment made a large one. */
static void a_block_that_becomes_shorter_is_not_longer(void **state)
{
  (void)state;
  enum { ALIGN = 128 * 1024, PAGE = 4096 };
  static const enum hw_heap_pages pages[] = {HW_HEAP_PAGES_SMALL, HW_HEAP_PAGES_TRANSPARENT};
  for (size_t i = 0; i < COUNT(pages); i++) {
    const struct hw_heap_config config = {.pages = pages[i]};
    struct hw_heap *heap = heap_with(&config);
    unsigned char *large = hw_heap_alloc(heap, 6 * MIB), *aligned = hw_heap_alloc_aligned(heap, ALIGN, 100);
    assert_int_equal(bytes_after(heap, large, 10, true), hw_heap_good_bytes(heap, 2 * MIB + 1));
    large = hw_heap_realloc(heap, large, MIB / 2);
    assert_int_equal(hw_heap_usable_bytes(heap, large), MIB / 2);
    assert_int_equal(hw_heap_usable_bytes(heap, aligned), PAGE);
    assert_int_equal(bytes_after(heap, aligned, 10, true), PAGE);
    assert_int_equal(hw_heap_free(heap, hw_heap_alloc_aligned(heap, ALIGN, MIB)), HW_HEAP_OK);
    unsigned char *next = hw_heap_alloc_aligned(heap, ALIGN, 100);
    assert_int_equal(hw_heap_usable_bytes(heap, next), PAGE);
    expect_right(heap);
    hw_heap_destroy(heap);
  }
}

/* The buffers are neighbours, so that none can grow where it is without room of its own. */
static void buffers_that_grow_in_turn_are_rarely_moved(void **state)
{
  (void)state;
  struct hw_heap *heap = new_heap();
  unsigned char *buffers[8] = {NULL};
  int moves = 0;
  for (size_t bytes = 300000; bytes <= 2 * MIB; bytes += bytes / 16)
    for (size_t i = 0; i < COUNT(buffers); i++) {
      unsigned char *old = buffers[i];
      buffers[i] = hw_heap_realloc(heap, old, bytes);
      assert_non_null(buffers[i]);
      moves += old && buffers[i] != old;
      assert_true(!old || buffers[i][0] == i);
      memset(buffers[i], (int)i, bytes);
    }
  assert_true(moves <= 4 * (int)COUNT(buffers));
  for (size_t i = 0; i < COUNT(buffers); i++)
    assert_int_equal(hw_heap_free(heap, buffers[i]), HW_HEAP_OK);
  hw_heap_destroy(heap);
}

static void impossible_sizes(void **state)
{
  (void)state;
  struct hw_heap *heap = new_heap();
  static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 15, (size_t)PTRDIFF_MAX,
                                 (size_t)1 << (sizeof(size_t) == 8 ? 46 : 31)};
  void *block = hw_heap_alloc(heap, 100);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    assert_null(hw_heap_alloc(heap, sizes[i]));
    assert_null(hw_heap_alloc_zeroed(heap, sizes[i]));
    assert_null(hw_heap_alloc_aligned(heap, 4096, sizes[i]));
    assert_null(hw_heap_realloc(heap, block, sizes[i]));
  }
  assert_int_equal(hw_heap_free(heap, block), HW_HEAP_OK);
  expect_right(heap);
  hw_heap_destroy(heap);
}

static void a_large_block_grows_and_shrinks_without_a_copy(void **state)
{
  (void)state;
  struct hw_heap *heap = new_heap();
  size_t bytes = 4 * MIB;
  unsigned char *block = hw_heap_alloc(heap, bytes), *barrier = hw_heap_alloc(heap, 4 * MIB);
  memset(block, 7, bytes);
  for (int i = 0; i < 4; i++, bytes *= 2) {
    block = hw_heap_realloc(heap, block, 2 * bytes);
    assert_non_null(block);
    assert_int_equal(block[0], 7);
    assert_int_equal(block[bytes - 1], 7);
    assert_int_equal(block[bytes], 0);
    memset(block + bytes, 7, bytes);
  }
  size_t before = mapped_bytes(heap);
  block = hw_heap_realloc(heap, block, 4 * MIB);
  assert_int_equal(block[4 * MIB - 1], 7);
  assert_int_equal(mapped_bytes(heap), before - bytes + 4 * MIB);
  assert_int_equal(hw_heap_free(heap, block), HW_HEAP_OK);
  assert_int_equal(hw_heap_free(heap, barrier), HW_HEAP_OK);
  expect_right(heap);
  hw_heap_destroy(heap);
}

/* A span grows over free memory after it, and gives back its end. */
static void a_span_changes_its_size_in_place(void **state)
{
  (void)state;
  struct hw_heap *heap = new_heap();
  unsigned char *block = hw_heap_alloc(heap, 100000);
  memset(block, 5, 100000);
  assert_ptr_equal(hw_heap_realloc(heap, block, 1000000), block);
  memset(block + 100000, 5, 900000);
  unsigned char *after = hw_heap_alloc(heap, 100000);
  memset(after, 6, 100000);
  unsigned char *moved = hw_heap_realloc(heap, block, 1500000);
  assert_ptr_not_equal(moved, block);
  for (size_t i = 0; i < 1000000; i++)
    assert_int_equal(moved[i], 5);
  size_t before = used_bytes(heap);
  assert_ptr_equal(hw_heap_realloc(heap, moved, 200000), moved);
  assert_true(used_bytes(heap) <= before - 1200000);
  expect_right(heap);
  assert_int_equal(hw_heap_free(heap, moved), HW_HEAP_OK);
  assert_int_equal(hw_heap_free(heap, after), HW_HEAP_OK);
  assert_int_equal(used_bytes(heap), 0);
  expect_right(heap);
  hw_heap_destroy(heap);
}

/* A freed large block is given out again, and calloc clears it. */
static void large_blocks_are_kept_for_a_while(void **state)
{
  (void)state;
  const struct hw_heap_config config = {.returns = HW_HEAP_RETURNS_ON_COLLECT};
  struct hw_heap *heap = hw_heap_create(&config, NULL);
  unsigned char *block = hw_heap_alloc(heap, 3 * MIB);
  memset(block, 1, 3 * MIB);
  assert_int_equal(hw_heap_free(heap, block), HW_HEAP_OK);
  unsigned char *again = hw_heap_alloc_zeroed(heap, 3 * MIB - 5000);
  assert_ptr_equal(again, block);
  for (size_t i = 0; i < 3 * MIB - 5000; i++)
    assert_int_equal(again[i], 0);
  assert_int_equal(hw_heap_free(heap, again), HW_HEAP_OK);
  size_t before = mapped_bytes(heap);
  hw_heap_collect(heap);
  assert_true(mapped_bytes(heap) <= before - 3 * MIB);
  hw_heap_destroy(heap);
}

/* Except where a page ends. So blocks that live for a moment leave no holes between those that stay. */
static void what_was_freed_last_is_given_out_first(void **state)
{
  (void)state;
  enum { BYTES = 64, BLOCKS = 5000 };
  struct hw_heap *heap = new_heap();
  char *blocks[BLOCKS];
  int last_first = 0, adjoining = 0;
  for (int i = 0; i < BLOCKS; i++) {
    char *first = hw_heap_alloc(heap, BYTES), *second = hw_heap_alloc(heap, BYTES);
    hw_heap_free(heap, first);
    hw_heap_free(heap, second);
    blocks[i] = hw_heap_alloc(heap, BYTES);
    first = hw_heap_alloc(heap, BYTES);
    last_first += blocks[i] == second;
    hw_heap_free(heap, first);
    adjoining += i && labs(blocks[i] - blocks[i - 1]) <= 2 * BYTES;
  }
  assert_in_range(last_first, BLOCKS * 9 / 10, BLOCKS);
  assert_in_range(adjoining, BLOCKS * 9 / 10, BLOCKS);
  expect_right(heap);
  assert_int_equal(used_bytes(heap), (size_t)BLOCKS * BYTES);
  for (int i = 0; i < BLOCKS; i++)
    assert_int_equal(hw_heap_free(heap, blocks[i]), HW_HEAP_OK);
  expect_right(heap);
  assert_int_equal(used_bytes(heap), 0);
  hw_heap_destroy(heap);
}

/* Returns how many of twenty blocks are in the memory of longer ones that were freed, and as long as these. */
static int count_in_old_memory(enum hw_heap_returns returns)
{
  enum { BLOCKS = 20, OLD_BYTES = 3 * MIB, NEW_BYTES = 9 * MIB / 4 };
  const struct hw_heap_config config = {.returns = returns,
                                        .return_after_ms = returns == HW_HEAP_RETURNS_LATER ? 3600000 : 0};
  struct hw_heap *heap = heap_with(&config);
  unsigned char *blocks[BLOCKS];
  for (int i = 0; i < BLOCKS; i++) {
    blocks[i] = hw_heap_alloc(heap, OLD_BYTES);
    blocks[i][OLD_BYTES - 1] = 7;
  }
  for (int i = 0; i < BLOCKS; i++)
    hw_heap_free(heap, blocks[i]);
  int count = 0;
  for (int i = 0; i < BLOCKS; i++) {
    blocks[i] = hw_heap_alloc(heap, NEW_BYTES);
    count += hw_heap_usable_bytes(heap, blocks[i]) == OLD_BYTES && blocks[i][OLD_BYTES - 1] == 7;
  }
  for (int i = 0; i < BLOCKS; i++)
    hw_heap_free(heap, blocks[i]);
  hw_heap_collect(heap);
  assert_true(mapped_bytes(heap) < MIB);
  hw_heap_destroy(heap);
  return count;
}

static void large_blocks_stay_until_collect(void **state)
{
  (void)state;
  assert_int_equal(count_in_old_memory(HW_HEAP_RETURNS_ON_COLLECT), 20);
  assert_int_equal(count_in_old_memory(HW_HEAP_RETURNS_LATER), 16);
}

/* Its memory does not go back by realloc either, except whole units of 4 MiB. */
static void a_large_block_keeps_its_length_until_collect(void **state)
{
  (void)state;
  const struct hw_heap_config config = {.returns = HW_HEAP_RETURNS_ON_COLLECT};
  struct hw_heap *heap = heap_with(&config);
  void *block = hw_heap_alloc(heap, 4 * MIB);
  assert_int_equal(hw_heap_free(heap, block), HW_HEAP_OK);
  assert_ptr_equal(hw_heap_alloc(heap, 5 * MIB / 2), block);
  assert_ptr_equal(hw_heap_realloc(heap, block, 5 * MIB / 2 + 4096), block);
  assert_int_equal(hw_heap_usable_bytes(heap, block), 4 * MIB);
  assert_non_null(block = hw_heap_realloc(heap, block, 9 * MIB));
  assert_ptr_equal(hw_heap_realloc(heap, block, 3 * MIB), block);
  assert_int_equal(hw_heap_usable_bytes(heap, block), 3 * MIB);
  assert_non_null(block = hw_heap_realloc(heap, block, 100));
  assert_in_range(hw_heap_usable_bytes(heap, block), 100, 200);
  expect_right(heap);
  hw_heap_destroy(heap);
}

/* With `on-collect` up to 64. */
static void few_large_blocks_are_kept(void **state)
{
  (void)state;
  enum { BLOCKS = 70, MOST = 64, BYTES = 3 * MIB };
  const struct hw_heap_config config = {.returns = HW_HEAP_RETURNS_ON_COLLECT};
  struct hw_heap *heap = heap_with(&config);
  void *blocks[BLOCKS];
  for (int i = 0; i < BLOCKS; i++)
    assert_non_null(blocks[i] = hw_heap_alloc(heap, BYTES));
  for (int i = 0; i < BLOCKS; i++)
    hw_heap_free(heap, blocks[i]);
  assert_in_range(mapped_bytes(heap), (size_t)MOST * BYTES, (size_t)MOST * BYTES + MIB);
  hw_heap_destroy(heap);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_request_gets_the_smallest_class_that_is_large_enough),
      cmocka_unit_test(alignments),
      cmocka_unit_test(random_steps_keep_everything),
      cmocka_unit_test(a_walk_ends_when_the_visitor_wants),
      cmocka_unit_test(a_good_size_is_that_of_the_block),
      cmocka_unit_test(blocks_are_resized_in_place),
      cmocka_unit_test(a_block_that_becomes_shorter_is_not_longer),
      cmocka_unit_test(buffers_that_grow_in_turn_are_rarely_moved),
      cmocka_unit_test(impossible_sizes),
      cmocka_unit_test(a_large_block_grows_and_shrinks_without_a_copy),
      cmocka_unit_test(a_span_changes_its_size_in_place),
      cmocka_unit_test(large_blocks_are_kept_for_a_while),
      cmocka_unit_test(large_blocks_stay_until_collect),
      cmocka_unit_test(a_large_block_keeps_its_length_until_collect),
      cmocka_unit_test(few_large_blocks_are_kept),
      cmocka_unit_test(what_was_freed_last_is_given_out_first),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
