/* export.c - the table of formats, and the data that they need for a request */
#include "export/export.h"

#include <stdlib.h>
#include <string.h>

#include "base/suffix.h"
#include "export/compression.h"
#include "report/content/evidence.h"
#include "report/selection/entries.h"
#include "report/selection/leaks.h"

/* --- the formats --- */

const struct hwi_export_format *const hwi_export_formats[] = {
    &hwi_export_pprof,
    &hwi_export_folded,
    &hwi_export_speedscope,
    &hwi_export_heaptrack,
    &hwi_export_massif,
    &hwi_export_sqlite,
    &hwi_export_csv,
    &hwi_export_chrome,
    &hwi_export_dhat,
    &hwi_export_heaplog,
    &hwi_export_callgrind,
    &hwi_export_heapprof,
    NULL,
};

const struct hwi_export_format *hwi_export_format_named(const char *name)
{
  for (const struct hwi_export_format *const *format = hwi_export_formats; *format; format++) {
    if (strcmp((*format)->name, name) == 0)
      return *format;
  }
  return NULL;
}

static const struct hwi_export_format *format_ending(const char *path, size_t bytes)
{
  for (const struct hwi_export_format *const *format = hwi_export_formats; *format; format++) {
    for (const char *const *suffix = (*format)->suffixes; *suffix; suffix++) {
      if (hwi_has_suffix(path, bytes, *suffix))
        return *format;
    }
  }
  return NULL;
}

const struct hwi_export_format *hwi_export_format_of(const char *path)
{
  const struct hwi_export_format *format = format_ending(path, strlen(path));
  return format ? format : format_ending(path, hwi_compression_stem(path));
}

/* --- for the formats --- */

const char *hwi_export_entry_name(uint8_t entry)
{
  return entry > HW_ENTRY_NONE && entry < HW_ENTRY_COUNT ? hwi_entry_name(entry) : "?";
}

const char *hwi_export_command(const struct hwi_export *export)
{
  const struct hwi_image *image = hwi_largest_image(export->profile, NULL);
  return image && image->info->command ? image->info->command : "";
}

void hwi_export_title(struct hwi_line *line, const struct hwi_export *export)
{
  hwi_line_puts(line, hwi_export_command(export));
  if (export->profile->sample_bytes)
    hwi_line_printf(line, " (estimates: sampled, one allocation per %s)",
                    hwi_binary_bytes_text(export->profile->sample_bytes).text);
}

uint32_t hwi_export_pid(const struct hwi_export *export)
{
  const struct hwi_image *image = hwi_largest_image(export->profile, NULL);
  return image ? image->info->header.pid : 0;
}

struct events {
  struct hwi_export *export;
  const struct hwi_block_sink *sink;
};

static bool is_chosen(const struct hwi_export *export, const struct hwi_block_event *event)
{
  if (event->stack == 0 || event->stack >= export->profile->stack_count ||
      event->owner >= export->profile->thread_count)
    return false;
  return export->is_chosen[event->stack] &&
         hwi_narrowing_keeps(&export->selection.narrowing,
                             &(struct hwi_narrowing_block){event->owner, event->stack, event->scope, event->size});
}

static bool take(void *context, const struct hwi_block_event *event)
{
  struct events *events = context;
  return !is_chosen(events->export, event) || events->sink->take(events->sink->context, event);
}

static bool take_scope(void *context, const struct hwi_scope_event *event)
{
  const struct events *events = context;
  return event->thread >= events->export->profile->thread_count ||
         !hwi_narrowing_keeps_thread(&events->export->selection.narrowing, event->thread) ||
         events->sink->take_scope(events->sink->context, event);
}

int hwi_export_events(struct hwi_export *export, const struct hwi_block_sink *sink, struct hwi_error *error)
{
  const struct hwi_report_options *options = &export->request->report.options;
  int status = hwi_need_all_events(export->profile, "this format", error);
  if (status < 0)
    return status;
  struct events events = {export, sink};
  const struct hwi_block_sink choosing = {take, &events, sink->take_scope ? take_scope : NULL, sink->wants_texts};
  bool filtered = export->selection.narrowing.rule_count > 0 || options->leaks || options->min_calls > 1;
  return hwi_replayer_run(&export->request->report.replayer, export->profile, filtered ? &choosing : sink, error);
}

/* --- the whole --- */

static int choose(struct hwi_export *export, struct hwi_error *error)
{
  const struct hwi_report *report = &export->request->report;
  struct hwi_runtime_blocks runtime = {.frames = &export->frames};
  struct hwi_stack_filter leaks = {hwi_runtime_blocks_keep, &runtime};
  int status = hwi_selection_init(&export->selection, report, report->options.leaks ? &leaks : NULL, error);
  if (status < 0)
    return status;
  export->is_chosen = calloc((size_t) export->profile->stack_count + 1, sizeof *export->is_chosen);
  if (!export->is_chosen)
    return hwi_export_no_memory(error);
  for (uint32_t i = 0; i < export->selection.stack_count; i++)
    export->is_chosen[export->selection.stacks[i]] = true;
  hwi_selection_remark(&export->request->remarks, &export->selection);
  return HW_OK;
}

int hwi_export_write(const struct hwi_export_format *format, struct hwi_export_request *request,
                     struct hwi_error *error)
{
  struct hwi_export export = {.request = request,
                              .profile = request->report.profile,
                              .cost = hwi_report_cost(&request->report.options, request->report.profile),
                              .out = request->out};
  if (format->needs_all_events && export.profile->sample_bytes)
    return hwi_error_set(
        error, HW_ERR_USAGE,
        "%s lists single calls, and the recording is sampled: it has few of them. Record without --sample, "
        "or export to a format with figures, such as pprof or folded",
        format->name);
  int status = hwi_named_frames_init(&export.frames, &request->report, error);
  if (status == HW_OK)
    status = choose(&export, error);
  if (status == HW_OK && !format->without_names)
    status = hwi_sites_init(&export.sites, &export.frames, &export.selection, error);
  if (status == HW_OK)
    status = format->write(&export, error);
  hwi_sites_release(&export.sites);
  free(export.is_chosen);
  hwi_selection_release(&export.selection);
  hwi_named_frames_release(&export.frames);
  return status;
}
