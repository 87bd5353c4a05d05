/* monitor_table.h - the functions of the recorder that heapwright/monitor.h calls: its symbol heapwright_monitor
 *
 * Private, but for struct hw_counts: programs use heapwright/monitor.h.
 */
/* SPDX-License-Identifier: MIT */
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
  uint64_t number;      /* in the recording; 0: none */
  uint64_t left_tick;   /* when a thread left it, or made it */
  uint32_t left_thread; /* that thread */
  uint32_t name;        /* the recorder's number */
  uint32_t image;       /* in whose trace it has its number: a forked child gives it another one */
  uint32_t depth;       /* open scopes in it, while no thread is inside */
  uint32_t trap_depth;  /* of the outermost of them in which calls trap; 0: none */
  uint32_t is_inside;   /* a thread has entered it and has not left it */
  uint32_t more_enters; /* how often that thread has entered it again */
  uint32_t is_finished; /* by another thread, while that one was inside */
  uint32_t reserved[4];
};

/* No task. Also in C++, whose compilers may object to omitted members. */
#define HW_NO_TASK                \
  {                               \
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
    {                             \
      0, 0, 0, 0                  \
    }                             \
  }

/* A heap that the program gives out itself. Private; all zero: none. */
struct hw_custom_heap {
  uint32_t number;
  uint32_t name;
};

struct hw_monitor {
  uint32_t bytes; /* of the structure: a later recorder has more functions at its end */
  uint32_t (*name)(const char *text);
  uint64_t (*begin)(uint32_t name);
  uint64_t (*begin_number)(uint32_t name, uint64_t number);
  uint64_t (*begin_text)(uint32_t name, const char *text);
  void (*end)(uint64_t scope);
  void (*counts)(struct hw_counts *counts);
  uint64_t (*begin_forbidden)(uint32_t name);
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
  int (*live_start)(const char *address, uint16_t port);
  const char *(*live_url)(void);
  void (*live_stop)(void);
};

#endif
