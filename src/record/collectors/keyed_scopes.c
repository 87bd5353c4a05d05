/* keyed_scopes.c - scopes whose ends do not say how deep they are: they find them by a key
 *
 * A thread that ends a loose scope of another thread marks it there, and the other thread ends it at its next call. So
 * that scopes that never end do not pile up, a thread has few loose scopes of one name.
 */
#include "record/collectors/keyed_scopes.h"

#include <stdatomic.h>
#include <stdbool.h>

#include "record/events/event.h"
#include "record/events/scopes.h"

enum { MOST_OF_A_NAME = 8 };

static uint64_t key_at(const struct hwi_open_scopes *open, uint32_t index)
{
  return atomic_load_explicit(&open->keys[index], memory_order_relaxed);
}

static void set_key(struct hwi_open_scopes *open, uint32_t index, uint64_t key)
{
  atomic_store_explicit(&open->keys[index], key, memory_order_relaxed);
}

static uint32_t known_depth(const struct hwi_open_scopes *open)
{
  return open->depth < HWI_OPEN_SCOPES ? open->depth : HWI_OPEN_SCOPES;
}

/* Ends the loose scope at this depth, now or when the scopes inside have ended. */
static void end_loose(struct hwi_lane *lane, uint64_t tick, uint32_t depth)
{
  struct hwi_open_scopes *open = &hwi_stream_self->open;
  if (depth == open->depth)
    hwi_scope_put_end(lane, tick, depth);
  else
    set_key(open, depth - 1, HWI_SCOPE_HAS_ENDED);
}

/* Ends the calling thread's innermost scopes if other threads have ended them. */
static void settle(struct hwi_lane *lane, uint64_t tick)
{
  struct hwi_open_scopes *open = &hwi_stream_self->open;
  if (hwi_scope_has_ended(open))
    hwi_scope_put_end(lane, tick, open->depth);
}

static bool may_begin_loose(const struct hwi_open_scopes *open, uint32_t name)
{
  uint32_t count = 0;
  for (uint32_t i = known_depth(open); i-- > open->base;)
    count += open->names[i] == name && key_at(open, i) & HWI_KEY_IS_LOOSE;
  return count < MOST_OF_A_NAME && open->depth < HWI_OPEN_SCOPES;
}

/* Returns how many of the calling thread's scopes around the one at `depth` have this key. The keys of the deepest scopes
 * are not known: they count as having it. */
static int level_of(const struct hwi_open_scopes *open, uint32_t depth, uint64_t key)
{
  uint32_t around = depth - 1, known = around < HWI_OPEN_SCOPES ? around : HWI_OPEN_SCOPES, level = around - known;
  for (uint32_t i = open->base; i < known; i++)
    level += key_at(open, i) == key;
  return (int)level;
}

int hwi_keyed_scope_begin_with(uint32_t name, uint64_t key, enum hw_scope_op op, uint64_t value)
{
  struct hwi_lane *lane = hwi_stream_enter(HWI_EVENT_FRAME());
  if (!lane)
    return HWI_LEVEL_UNKNOWN;
  struct hwi_open_scopes *open = &hwi_stream_self->open;
  uint64_t tick = hwi_event_tick();
  uint32_t depth = 0;
  settle(lane, tick);
  if (!(key & HWI_KEY_IS_LOOSE) || may_begin_loose(open, name))
    depth = hwi_scope_put_begin(lane, tick, name, op, value);
  if (depth && depth <= HWI_OPEN_SCOPES)
    set_key(open, depth - 1, key);
  int level = depth ? level_of(open, depth, key) : HWI_LEVEL_UNKNOWN;
  hwi_stream_leave(lane);
  return level;
}

int hwi_keyed_scope_begin(uint32_t name, uint64_t key)
{
  return hwi_keyed_scope_begin_with(name, key, HW_SCOPE_BEGIN, 0);
}

/* Returns the depth of the calling thread's innermost scope with this key, or 0. The keys of the deepest scopes are not
 * known: none of them is loose, and they end from the innermost one on. */
static uint32_t depth_of(const struct hwi_open_scopes *open, uint64_t key)
{
  if (open->depth > HWI_OPEN_SCOPES && !(key & HWI_KEY_IS_LOOSE))
    return open->depth;
  uint32_t depth = known_depth(open);
  while (depth > open->base && key_at(open, depth - 1) != key)
    depth--;
  return depth > open->base ? depth : 0;
}

static int end(uint64_t key, bool also_elsewhere)
{
  struct hwi_lane *lane = hwi_stream_enter(HWI_EVENT_FRAME());
  if (!lane)
    return HWI_LEVEL_UNKNOWN;
  struct hwi_open_scopes *open = &hwi_stream_self->open;
  uint64_t tick = hwi_event_tick();
  settle(lane, tick);
  uint32_t depth = depth_of(open, key);
  int level = depth ? level_of(open, depth, key) : HWI_LEVEL_NONE;
  if (!(key & HWI_KEY_IS_LOOSE))
    hwi_scope_put_end(lane, tick, depth);
  else if (depth)
    end_loose(lane, tick, depth);
  else if (also_elsewhere)
    hwi_stream_end_in_another(key);
  hwi_stream_leave(lane);
  return level;
}

int hwi_keyed_scope_end(uint64_t key)
{
  return end(key, true);
}

void hwi_keyed_scope_end_here(uint64_t key)
{
  end(key, false);
}
