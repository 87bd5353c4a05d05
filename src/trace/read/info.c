/* info.c - collects the facts of a trace about the program and the recording */
#include <stdlib.h>
#include <string.h>

#include "trace/read/alive.h"
#include "trace/read/trace.h"

static bool needs_quotes(const char *word)
{
  return !*word ||
         strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./-_") != strlen(word);
}

/* Appends `word`, quoted for a shell if necessary; `to` has room for 4 bytes per character and 3 more. Returns the new
 * end. */
static char *quote(char *to, const char *word)
{
  if (!needs_quotes(word)) {
    size_t bytes = strlen(word);
    memcpy(to, word, bytes);
    return to + bytes;
  }
  *to++ = '\'';
  for (; *word; word++) {
    if (*word == '\'') {
      memcpy(to, "'\\'", 3);
      to += 3;
    }
    *to++ = *word;
  }
  *to++ = '\'';
  return to;
}

static char *join_command(const struct hwi_definition_text *text)
{
  char *joined = malloc(text->count * 4 + 3 * (text->count + 1) + 1), *to = joined;
  if (!joined)
    return NULL;
  for (size_t at = 0; at < text->count; at += strlen(text->bytes + at) + 1) {
    if (at)
      *to++ = ' ';
    to = quote(to, text->bytes + at);
  }
  *to = 0;
  return joined;
}

static const char **list_environment(const struct hwi_definition_text *text)
{
  size_t count = 0;
  for (size_t at = 0; at < text->count; at += strlen(text->bytes + at) + 1)
    count++;
  const char **list = calloc(count + 1, sizeof *list);
  count = 0;
  for (size_t at = 0; list && at < text->count; at += strlen(text->bytes + at) + 1)
    list[count++] = text->bytes + at;
  return list;
}

static uint64_t max(uint64_t a, uint64_t b)
{
  return a > b ? a : b;
}

static uint64_t duration(const struct hwi_trace *trace)
{
  const struct hw_trace_header *header = &trace->header;
  uint64_t tool_ns = trace->info.being_written ? trace->tool.last_ns : trace->tool.last_sign_ns;
  if (tool_ns > trace->replaced_ns)
    tool_ns = trace->replaced_ns;
  uint64_t ns = max(tool_ns, trace->last_tick ? hwi_clock_tick_ns(&trace->clock, trace->last_tick) : 0);
  if (header->last.monotonic_ns > header->start.monotonic_ns)
    ns = max(ns, header->last.monotonic_ns - header->start.monotonic_ns);
  return ns < HWI_TRACE_LATEST_NS ? ns : HWI_TRACE_LATEST_NS;
}

static uint64_t silent_from(const struct hwi_trace *trace)
{
  uint32_t state = trace->header.state;
  if (state == HW_STATE_SAVED)
    return trace->info.duration_ns; /* a conversion of stop_clock may differ by a nanosecond */
  if (state < HW_STATE_STOPPED_LIMIT || state > HW_STATE_STOPPED_MEMORY)
    return UINT64_MAX;
  return hwi_clock_unit_ns(&trace->clock, trace->header.stop_clock);
}

/* Counts the samples of before the image was replaced; samples are in order. */
static uint64_t own_rss_count(const struct hwi_trace *trace)
{
  uint64_t count = trace->tool.rss_count;
  while (count > 0 && trace->tool.rss[count - 1].ns > trace->replaced_ns)
    count--;
  return count;
}

static uint32_t as_count(uint64_t end)
{
  return end < UINT32_MAX ? (uint32_t)end : UINT32_MAX;
}

void hwi_trace_info_update(struct hwi_trace *trace)
{
  const struct hwi_definitions *d = trace->definitions;
  struct hwi_trace_info *info = &trace->info;
  if (!trace->command && d->command.bytes && !(trace->command = join_command(&d->command)))
    trace->definitions->no_memory = true;
  if (!trace->environment && d->environment.bytes && !(trace->environment = list_environment(&d->environment)))
    trace->definitions->no_memory = true;
  static const char *const no_environment[] = {NULL};
  info->header = trace->header;
  info->path = trace->shown_path ? trace->shown_path : trace->path;
  info->command = trace->command ? trace->command : "";
  info->exe = d->exe.bytes ? d->exe.bytes : "";
  info->cwd = d->cwd.bytes ? d->cwd.bytes : "";
  info->environment = trace->environment ? (const char *const *)trace->environment : no_environment;
  info->marks = trace->tool.marks;
  info->mark_count = as_count(trace->tool.mark_count);
  info->rss = trace->tool.rss;
  info->rss_count = as_count(own_rss_count(trace));
  info->exit = trace->tool.has_exit ? &trace->tool.exit : NULL;
  info->rss_peak_bytes = max(trace->header.rss_peak_bytes, d->rss_peak_bytes);
  info->clock_cost_ns = hwi_clock_span_ns(&trace->clock, trace->header.clock_cost);
  info->notes = d->notes;
  info->note_count = as_count(d->note_count);
  info->duration_ns = duration(trace);
  info->node_count = as_count(d->first_node + (uint64_t)d->node_count);
  info->module_count = as_count(d->first_module + (uint64_t)d->module_count);
  info->thread_count = d->thread_end;
  info->children_unseen = as_count(trace->tool.children_unseen + (uint64_t)trace->header.children_unseen);
  info->ended = d->exited || trace->header.state == HW_STATE_EXITED;
  info->dropped_until_ns = trace->base.from_tick ? hwi_clock_tick_ns(&trace->clock, trace->base.from_tick) : 0;
  info->dropped_calls = trace->base.about.calls;
  info->silent_from_ns = silent_from(trace);
  info->damaged_chunks = trace->index.damaged;
  info->first_damage_off = trace->index.first_damage;
  info->missing_chunks = trace->source.missing_chunks;
  info->raw_event_bytes = trace->source.event_bytes;
}

void hwi_trace_set_replaced(struct hwi_trace *trace, uint64_t ns)
{
  trace->replaced_ns = ns;
  hwi_trace_info_update(trace);
}

void hwi_trace_info_release(struct hwi_trace *trace)
{
  free(trace->command);
  free(trace->environment);
  trace->command = NULL;
  trace->environment = NULL;
}
