/* left.h - the events that are left when those before a moment are dropped
 *
 * left    an event that is kept because what it began lives on: a block, a scope, a task, a heap; also the last value of a
 *         counter, and the latest block of a thread that has ended, since that decides whether an earlier one is temporary.
 */
#ifndef HWI_LAUNCH_PACK_LEFT_H
#define HWI_LAUNCH_PACK_LEFT_H

#include <stdbool.h>

#include "profile/blocks/heap_blocks.h"
#include "trace/hash_table.h"
#include "trace/reader.h"

struct hwi_left_event {
  struct hwi_event event; /* kind 0: a free place */
  uint64_t order;         /* among all events */
  uint32_t next_free;
};

struct hwi_left_scopes {
  uint32_t *items; /* numbers of left events, the outermost scope first */
  size_t count, capacity;
};

struct hwi_left_task {
  uint64_t number;
  uint32_t begin, finish; /* left events; 0: none */
  struct hwi_left_scopes scopes;
};

/* All zero: nothing is left. */
struct hwi_left {
  struct hwi_left_event *events; /* [1, count] */
  size_t count, capacity;
  uint32_t first_free;
  uint64_t order;                 /* of the latest event */
  struct hwi_left_scopes *scopes; /* of each thread, by index */
  size_t scope_capacity;
  struct hwi_left_task *tasks;
  size_t task_count, task_capacity;
  struct hwi_hash_table task_indices; /* plus 1, by number */
  struct hwi_hash_table counters;     /* left events, by name: indices of `counter_events`, plus 1 */
  uint32_t *counter_events;
  size_t counter_count, counter_capacity;
  struct hwi_heap_blocks heap_blocks;
  uint32_t *of_heap_block; /* left events */
  size_t heap_block_capacity;
  uint32_t *of_heap; /* the left CREATE */
  size_t heap_capacity;
};

void hwi_left_release(struct hwi_left *left);

/* Keeps an event. Returns its number, or 0 if there is no memory. */
uint32_t hwi_left_keep(struct hwi_left *left, const struct hwi_event *event);
void hwi_left_drop(struct hwi_left *left, uint32_t number); /* 0 is fine */

/* Takes an event of a scope or a heap, of the thread with this index. Returns false if there is no memory. */
bool hwi_left_take(struct hwi_left *left, const struct hwi_event *event, uint32_t thread);

/* Sorts the events by time; numbers are not valid any more. Events [0, *count) are left. */
const struct hwi_left_event *hwi_left_sort(struct hwi_left *left, size_t *count);

#endif
