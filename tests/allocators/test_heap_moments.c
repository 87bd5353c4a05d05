/* test_heap_moments.c - a general heap at moments at which one thread changes a page and another one looks at it
 *
 * Breaks if the figures, the walk or the check follow what is not there yet, or count what is not true at any time. The moments are
 * made by hand: between the two changes are a few instructions.
 */
#include "new_heap.h"

#include "allocators/heap/layout.h"

enum { BYTES = 64 };

/* A page that was used before has the figures of that time. */
static void a_page_that_is_just_taken(void **state)
{
  (void)state;
  enum { SPAN_BYTES = 200 << 10 };
  struct hw_heap *heap = new_heap();
  struct hwi_page *pages[] = {hwi_page_of(hw_heap_alloc(heap, BYTES)), hwi_page_of(hw_heap_alloc(heap, SPAN_BYTES))};
  for (size_t i = 0; i < COUNT(pages); i++) {
    size_t used = used_bytes(heap), visited = visited_bytes(heap), bytes = i ? pages[i]->block_bytes : BYTES;
    uint8_t kind = pages[i]->kind;
    pages[i]->kind = HWI_PAGE_NONE;
    assert_int_equal(visited_bytes(heap), visited - bytes);
    assert_in_range(used_bytes(heap), 0, used - (i ? bytes : 0));
    assert_int_equal(hw_heap_check(heap, NULL), HW_HEAP_OK);
    pages[i]->kind = kind;
  }
  expect_right(heap);
  hw_heap_destroy(heap);
}

/* The system's memory is all zero, and a page that was used before may have any counts. */
static void a_page_without_an_owner_yet(void **state)
{
  (void)state;
  struct hw_heap *heap = new_heap();
  struct hwi_page *page = hwi_page_of(hw_heap_alloc(heap, BYTES));
  struct hwi_owner *owner = page->owner;
  page->owner = NULL;
  assert_in_range(used_bytes(heap), 0, HWI_SLICE_BYTES);
  assert_in_range(visited_bytes(heap), 0, HWI_SLICE_BYTES);
  assert_int_equal(hw_heap_check(heap, NULL), HW_HEAP_OK);
  page->owner = owner;
  expect_right(heap);
  assert_int_equal(used_bytes(heap), BYTES);
  hw_heap_destroy(heap);
}

/* Its list becomes that of its owner before its count is none, and ceases to be when the count is one again. */
static void a_page_whose_count_is_none_or_one(void **state)
{
  (void)state;
  struct hw_heap *heap = new_heap();
  struct hwi_page *page = hwi_page_of(hw_heap_alloc(heap, BYTES));
  const uint32_t counts[] = {0, 1, page->carved_count - 1, page->carved_count, HWI_MOST_FREES_UNTIL_ASK};
  assert_true(hwi_page_has_list_of_owner(page));
  for (size_t i = 0; i < COUNT(counts); i++) {
    page->count = counts[i];
    assert_int_equal(used_bytes(heap), BYTES);
    expect_right(heap);
  }
  struct hwi_free_block **list = page->owner->lists[page->class_index];
  page->owner->lists[page->class_index] =
      &page->owner->own_lists[page->class_index]; /* for the reader, of another moment */
  assert_in_range(used_bytes(heap), BYTES, HWI_SLICE_BYTES);
  page->owner->lists[page->class_index] = list;
  hw_heap_destroy(heap);
}

/* After many frees. The first page of its class stays, whatever its count. */
static void a_count_that_is_used_up(void **state)
{
  (void)state;
  struct hw_heap *heap = new_heap();
  void *block = hw_heap_alloc(heap, BYTES), *other = hw_heap_alloc(heap, BYTES);
  struct hwi_page *page = hwi_page_of(block);
  for (int i = 0; i < 3; i++) {
    page->count = 1;
    assert_int_equal(hw_heap_free(heap, block), HW_HEAP_OK);
    assert_int_equal(used_bytes(heap), BYTES);
    assert_ptr_equal(hw_heap_alloc(heap, BYTES), block);
  }
  assert_int_equal(hw_heap_free(heap, other), HW_HEAP_OK);
  hw_heap_collect(heap);
  assert_int_equal(page->count, 1);
  expect_right(heap);
  assert_int_equal(hw_heap_free(heap, block), HW_HEAP_OK);
  hw_heap_collect(heap);
  assert_int_equal(used_bytes(heap), 0);
  hw_heap_destroy(heap);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_page_that_is_just_taken),
      cmocka_unit_test(a_page_without_an_owner_yet),
      cmocka_unit_test(a_page_whose_count_is_none_or_one),
      cmocka_unit_test(a_count_that_is_used_up),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
