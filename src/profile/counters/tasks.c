/* tasks.c - the tasks of a replay, by number */
#include "profile/counters/tasks.h"

#include <stdlib.h>

#include "trace/grow.h"

void hwi_tasks_release(struct hwi_tasks *tasks)
{
  for (size_t i = 0; i < tasks->count; i++)
    free(tasks->items[i].open.items);
  free(tasks->items);
  free(tasks->unused);
  if (tasks->numbers.slots)
    hwi_live_release(&tasks->numbers);
  *tasks = (struct hwi_tasks){0};
}

struct hwi_task *hwi_tasks_find(const struct hwi_tasks *tasks, uint64_t number)
{
  const struct hwi_live_slot *slot = tasks->numbers.slots ? hwi_live_slot(&tasks->numbers, number) : NULL;
  return slot && slot->address ? &tasks->items[slot->number] : NULL;
}

struct hwi_task *hwi_tasks_add(struct hwi_tasks *tasks, uint64_t number, bool *is_known)
{
  *is_known = hwi_tasks_find(tasks, number);
  if (*is_known || (!tasks->numbers.slots && !hwi_live_init(&tasks->numbers)) || !hwi_live_grow(&tasks->numbers))
    return NULL;
  bool is_reused = tasks->unused_count > 0;
  if (!is_reused && !hwi_grow((void **)&tasks->items, &tasks->capacity, tasks->count + 1, sizeof *tasks->items))
    return NULL;
  const uint32_t index = is_reused ? tasks->unused[--tasks->unused_count] : (uint32_t)tasks->count++;
  struct hwi_task *task = &tasks->items[index];
  *task = (struct hwi_task){.number = number, .open = {.items = task->open.items, .capacity = task->open.capacity}};
  *hwi_live_slot(&tasks->numbers, number) = (struct hwi_live_slot){.address = number, .number = index};
  tasks->numbers.count++;
  return task;
}

bool hwi_tasks_remove(struct hwi_tasks *tasks, struct hwi_task *task)
{
  if (!hwi_grow((void **)&tasks->unused, &tasks->unused_capacity, tasks->unused_count + 1, sizeof *tasks->unused))
    return false;
  tasks->unused[tasks->unused_count++] = (uint32_t)(task - tasks->items);
  hwi_live_remove(&tasks->numbers, hwi_live_slot(&tasks->numbers, task->number));
  task->number = 0;
  return true;
}
