/* scopes.c - the beginning and the end of scopes as events of their thread's stream */
#include "record/events/scopes.h"

#include <string.h>

#include "record/events/event.h"
#include "record/events/scope_names.h"

enum { LONGEST_TEXT = 4096 };

static _Atomic uint32_t text_count;

/* Returns false, after counting the event as lost. */
static bool lose(void)
{
  hwi_session_lose(hwi_lane_loss());
  return false;
}

bool hwi_scope_put(struct hwi_lane *lane, uint64_t tick, enum hw_scope_op op, uint64_t name, uint64_t value)
{
  if (!hwi_lane_reserve(lane, HW_EVENT_MAX_BYTES))
    return lose();
  uint8_t *at = hwi_lane_begin(lane, HW_OP_SCOPE, tick);
  *at++ = (uint8_t)op;
  at = hwi_put_varint(at, name);
  hwi_lane_commit(lane, hwi_put_varint(at, value));
  return true;
}

bool hwi_scope_put_named(struct hwi_lane *lane, uint64_t tick, enum hw_scope_op op, uint32_t name, uint64_t value)
{
  return hwi_names_define(lane, name) ? hwi_scope_put(lane, tick, op, name, value) : lose();
}

void hwi_scope_update_trap(void)
{
  struct hwi_thread_stream *self = hwi_stream_self;
  bool traps = self->open.trap_depth;
  for (uint32_t i = 0; i < self->open.task_count; i++)
    traps |= self->open.tasks[i].trap_around != 0;
  for (int i = 0; i < 2; i++) {
    if (traps)
      hwi_lane_request_attention(&self->lanes[i], HWI_LANE_TRAPS);
    else
      self->lanes[i].attention &= (uint8_t)~HWI_LANE_TRAPS;
  }
  self->open.is_trapping &= traps; /* the handler may have been left by longjmp */
}

static void set_trap(struct hwi_open_scopes *open, uint32_t depth)
{
  open->trap_depth = depth;
  hwi_scope_update_trap();
}

uint32_t hwi_scope_put_begin(struct hwi_lane *lane, uint64_t tick, uint32_t name, enum hw_scope_op op, uint64_t value)
{
  struct hwi_open_scopes *open = &hwi_stream_self->open;
  if (!hwi_scope_put_named(lane, tick, op, name, value))
    return 0;
  if (open->depth < HWI_OPEN_SCOPES) {
    open->names[open->depth] = name;
    atomic_store_explicit(&open->keys[open->depth], 0, memory_order_relaxed);
  }
  open->depth++;
  if (op == HW_SCOPE_BEGIN_FORBIDDEN && hwi_session.options.trap && !open->trap_depth)
    set_trap(open, open->depth);
  return open->depth;
}

/* --- what the program holds of a scope --- */

enum { HANDLE_OWNER_SHIFT = 32 };

/* Returns a number of the task that the thread is in, or of the thread. */
static uint32_t owner_of(const struct hwi_open_scopes *open)
{
  static const uint32_t is_task = UINT32_C(1) << 31;
  return open->task_count ? (uint32_t)open->tasks[open->task_count - 1].number | is_task : open->owner;
}

/* Returns the handle of the scope at this depth, or 0 if it was not recorded. In a task, scopes are counted from its
 * first one, since another thread may end them. */
static uint64_t handle_of(const struct hwi_open_scopes *open, uint32_t depth)
{
  return depth ? (uint64_t)owner_of(open) << HANDLE_OWNER_SHIFT | (depth - open->base) : 0;
}

uint64_t hwi_scope_begin(uint32_t name, enum hw_scope_op op, uint64_t value)
{
  struct hwi_lane *lane = hwi_stream_enter(HWI_EVENT_FRAME());
  if (!lane)
    return 0;
  uint64_t scope = handle_of(&hwi_stream_self->open, hwi_scope_put_begin(lane, hwi_event_tick(), name, op, value));
  hwi_stream_leave(lane);
  return scope;
}

uint64_t hwi_scope_begin_text(uint32_t name, const char *text)
{
  struct hwi_lane *lane = hwi_stream_enter(HWI_EVENT_FRAME());
  if (!lane)
    return 0;
  uint64_t tick = hwi_event_tick();
  uint32_t number = atomic_fetch_add_explicit(&text_count, 1, memory_order_relaxed), depth = 0;
  uint8_t head[HWI_VARINT_MAX_BYTES], *end = hwi_put_varint(head, number);
  if (hwi_lane_put_record(lane, HW_RECORD_TEXT, (struct hwi_bytes){head, (uint32_t)(end - head)},
                          (struct hwi_bytes){text, (uint32_t)strnlen(text, LONGEST_TEXT)}))
    depth = hwi_scope_put_begin(lane, tick, name, HW_SCOPE_BEGIN_TEXT, number);
  else
    lose();
  uint64_t scope = handle_of(&hwi_stream_self->open, depth);
  hwi_stream_leave(lane);
  return scope;
}

void hwi_scope_put_end(struct hwi_lane *lane, uint64_t tick, uint32_t depth)
{
  struct hwi_open_scopes *open = &hwi_stream_self->open;
  if (depth <= open->base || depth > open->depth)
    return;
  hwi_scope_put(lane, tick, HW_SCOPE_END, open->depth - depth + 1, 0);
  open->depth = depth - 1;
  while (hwi_scope_has_ended(open)) {
    hwi_scope_put(lane, tick, HW_SCOPE_END, 1, 0);
    open->depth--;
  }
  if (open->depth < open->trap_depth)
    set_trap(open, 0);
}

void hwi_scope_end(uint64_t scope)
{
  struct hwi_lane *lane = hwi_stream_enter(HWI_EVENT_FRAME());
  if (!lane)
    return;
  const struct hwi_open_scopes *open = &hwi_stream_self->open;
  if (scope >> HANDLE_OWNER_SHIFT == owner_of(open))
    hwi_scope_put_end(lane, hwi_event_tick(), open->base + (uint32_t)scope);
  hwi_stream_leave(lane);
}

void hwi_scope_note(uint32_t name, enum hw_scope_op op, uint64_t value)
{
  struct hwi_lane *lane = hwi_stream_enter(HWI_EVENT_FRAME());
  if (!lane)
    return;
  hwi_scope_put_named(lane, hwi_event_tick(), op, name, value);
  hwi_stream_leave(lane);
}

void hwi_scopes_continue(struct hwi_lane *lane, struct hwi_open_scopes *open, bool is_forked)
{
  uint32_t depth = is_forked && !open->task_count ? open->depth : 0; /* see monitor.h about a fork inside a task */
  for (uint32_t i = 0; i < depth; i++) {
    uint32_t name = i < HWI_OPEN_SCOPES ? open->names[i] : HWI_NAME_OTHER;
    hwi_scope_put_named(lane, lane->last_tick, HW_SCOPE_CONTINUE, name, 0);
  }
  open->depth = depth;
  open->base = open->task_count = 0;
  open->trap_depth = 0; /* a forked child is not part of the forbidden zone */
  open->is_trapping = false;
  if (!is_forked) /* the program ends inherited scopes by the handles that it has */
    open->owner = hwi_stream_self->thread + 1;
}
