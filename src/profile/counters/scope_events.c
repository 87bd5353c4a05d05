/* scope_events.c - tells which scopes of a thread have begun or ended */
#include "profile/counters/scope_events.h"

#include "profile/counters/tasks.h"

bool hwi_scope_events_begun(const struct hwi_scopes *scopes, const struct hwi_block_sink *sink,
                            struct hwi_scope_event told, uint32_t before)
{
  const uint32_t after = hwi_scopes_depth(scopes, told.thread);
  bool goes_on = true;
  for (uint32_t depth = before; depth < after && goes_on; depth++) {
    const struct hwi_open_instance *open = hwi_scopes_open_at(scopes, told.thread, depth);
    told.path = open->path;
    told.outer = hwi_scopes_outer(scopes, open->path);
    told.value = open->all.value;
    told.op = open->all.op;
    told.text = open->text;
    goes_on = sink->take_scope(sink->context, &told);
  }
  return goes_on;
}

bool hwi_scope_events_since(const struct hwi_scopes *scopes, const struct hwi_block_sink *sink,
                            struct hwi_scope_event told, uint32_t before)
{
  const uint32_t after = hwi_scopes_depth(scopes, told.thread);
  told.is_stay = told.op == HW_SCOPE_ENTER;
  if (after >= before)
    return hwi_scope_events_begun(scopes, sink, told, before);
  told.path = hwi_scopes_path(scopes, told.thread);
  told.ended = before - after;
  told.left = told.op == HW_SCOPE_END ? before - after - 1 : 0;
  return sink->take_scope(sink->context, &told);
}

bool hwi_scope_events_end(const struct hwi_scopes *scopes, const struct hwi_block_sink *sink, uint32_t image,
                          uint32_t thread)
{
  const uint32_t open = hwi_scopes_depth(scopes, thread);
  const struct hwi_scope_event ends = {.ns = open ? hwi_scopes_latest_ns(scopes, thread) : 0,
                                       .thread = thread,
                                       .image = image,
                                       .ended = open,
                                       .left = open,
                                       .op = HW_SCOPE_END};
  return !open || sink->take_scope(sink->context, &ends);
}
