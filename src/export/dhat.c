/* dhat.c - DHAT's JSON, version 2, as its viewer (dh_view.html) reads it
 *
 * A program point in DHAT is a stack here. Its first frame is the called entry point, so that stacks that differ only
 * in that stay separate: the viewer does not accept a stack twice. Times are in microseconds. There are no counts of
 * accesses.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "export/export.h"
#include "report/json/json.h"

enum { NS_PER_US = 1000, SHORT_LIVED_US = 500 };

struct point {
  struct hwi_live_sum live;
  uint64_t most_bytes, most_blocks; /* blocks: those at the time of the most bytes */
  uint64_t lifetimes_us;            /* the sum */
};

struct dhat {
  struct hwi_json json;
  struct hwi_export *export;
  struct point *points; /* by stack */
  bool begun;           /* whether the span has begun */
  bool failed;          /* no memory */
};

/* --- events --- */

/* Blocks allocated before the span count as allocated at its begin. */
static void begin_span(struct dhat *to)
{
  uint64_t from_us = hwi_export_from_ns(to->export) / NS_PER_US;
  for (uint32_t stack = 0; stack < to->export->profile->stack_count; stack++) {
    struct point *point = &to->points[stack];
    point->lifetimes_us = 0 - point->live.blocks * from_us;
    point->most_bytes = point->live.bytes;
    point->most_blocks = point->live.blocks;
  }
  to->begun = true;
}

/* The sum of the lifetimes of a stack's blocks is the sum of their ends minus the sum of their births, in any order. It
 * may be negative in between (modulo 2^64). */
static bool take(void *context, const struct hwi_block_event *event)
{
  struct dhat *to = context;
  struct point *point = &to->points[event->stack];
  if (!to->begun && event->ns >= hwi_export_from_ns(to->export))
    begin_span(to);
  hwi_live_sum_count(&point->live, event);
  if (event->kind == HWI_BLOCK_ALLOC) {
    point->lifetimes_us -= event->weight * (event->ns / NS_PER_US);
    if (point->live.bytes > point->most_bytes) {
      point->most_bytes = point->live.bytes;
      point->most_blocks = point->live.blocks;
    }
  } else if (hwi_block_is_end(event)) {
    point->lifetimes_us += event->weight * (event->ns / NS_PER_US);
  }
  return true;
}

/* --- the document --- */

/* Writes "[root]", the entry points, then the functions of the sites. */
static void write_frames(struct dhat *to)
{
  struct hwi_json *json = &to->json;
  struct hwi_line name = {0}, text = {0};
  hwi_json_begin_array(json, "ftbl");
  hwi_json_text(json, NULL, "[root]");
  for (uint8_t entry = 0; entry < HW_ENTRY_COUNT; entry++)
    hwi_json_text(json, NULL, hwi_export_entry_name(entry));
  for (uint32_t i = 1; i <= to->export->sites.count; i++) {
    const struct hwi_site *site = &to->export->sites.items[i];
    for (uint32_t k = 0; k < site->symbol_count; k++) {
      hwi_line_clear(&text);
      hwi_line_printf(&text, "0x%" PRIX64 ": ", site->cut ? 0 : site->address);
      hwi_line_puts(&text, hwi_site_function(&to->export->sites, site, k, &name));
      if (hwi_site_file(site, k)[0] != '\0')
        hwi_line_printf(&text, " (%s:%u)", hwi_base_name(hwi_site_file(site, k)), hwi_site_line(site, k));
      else
        hwi_line_printf(&text, " (in %s)", hwi_module_path(to->export->profile, site->module));
      hwi_json_text(json, NULL, hwi_line_text(&text));
      fputc('\n', json->out);
    }
  }
  hwi_json_end_array(json);
  to->failed |= text.failed || name.failed;
  hwi_line_release(&name);
  hwi_line_release(&text);
}

static int write_point(struct dhat *to, uint32_t stack, struct hwi_error *error)
{
  struct hwi_json *json = &to->json;
  const struct hwi_amount *amount = &to->export->selection.amounts[stack];
  const struct point *point = &to->points[stack];
  uint64_t end_us = hwi_export_end_ns(to->export) / NS_PER_US; /* unfreed blocks live until then */
  int status = hwi_sites_load(&to->export->sites, stack, error);
  hwi_json_begin_object(json, NULL);
  hwi_json_number(json, "tb", amount->bytes);
  hwi_json_number(json, "tbk", amount->calls);
  hwi_json_number(json, "tl", point->lifetimes_us + point->live.blocks * end_us);
  hwi_json_number(json, "mb", point->most_bytes);
  hwi_json_number(json, "mbk", point->most_blocks);
  hwi_json_number(json, "gb", amount->peak_bytes);
  hwi_json_number(json, "gbk", amount->peak_blocks);
  hwi_json_number(json, "eb", amount->live_bytes);
  hwi_json_number(json, "ebk", amount->live_blocks);
  hwi_json_begin_array(json, "fs");
  hwi_json_number(json, NULL, 1u + to->export->profile->stacks[stack].entry);
  for (uint32_t i = 0; i < to->export->sites.path_count; i++) {
    const struct hwi_site *site = hwi_site_of(&to->export->sites, to->export->sites.path[i]);
    for (uint32_t k = 0; k < site->symbol_count; k++)
      hwi_json_number(json, NULL, HW_ENTRY_COUNT + site->first_function + k);
  }
  hwi_json_end_array(json);
  hwi_json_end_object(json);
  fputc('\n', json->out);
  return status;
}

static int write_document(struct dhat *to, struct hwi_error *error)
{
  struct hwi_json *json = &to->json;
  const struct hwi_profile *profile = to->export->profile;
  const struct hwi_selection *selection = &to->export->selection;
  int status = HW_OK;
  hwi_json_begin_object(json, NULL);
  hwi_json_number(json, "dhatFileVersion", 2);
  hwi_json_text(json, "mode", "heap");
  hwi_json_text(json, "verb", "Allocated");
  hwi_json_bool(json, "bklt", true);
  hwi_json_bool(json, "bkacc", false);
  hwi_json_text(json, "tu", "µs");
  hwi_json_text(json, "Mtu", "s");
  hwi_json_number(json, "tuth", SHORT_LIVED_US);
  struct hwi_line title = {0};
  hwi_export_title(&title, to->export);
  hwi_json_text(json, "cmd", hwi_line_text(&title));
  hwi_line_release(&title);
  hwi_json_number(json, "pid", hwi_export_pid(to->export));
  hwi_json_number(json, "te", hwi_export_end_ns(to->export) / NS_PER_US);
  hwi_json_number(json, "tg", profile->totals.peak_time_ns / NS_PER_US);
  write_frames(to);
  hwi_json_begin_array(json, "pps");
  for (uint32_t i = 0; i < selection->stack_count && status == HW_OK; i++)
    status = write_point(to, selection->stacks[i], error);
  hwi_json_end_array(json);
  hwi_json_end_object(json);
  fputc('\n', json->out);
  return status == HW_OK && (to->failed || json->failed) ? hwi_export_no_memory(error) : status;
}

/* A moment has no events, only live blocks. */
static void take_moment(struct dhat *to)
{
  const struct hwi_selection *selection = &to->export->selection;
  for (uint32_t i = 0; i < selection->stack_count; i++) {
    const struct hwi_amount *amount = &selection->amounts[selection->stacks[i]];
    struct point *point = &to->points[selection->stacks[i]];
    point->live.bytes = amount->live_bytes;
    point->live.blocks = amount->live_blocks;
  }
  begin_span(to);
}

static int count_events(struct dhat *to, struct hwi_error *error)
{
  struct hwi_block_sink sink = {.take = take, .context = to};
  to->points = calloc((size_t)to->export->profile->stack_count + 1, sizeof *to->points);
  if (!to->points)
    return hwi_export_no_memory(error);
  if (to->export->profile->span.kind == HWI_SPAN_MOMENT) {
    take_moment(to);
    return HW_OK;
  }
  int status = hwi_export_events(to->export, &sink, error);
  if (!to->begun)
    begin_span(to);
  return status;
}

static int write_dhat(struct hwi_export *export, struct hwi_error *error)
{
  struct dhat to = {.json = {.out = export->out, .first = true}, .export = export};
  int status = count_events(&to, error);
  if (status == HW_OK)
    status = write_document(&to, error);
  free(to.points);
  return status;
}

const struct hwi_export_format hwi_export_dhat = {
    .name = "dhat",
    .suffixes = (const char *const[]){".dhat.json", ".dhat", NULL},
    .summary = "DHAT's JSON, for dh_view.html",
    .write = write_dhat,
};
