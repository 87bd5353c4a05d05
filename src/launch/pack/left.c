/* left.c - the events that are left when those before a moment are dropped
 *
 * Scopes that are open in a task stay between the events with which their thread entered and left the task; a visit in which
 * no scope was left open is not kept.
 */
#include "launch/pack/left.h"

#include <stdlib.h>

#include "trace/grow.h"

void hwi_left_release(struct hwi_left *left)
{
  free(left->events);
  for (size_t i = 0; i < left->scope_capacity; i++)
    free(left->scopes[i].items);
  free(left->scopes);
  for (size_t i = 0; i < left->task_count; i++)
    free(left->tasks[i].scopes.items);
  free(left->tasks);
  hwi_hash_table_release(&left->task_indices);
  hwi_hash_table_release(&left->counters);
  free(left->counter_events);
  hwi_heap_blocks_release(&left->heap_blocks);
  free(left->of_heap_block);
  free(left->of_heap);
  *left = (struct hwi_left){0};
}

uint32_t hwi_left_keep(struct hwi_left *left, const struct hwi_event *event)
{
  uint32_t number = left->first_free;
  if (number) {
    left->first_free = left->events[number].next_free;
  } else {
    if (left->count >= UINT32_MAX - 2 ||
        !hwi_grow((void **)&left->events, &left->capacity, left->count + 2, sizeof *left->events))
      return 0;
    number = (uint32_t)++left->count;
  }
  left->events[number] = (struct hwi_left_event){.event = *event, .order = ++left->order};
  return number;
}

void hwi_left_drop(struct hwi_left *left, uint32_t number)
{
  if (!number)
    return;
  left->events[number] = (struct hwi_left_event){.next_free = left->first_free};
  left->first_free = number;
}

/* --- scopes --- */

static bool push(struct hwi_left *left, struct hwi_left_scopes *scopes, const struct hwi_event *event)
{
  const uint32_t number = hwi_left_keep(left, event);
  if (!number || !hwi_grow((void **)&scopes->items, &scopes->capacity, scopes->count + 1, sizeof *scopes->items))
    return false;
  scopes->items[scopes->count++] = number;
  return true;
}

static uint8_t top_op(const struct hwi_left *left, const struct hwi_left_scopes *scopes)
{
  return scopes->count ? left->events[scopes->items[scopes->count - 1]].event.entry : 0;
}

static void pop(struct hwi_left *left, struct hwi_left_scopes *scopes)
{
  hwi_left_drop(left, scopes->items[--scopes->count]);
}

/* Returns NULL if there is no memory. */
static struct hwi_left_task *find_task(struct hwi_left *left, uint64_t number)
{
  const uint32_t tag = (uint32_t)number;
  const struct hwi_hash_slot *slot = hwi_hash_table_first(&left->task_indices, tag);
  while (slot->number && left->tasks[slot->number - 1].number != number)
    slot = hwi_hash_table_next(&left->task_indices, slot);
  if (slot->number)
    return &left->tasks[slot->number - 1];
  if (!hwi_grow((void **)&left->tasks, &left->task_capacity, left->task_count + 1, sizeof *left->tasks) ||
      !hwi_hash_table_add(&left->task_indices, tag, (uint32_t)left->task_count + 1))
    return NULL;
  left->tasks[left->task_count] = (struct hwi_left_task){.number = number};
  return &left->tasks[left->task_count++];
}

/* Returns the task that the thread entered last, or NULL. */
static struct hwi_left_task *task_inside(struct hwi_left *left, const struct hwi_left_scopes *scopes)
{
  for (size_t i = scopes->count; i-- > 0;) {
    const struct hwi_event *event = &left->events[scopes->items[i]].event;
    if (event->entry == HW_SCOPE_ENTER)
      return find_task(left, event->size);
  }
  return NULL;
}

/* Removes visits at the end of the list that left no scope open. */
static void drop_empty_visits(struct hwi_left *left, struct hwi_left_scopes *scopes)
{
  while (scopes->count >= 2 && top_op(left, scopes) == HW_SCOPE_LEAVE &&
         left->events[scopes->items[scopes->count - 2]].event.entry == HW_SCOPE_ENTER) {
    pop(left, scopes);
    pop(left, scopes);
  }
}

/* Ends the latest scope that an earlier visit left open in the task. */
static void end_in_task(struct hwi_left *left, struct hwi_left_scopes *scopes)
{
  size_t at = scopes->count;
  while (at > 0 && (left->events[scopes->items[at - 1]].event.entry == HW_SCOPE_LEAVE ||
                    left->events[scopes->items[at - 1]].event.entry == HW_SCOPE_ENTER))
    at--;
  if (!at)
    return;
  hwi_left_drop(left, scopes->items[at - 1]);
  memmove(&scopes->items[at - 1], &scopes->items[at], (scopes->count - at) * sizeof *scopes->items);
  scopes->count--;
  drop_empty_visits(left, scopes);
}

static void end_scopes(struct hwi_left *left, struct hwi_left_scopes *scopes, uint64_t count)
{
  for (; count > 0; count--) {
    if (scopes->count && top_op(left, scopes) != HW_SCOPE_ENTER) {
      pop(left, scopes);
      continue;
    }
    struct hwi_left_task *task = task_inside(left, scopes);
    if (!task || !task->scopes.count) /* a forged count may be large */
      return;
    end_in_task(left, &task->scopes);
  }
}

static void finish(struct hwi_left *left, struct hwi_left_task *task)
{
  while (task->scopes.count)
    pop(left, &task->scopes);
  hwi_left_drop(left, task->begin);
  hwi_left_drop(left, task->finish);
  task->begin = task->finish = 0;
}

/* What the visit left open moves to the task, between its ENTER and its LEAVE. */
static bool leave(struct hwi_left *left, struct hwi_left_scopes *scopes, const struct hwi_event *event)
{
  size_t at = scopes->count;
  while (at > 0) {
    const struct hwi_event *enter = &left->events[scopes->items[at - 1]].event;
    if (enter->entry == HW_SCOPE_ENTER && enter->size == event->size)
      break;
    at--;
  }
  struct hwi_left_task *task = at ? find_task(left, event->size) : NULL;
  if (!task)
    return !at;
  struct hwi_left_scopes *to = &task->scopes;
  const size_t first = at - 1, moved = scopes->count - first;
  if (!hwi_grow((void **)&to->items, &to->capacity, to->count + moved + 1, sizeof *to->items))
    return false;
  memcpy(&to->items[to->count], &scopes->items[first], moved * sizeof *to->items);
  to->count += moved;
  scopes->count = first;
  if (!push(left, to, event))
    return false;
  drop_empty_visits(left, to);
  if (task->finish)
    finish(left, task);
  return true;
}

static bool is_entered(const struct hwi_left *left, uint64_t number)
{
  for (size_t i = 0; i < left->scope_capacity; i++)
    for (size_t k = 0; k < left->scopes[i].count; k++) {
      const struct hwi_event *event = &left->events[left->scopes[i].items[k]].event;
      if (event->entry == HW_SCOPE_ENTER && event->size == number)
        return true;
    }
  return false;
}

static bool take_task(struct hwi_left *left, const struct hwi_event *event)
{
  struct hwi_left_task *task = find_task(left, event->entry == HW_SCOPE_TASK ? event->usable : event->size);
  if (!task)
    return false;
  if (event->entry == HW_SCOPE_TASK) {
    hwi_left_drop(left, task->begin);
    task->begin = hwi_left_keep(left, event);
    return task->begin;
  }
  if (!is_entered(left, event->size)) {
    finish(left, task);
    return true;
  }
  if (!task->finish)
    task->finish = hwi_left_keep(left, event);
  return task->finish;
}

/* Only the latest value of each counter stays. */
static bool take_counter(struct hwi_left *left, const struct hwi_event *event)
{
  const uint32_t name = (uint32_t)event->size;
  uint32_t index = hwi_hash_table_first(&left->counters, name)->number;
  if (!index) {
    index = (uint32_t)left->counter_count + 1;
    if (!hwi_grow((void **)&left->counter_events, &left->counter_capacity, index, sizeof *left->counter_events) ||
        !hwi_hash_table_add(&left->counters, name, index))
      return false;
    left->counter_count++;
  }
  hwi_left_drop(left, left->counter_events[index - 1]);
  left->counter_events[index - 1] = hwi_left_keep(left, event);
  return left->counter_events[index - 1];
}

static bool take_scope(struct hwi_left *left, const struct hwi_event *event, uint32_t thread)
{
  if (!hwi_grow((void **)&left->scopes, &left->scope_capacity, (size_t)thread + 1, sizeof *left->scopes))
    return false;
  struct hwi_left_scopes *scopes = &left->scopes[thread];
  switch (event->entry) {
  case HW_SCOPE_END:
    end_scopes(left, scopes, event->size);
    return true;
  case HW_SCOPE_LEAVE:
    return leave(left, scopes, event);
  case HW_SCOPE_TASK:
  case HW_SCOPE_FINISH:
    return take_task(left, event);
  case HW_SCOPE_COUNTER:
    return take_counter(left, event);
  case HW_SCOPE_MARK:
    return true;
  default:
    return push(left, scopes, event);
  }
}

/* --- heaps --- */

static void end_heap_block(struct hwi_left *left, uint32_t block)
{
  if (!block)
    return;
  hwi_left_drop(left, left->of_heap_block[block]);
  left->of_heap_block[block] = 0;
  hwi_heap_blocks_remove(&left->heap_blocks, block);
}

static bool take_heap_block(struct hwi_left *left, const struct hwi_event *event, uint32_t heap)
{
  const uint32_t block = hwi_heap_blocks_add(&left->heap_blocks, heap, event->address, event->size);
  if (!block || !hwi_grow((void **)&left->of_heap_block, &left->heap_block_capacity, (size_t)block + 1,
                          sizeof *left->of_heap_block))
    return false;
  left->of_heap_block[block] = hwi_left_keep(left, event);
  return left->of_heap_block[block];
}

static bool take_heap(struct hwi_left *left, const struct hwi_event *event)
{
  struct hwi_heap_blocks *blocks = &left->heap_blocks;
  const uint32_t heap = hwi_heap_blocks_heap(blocks, event->heap);
  if (!heap || !hwi_grow((void **)&left->of_heap, &left->heap_capacity, (size_t)heap + 1, sizeof *left->of_heap))
    return false;
  if (event->entry == HW_HEAP_ALLOC || event->entry == HW_HEAP_FREE)
    end_heap_block(left, hwi_heap_blocks_find(blocks, heap, event->address));
  while ((event->entry == HW_HEAP_RESET || event->entry == HW_HEAP_DESTROY) && blocks->heaps[heap].first)
    end_heap_block(left, blocks->heaps[heap].first);
  if (event->entry == HW_HEAP_CREATE || event->entry == HW_HEAP_DESTROY) {
    hwi_left_drop(left, left->of_heap[heap]);
    left->of_heap[heap] = 0;
  }
  if (event->entry == HW_HEAP_DESTROY)
    hwi_heap_blocks_end_heap(blocks, heap);
  if (event->entry == HW_HEAP_CREATE)
    return (left->of_heap[heap] = hwi_left_keep(left, event)) != 0;
  return event->entry != HW_HEAP_ALLOC || take_heap_block(left, event, heap);
}

bool hwi_left_take(struct hwi_left *left, const struct hwi_event *event, uint32_t thread)
{
  return event->kind == HWI_EVENT_SCOPE ? take_scope(left, event, thread) : take_heap(left, event);
}

/* --- the result --- */

static int compare(const void *a, const void *b)
{
  const struct hwi_left_event *left = a, *right = b;
  if (left->event.tick != right->event.tick)
    return left->event.tick < right->event.tick ? -1 : 1;
  return left->order < right->order ? -1 : left->order > right->order;
}

const struct hwi_left_event *hwi_left_sort(struct hwi_left *left, size_t *count)
{
  size_t kept = 0;
  for (size_t i = 1; i <= left->count; i++)
    if (left->events[i].event.kind)
      left->events[kept++] = left->events[i];
  if (kept)
    qsort(left->events, kept, sizeof *left->events, compare);
  *count = kept;
  return left->events;
}
