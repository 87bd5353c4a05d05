/* small_heap.h - what is expected of the small heaps of other allocators that tests make */
#ifndef TESTS_MEMORY_SMALL_HEAP_H
#define TESTS_MEMORY_SMALL_HEAP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "../trace/failing_malloc.h"
#include "memory/heaps/heap.h"

static void assert_sum(const struct hwi_core_heap *heap, enum hwi_core_block_state state, uint64_t blocks,
                       uint64_t bytes)
{
  const struct hwi_core_heap_sum sum = hwi_core_heap_sum(heap, state);
  assert_int_equal(sum.blocks, blocks);
  assert_int_equal(sum.bytes, bytes);
}

/* Whichever call of malloc fails, of more than `least`: the heap is sound, or there is an error, and nothing is leaked. */
static void expect_errors_without_memory(const struct hwi_memory *memory,
                                         void (*assert_sound)(const struct hwi_core_heap *heap), uint64_t least)
{
  enum { CALLS_MOST = 100 };
  bool has_failed = true;
  uint64_t calls = 0;
  for (; has_failed && calls < CALLS_MOST; calls++) {
    struct hwi_core_heap heap;
    struct hwi_error error = {0};
    failing_malloc_arm(calls, UINT64_MAX);
    const int status = hwi_core_heap_find(&heap, memory, &error);
    if (status == 0)
      assert_sound(&heap);
    hwi_core_heap_release(&heap);
    has_failed = failing_malloc_disarm();
    assert_int_equal(failing_malloc_leaks(), 0);
    assert_true(status == 0 || (status == HW_ERR_MEMORY && has_failed && error.text[0]));
  }
  assert_true(calls > least && calls < CALLS_MOST);
}

#endif
