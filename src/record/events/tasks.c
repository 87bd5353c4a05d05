/* tasks.c - tasks: scopes that move between threads
 *
 * The scopes that are open in a task lie above those of the thread that is inside: `base` of the thread counts the ones
 * around the task. What the program holds of a scope (its depth) is relative to the base, so that it can end the scope
 * in another thread. A task has no memory here: its state is in the program's own structure.
 */
#include "record/events/tasks.h"

#include "record/events/event.h"
#include "record/events/scope_names.h"
#include "record/events/scopes.h"

static _Atomic uint64_t task_count;

void hwi_task_create(struct hw_task *task, uint32_t name)
{
  struct hwi_lane *lane = hwi_stream_enter(HWI_EVENT_FRAME());
  if (!lane)
    return;
  uint64_t number = atomic_fetch_add_explicit(&task_count, 1, memory_order_relaxed) + 1;
  if (hwi_scope_put_named(lane, hwi_event_tick(), HW_SCOPE_TASK, name, number))
    task->number = number;
  hwi_stream_leave(lane);
}

/* The thread's scopes inside the task are open again. Their names and keys are not known. */
static void reopen(struct hwi_open_scopes *open, uint32_t depth)
{
  for (uint32_t i = open->depth; i < open->depth + depth && i < HWI_OPEN_SCOPES; i++) {
    open->names[i] = HWI_NAME_OTHER;
    open->keys[i] = 0;
  }
  open->depth += depth;
}

void hwi_task_enter(struct hw_task *task)
{
  struct hwi_lane *lane = hwi_stream_enter(HWI_EVENT_FRAME());
  if (!lane)
    return;
  struct hwi_open_scopes *open = &hwi_stream_self->open;
  if (!task->is_inside && hwi_scope_put(lane, hwi_event_tick(), HW_SCOPE_ENTER, task->number, 0)) {
    task->is_inside = 1;
    task->outer = open->base;
    task->base = open->base = open->depth;
    open->task_count++;
    reopen(open, task->depth);
  }
  hwi_stream_leave(lane);
}

/* Whether the thread is in tasks at all, and has the scopes that were around this one: not after a fork. */
static bool is_in(const struct hwi_open_scopes *open, const struct hw_task *task)
{
  return task->is_inside && open->task_count && task->base <= open->base && open->base <= open->depth;
}

static void leave(struct hwi_lane *lane, uint64_t tick, struct hw_task *task)
{
  struct hwi_open_scopes *open = &hwi_stream_self->open;
  if (is_in(open, task)) {
    hwi_scope_put(lane, tick, HW_SCOPE_LEAVE, task->number, 0);
    /* with a task inside that was not left, its scopes are not known; the reader knows them */
    task->depth = (open->base == task->base ? open->depth : open->base) - task->base;
    open->depth = task->base;
    open->base = task->outer;
    open->task_count--;
    hwi_scope_check_trap();
  }
  task->is_inside = 0;
}

void hwi_task_leave(struct hw_task *task)
{
  struct hwi_lane *lane = hwi_stream_enter(HWI_EVENT_FRAME());
  if (!lane)
    return;
  leave(lane, hwi_event_tick(), task);
  hwi_stream_leave(lane);
}

void hwi_task_finish(struct hw_task *task)
{
  struct hwi_lane *lane = hwi_stream_enter(HWI_EVENT_FRAME());
  if (!lane)
    return;
  uint64_t tick = hwi_event_tick();
  if (task->is_inside)
    leave(lane, tick, task);
  hwi_scope_put(lane, tick, HW_SCOPE_FINISH, task->number, 0);
  task->number = 0;
  hwi_stream_leave(lane);
}
