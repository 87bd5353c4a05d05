/* new_heap.h - heaps of a config, and what tests ask them */
#ifndef TESTS_ALLOCATORS_NEW_HEAP_H
#define TESTS_ALLOCATORS_NEW_HEAP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "heap_model.h"

enum { LARGEST = (int)HW_HEAP_LARGEST_CLASS_BYTES, MIB = 1 << 20 };

static inline struct hw_heap *new_heap(void)
{
  struct hw_heap *heap = hw_heap_create(NULL, NULL);
  assert_non_null(heap);
  return heap;
}

#define COUNT(array) (sizeof(array) / sizeof *(array))

static inline struct hw_heap *heap_with(const struct hw_heap_config *config)
{
  struct hw_heap_error error = {0};
  struct hw_heap *heap = hw_heap_create(config, &error);
  if (!heap)
    fail_msg("%s[%zu] %s", error.field, error.index, error.rule);
  return heap;
}

static inline struct hw_heap_stats stats_of(struct hw_heap *heap)
{
  struct hw_heap_stats stats;
  hw_heap_get_stats(heap, &stats);
  return stats;
}

/* Of the class of blocks of so many bytes; all 0 if it was not used. */
static inline struct hw_heap_class_stats row_of(struct hw_heap *heap, size_t bytes)
{
  struct hw_heap_class_stats rows[HW_HEAP_MOST_CLASSES + 1];
  size_t count = hw_heap_get_class_stats(heap, rows, HW_HEAP_MOST_CLASSES + 1);
  for (size_t i = 0; i < count; i++)
    if (rows[i].block_bytes == bytes)
      return rows[i];
  return (struct hw_heap_class_stats){0};
}

static inline size_t used_bytes(struct hw_heap *heap)
{
  return stats_of(heap).used_bytes;
}

static inline bool count_visit(void *context, void *block, size_t bytes)
{
  (void)block;
  *(size_t *)context += bytes;
  return true;
}

static inline size_t visited_bytes(struct hw_heap *heap)
{
  size_t bytes = 0;
  hw_heap_walk(heap, count_visit, &bytes);
  return bytes;
}

static inline void expect_right(struct hw_heap *heap)
{
  void *where;
  assert_int_equal(hw_heap_check(heap, &where), HW_HEAP_OK);
  assert_null(where);
}

#endif
