/* scope_slices.c - scopes as slices in Chrome's trace events, each with what was done in it by size */
#include "export/scope_slices.h"

#include "export/trace_events.h"

static bool is_written(const struct hwi_scope_slices *slices, uint32_t path)
{
  return slices->begun && path < slices->profile->scope_count && hwi_narrowing_keeps_path(slices->narrowing, path);
}

static void begin_event(const struct hwi_scope_slices *slices, const char *phase, uint32_t thread_number, uint32_t path,
                        uint64_t ns)
{
  const struct hwi_profile *profile = slices->profile;
  const struct hwi_profile_thread *thread = &profile->threads[thread_number];
  hwi_trace_event_begin(slices->json, phase, profile->scopes[path].name, ns);
  hwi_json_text(slices->json, "cat", "scope");
  hwi_json_number(slices->json, "pid", hwi_trace_event_pid(profile, thread->image));
  hwi_json_number(slices->json, "tid", thread->tid);
}

static void put_begin(const struct hwi_scope_slices *slices, const struct hwi_scope_event *event)
{
  const bool has_number = event->op == HW_SCOPE_BEGIN_NUMBER, is_forbidden = event->op == HW_SCOPE_BEGIN_FORBIDDEN;
  begin_event(slices, "B", event->thread, event->path, event->ns);
  if (has_number || is_forbidden || event->text) {
    hwi_json_begin_object(slices->json, "args");
    if (has_number)
      hwi_json_number(slices->json, "number", event->value);
    if (is_forbidden)
      hwi_json_bool(slices->json, "forbidden", true);
    if (event->text)
      hwi_json_text(slices->json, "text", event->text);
    hwi_json_end_object(slices->json);
  }
  hwi_trace_event_end(slices->json);
}

static void put_end(const struct hwi_scope_slices *slices, uint32_t thread, const struct hwi_open_scope *scope,
                    uint64_t ns, bool was_left)
{
  struct hwi_json *json = slices->json;
  begin_event(slices, "E", thread, scope->path, ns > slices->from_ns ? ns : slices->from_ns);
  hwi_json_begin_object(json, "args");
  hwi_json_begin_object(json, "Memory(size,count)");
  hwi_trace_event_sizes(json, &scope->sizes);
  hwi_json_signed(json, "TOTAL", scope->self_bytes);
  hwi_json_signed(json, "CHILDREN", scope->inside_bytes);
  hwi_json_end_object(json);
  if (was_left)
    hwi_json_bool(json, "left_open", true);
  hwi_json_end_object(json);
  hwi_trace_event_end(json);
}

/* Ends the thread's innermost scope. Returns false if it has none. */
static bool end(struct hwi_scope_slices *slices, uint32_t thread, uint64_t ns, bool was_left)
{
  struct hwi_open_scope scope;
  if (!hwi_open_scopes_end(&slices->open, thread, &scope))
    return false;
  if (is_written(slices, scope.path))
    put_end(slices, thread, &scope, ns, was_left);
  hwi_open_scope_release(&scope);
  return true;
}

bool hwi_scope_slices_take(struct hwi_scope_slices *slices, const struct hwi_scope_event *event)
{
  if (event->thread >= slices->profile->thread_count)
    return true;
  for (uint32_t i = 0; i < event->ended; i++)
    end(slices, event->thread, event->ns, i < event->left);
  if (event->ended > 0)
    return true;
  if (is_written(slices, event->path))
    put_begin(slices, event);
  return hwi_open_scopes_begin(&slices->open, event, !slices->begun);
}

void hwi_scope_slices_begin_span(struct hwi_scope_slices *slices, uint64_t ns)
{
  slices->begun = true;
  slices->from_ns = ns;
  hwi_open_scopes_restart(&slices->open);
  for (uint32_t thread = 0; thread < slices->open.thread_count; thread++)
    for (size_t i = 0; i < slices->open.threads[thread].count; i++) {
      const struct hwi_open_scope *scope = &slices->open.threads[thread].items[i];
      if (is_written(slices, scope->path))
        put_begin(slices, &(struct hwi_scope_event){.ns = ns,
                                                    .value = scope->value,
                                                    .path = scope->path,
                                                    .thread = thread,
                                                    .op = scope->op,
                                                    .text = scope->text});
    }
}

void hwi_scope_slices_end_span(struct hwi_scope_slices *slices, uint64_t ns)
{
  for (uint32_t thread = 0; thread < slices->open.thread_count; thread++)
    while (end(slices, thread, ns, false))
      ;
}
