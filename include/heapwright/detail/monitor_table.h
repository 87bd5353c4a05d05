/* monitor_table.h - the functions of the recorder that heapwright/monitor.h calls: its symbol heapwright_monitor
 *
 * Private, but for struct hw_counts: programs use heapwright/monitor.h.
 */
#ifndef HEAPWRIGHT_DETAIL_MONITOR_TABLE_H
#define HEAPWRIGHT_DETAIL_MONITOR_TABLE_H

#include <stdint.h>

struct hw_counts {
  uint64_t allocation_calls, free_calls, failed_calls;
  uint64_t allocated_bytes; /* requested */
  int64_t net_bytes;        /* usable sizes of the blocks that were allocated, less those of the blocks freed */
  uint32_t is_counted;      /* 1: a recorder counts; 0: all is 0 */
};

/* Work that moves between threads. Private; all zero: none. */
struct hw_task {
  uint64_t number;
  uint32_t depth;     /* open scopes in it, while no thread is inside */
  uint32_t base;      /* while a thread is inside: its open scopes around the task */
  uint32_t outer;     /* and the `base` of the task that it was in before */
  uint32_t is_inside; /* whether a thread is inside */
};

/* A heap that the program gives out itself. Private; all zero: none. */
struct hw_custom_heap {
  uint32_t number;
  uint32_t name;
};

struct hw_monitor {
  uint32_t bytes; /* of the structure: a later recorder has more functions at its end */
  uint32_t (*name)(const char *text);
  uint32_t (*begin)(uint32_t name);
  uint32_t (*begin_number)(uint32_t name, uint64_t number);
  uint32_t (*begin_text)(uint32_t name, const char *text);
  void (*end)(uint32_t depth);
  void (*counts)(struct hw_counts *counts);
  uint32_t (*begin_forbidden)(uint32_t name);
  void (*mark)(uint32_t name);
  void (*counter)(uint32_t name, double value);
  void (*thread_name)(const char *name);
  void (*task_create)(struct hw_task *task, uint32_t name);
  void (*task_enter)(struct hw_task *task);
  void (*task_leave)(struct hw_task *task);
  void (*task_finish)(struct hw_task *task);
  void (*heap_create)(struct hw_custom_heap *heap, uint32_t name);
  void (*heap_alloc)(const struct hw_custom_heap *heap, const void *address, uint64_t size);
  void (*heap_free)(const struct hw_custom_heap *heap, const void *address);
  void (*heap_reset)(const struct hw_custom_heap *heap);
  void (*heap_destroy)(struct hw_custom_heap *heap);
};

#endif
