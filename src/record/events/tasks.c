/* tasks.c - tasks: scopes that move between threads
 *
 * The scopes that are open in a task lie above those of the thread that is inside: `base` counts the ones around the
 * task. What the program holds of a scope (its depth) is relative to the base, so that it can end the scope in another
 * thread. A task has no memory here: its state is in the program's own structure, which may be gone at any time. So the
 * tasks that a thread is in are known by their numbers only (struct hwi_entered_task).
 *
 * The structure says that some thread is inside, but not whether that is still so: the thread may have ended, or left
 * with an outer task. Then the reader gives the task its scopes back, but how many there are is not known here. The next
 * thread to enter begins another instance.
 *
 * order      an ENTER must be later than the LEAVE of another thread. Both may have the same tick, so the second thread
 *            waits for the next one: less than 0.1 us.
 */
#include "record/events/tasks.h"

#include "record/events/event.h"
#include "record/events/scope_names.h"
#include "record/events/scopes.h"

static _Atomic uint64_t task_count;

static uint32_t this_image(void)
{
  return atomic_load_explicit(&hwi_session.image_count, memory_order_relaxed);
}

static void begin(struct hwi_lane *lane, struct hw_task *task, uint32_t name)
{
  uint64_t number = atomic_fetch_add_explicit(&task_count, 1, memory_order_relaxed) + 1, tick = hwi_event_tick();
  if (!hwi_scope_put_named(lane, tick, HW_SCOPE_TASK, name, number))
    number = 0;
  *task = (struct hw_task){
      .number = number,
      .left_tick = tick,
      .left_thread = hwi_stream_self->thread,
      .name = name,
      .image = this_image(),
  };
}

void hwi_task_create(struct hw_task *task, uint32_t name)
{
  struct hwi_lane *lane = hwi_stream_enter(HWI_EVENT_FRAME());
  if (!lane)
    return;
  begin(lane, task, name);
  hwi_stream_leave(lane);
}

/* --- who is inside --- */

/* Returns which of the thread's tasks it is, from 1, or 0: the thread is not inside. */
static uint32_t level_of(const struct hwi_open_scopes *open, const struct hw_task *task)
{
  uint32_t level = open->task_count;
  while (level > 0 && open->tasks[level - 1].number != task->number)
    level--;
  return level;
}

static bool is_inherited(const struct hw_task *task)
{
  return task->image != this_image();
}

static bool another_is_inside(const struct hw_task *task)
{
  return task->is_inside && !is_inherited(task) && hwi_stream_another_is_in(task->number);
}

static bool may_enter(struct hwi_lane *lane, struct hw_task *task)
{
  if (hwi_stream_self->open.task_count == HWI_ENTERED_TASKS || task->is_finished || another_is_inside(task))
    return false;
  if (!task->is_inside && !is_inherited(task))
    return true;
  hwi_scope_put(lane, hwi_event_tick(), HW_SCOPE_FINISH, task->number, 0);
  begin(lane, task, task->name);
  return task->number;
}

/* --- enter, leave --- */

static uint64_t tick_after_leave(const struct hw_task *task)
{
  enum { MOST_READINGS = 100 }; /* the clock of a sealed thread stands still */
  uint64_t tick = hwi_event_tick();
  if (task->left_thread == hwi_stream_self->thread)
    return tick;
  for (int i = 0; i < MOST_READINGS && tick <= task->left_tick; i++)
    tick = hwi_event_tick();
  return tick;
}

/* The thread's scopes inside the task are open again. Their names and keys are not known. */
static void reopen(struct hwi_open_scopes *open, uint32_t depth)
{
  for (uint32_t i = open->depth; i < open->depth + depth && i < HWI_OPEN_SCOPES; i++) {
    open->names[i] = HWI_NAME_OTHER;
    atomic_store_explicit(&open->keys[i], 0, memory_order_relaxed);
  }
  open->depth += depth;
}

static void enter(struct hwi_lane *lane, struct hw_task *task)
{
  struct hwi_open_scopes *open = &hwi_stream_self->open;
  if (!hwi_scope_put(lane, tick_after_leave(task), HW_SCOPE_ENTER, task->number, 0))
    return;
  struct hwi_entered_task *entered = &open->tasks[open->task_count];
  __atomic_store_n(&entered->number, task->number, __ATOMIC_RELAXED);
  entered->base = open->base = open->depth;
  entered->trap_around = open->trap_depth;
  __atomic_store_n(&open->task_count, open->task_count + 1, __ATOMIC_RELAXED);
  open->trap_depth = task->trap_depth ? open->base + task->trap_depth : 0;
  reopen(open, task->depth);
  hwi_scope_update_trap();
  task->is_inside = 1;
  task->more_enters = 0;
}

void hwi_task_enter(struct hw_task *task)
{
  struct hwi_lane *lane = hwi_stream_enter(HWI_EVENT_FRAME());
  if (!lane)
    return;
  if (level_of(&hwi_stream_self->open, task))
    task->more_enters++;
  else if (may_enter(lane, task))
    enter(lane, task);
  hwi_stream_leave(lane);
}

/* Also leaves the tasks inside, from which the thread's scopes up to `top` are those of this task. */
static void leave(struct hwi_lane *lane, struct hw_task *task, uint32_t level)
{
  struct hwi_open_scopes *open = &hwi_stream_self->open;
  const struct hwi_entered_task *entered = &open->tasks[level - 1];
  bool is_innermost = level == open->task_count;
  uint32_t top = is_innermost ? open->depth : entered[1].base;
  uint32_t trap_depth = is_innermost ? open->trap_depth : entered[1].trap_around;
  uint64_t tick = hwi_event_tick();
  hwi_scope_put(lane, tick, HW_SCOPE_LEAVE, task->number, 0);
  open->depth = entered->base;
  open->base = level > 1 ? entered[-1].base : 0;
  open->trap_depth = entered->trap_around;
  __atomic_store_n(&open->task_count, level - 1, __ATOMIC_RELAXED);
  hwi_scope_update_trap();
  task->left_tick = tick;
  task->left_thread = hwi_stream_self->thread;
  task->depth = top - entered->base;
  task->trap_depth = trap_depth ? trap_depth - entered->base : 0;
  task->is_inside = 0;
  if (task->is_finished)
    task->number = 0;
}

void hwi_task_leave(struct hw_task *task)
{
  struct hwi_lane *lane = hwi_stream_enter(HWI_EVENT_FRAME());
  if (!lane)
    return;
  uint32_t level = level_of(&hwi_stream_self->open, task);
  if (level && task->more_enters > 0)
    task->more_enters--;
  else if (level)
    leave(lane, task, level);
  hwi_stream_leave(lane);
}

/* If another thread is inside, the number stays: that thread needs it to leave. */
void hwi_task_finish(struct hw_task *task)
{
  struct hwi_lane *lane = hwi_stream_enter(HWI_EVENT_FRAME());
  if (!lane)
    return;
  uint64_t number = task->number;
  uint32_t level = level_of(&hwi_stream_self->open, task);
  if (level)
    leave(lane, task, level);
  if (another_is_inside(task))
    task->is_finished = 1;
  else
    task->number = 0;
  hwi_scope_put(lane, hwi_event_tick(), HW_SCOPE_FINISH, number, 0);
  hwi_stream_leave(lane);
}
