/* tune_output.c - prints the recommended pool: as text and as JSON */
#include <inttypes.h>

#include "report/json/json.h"
#include "tune/tune.h"
#include "tune/tune_text.h"

#define SCHEMA "heapwright-tune/1"

/* --- text: the variable, the parts of its size, and how it was tested --- */

enum { AMOUNT_CELLS = HWI_TUNE_AMOUNT_CELLS, GAP_CELLS = HWI_TUNE_GAP_CELLS, ROWS_MAX = 10 };

static void print_parts(struct hwi_text *text, const struct hwi_tune *tune, const struct hwi_tuned *tuned)
{
  struct hwi_line margin = {0};
  hwi_line_printf(&margin, "margin (--margin %" PRIu64 "%%), and whole pages", tune->margin_percent);
  hwi_tune_print_part(text, tuned->figures.asked_bytes, tuned->pool_bytes, "requested by the program, at the peak");
  hwi_tune_print_part(text, hwi_tuned_rounding(tuned), tuned->pool_bytes,
                      "rounding: headers of 8 bytes, steps of 16, alignment");
  hwi_tune_print_part(text, hwi_tuned_fragmentation(tuned), tuned->pool_bytes, "fragmentation: holes between blocks");
  hwi_tune_print_part(text, tuned->figures.tables_bytes, tuned->pool_bytes, "the pool's tables");
  hwi_tune_print_part(text, hwi_tuned_margin(tuned), tuned->pool_bytes, hwi_line_text(&margin));
  hwi_line_release(&margin);
}

static void add_process(struct hwi_line *line, const struct hwi_tuned *tuned)
{
  const struct hwi_trace_info *info = tuned->image->info;
  hwi_line_printf(line, "%" PRIu32 "  ", info->header.pid);
  hwi_line_clean(line, info->command && *info->command ? info->command : info->exe ? info->exe : "?");
}

/* Adds the process, truncated to the rest of the line. */
static void end_with_process(struct hwi_text *text, const struct hwi_tuned *tuned)
{
  struct hwi_line name = {0};
  size_t used = hwi_cells(hwi_line_text(&text->line));
  add_process(&name, tuned);
  hwi_line_shorten(&text->line, hwi_line_text(&name), text->style->columns > used ? text->style->columns - used : 1,
                   hwi_style_ellipsis(text->style));
  hwi_line_release(&name);
  hwi_text_end(text, HWI_PLAIN);
}

static void print_processes(struct hwi_text *text, const struct hwi_tune *tune)
{
  static const char *const titles[] = {"pool", "asked for", "rounding", "fragments", "margin"};
  for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
    hwi_line_right(&text->line, titles[i], AMOUNT_CELLS);
  hwi_line_puts(&text->line, "  process");
  hwi_text_end(text, HWI_DIM);
  for (size_t i = 0; i < tune->count && i < ROWS_MAX; i++) {
    const struct hwi_tuned *tuned = &tune->processes[i];
    const uint64_t amounts[] = {tuned->pool_bytes, tuned->figures.asked_bytes, hwi_tuned_rounding(tuned),
                                hwi_tuned_fragmentation(tuned), hwi_tuned_margin(tuned)};
    for (size_t k = 0; k < sizeof amounts / sizeof *amounts; k++)
      hwi_line_right(&text->line, hwi_bytes_text(amounts[k]).text, AMOUNT_CELLS);
    hwi_line_repeat(&text->line, " ", GAP_CELLS);
    end_with_process(text, tuned);
  }
  if (tune->count > ROWS_MAX) {
    hwi_line_repeat(&text->line, " ", AMOUNT_CELLS + GAP_CELLS);
    hwi_line_printf(&text->line, "and %s more, which need less (--json has them all)",
                    hwi_count_text(tune->count - ROWS_MAX).text);
    hwi_text_end(text, HWI_PLAIN);
  }
}

/* Prints why the recording may not cover the whole run. */
static void print_doubts(struct hwi_text *text, const struct hwi_tune *tune)
{
  uint32_t heirs = 0;
  for (size_t i = 0; i < tune->count; i++)
    heirs += tune->processes[i].inherits_unknown;
  hwi_tune_print_doubt(text, HWI_TUNE_POOL_DOUBT);
  if (heirs) {
    hwi_line_counted(&text->line, heirs, "process");
    hwi_line_puts(&text->line,
                  " started as a fork and inherited blocks of a parent that is not in this list: --children "
                  "includes these parents.");
    hwi_text_end_wrapped(text, 0, HWI_ALARM);
  }
}

int hwi_tune_text(const struct hwi_tune *tune, const struct hwi_style *style, struct hwi_error *error)
{
  const struct hwi_tuned *largest = tune->processes;
  struct hwi_text text = {.profile = tune->profile, .style = style};
  hwi_line_printf(&text.line, "HEAPWRIGHT_POOL_SIZE=%" PRIu64, largest->pool_bytes);
  if (tune->count > 1)
    hwi_line_printf(&text.line, "   the largest of %s processes", hwi_count_text(tune->count).text);
  hwi_text_end(&text, HWI_BOLD);
  hwi_text_blank(&text);
  print_parts(&text, tune, largest);
  hwi_text_blank(&text);
  if (tune->count > 1) {
    print_processes(&text, tune);
    hwi_text_blank(&text);
  }
  uint64_t requests = 0;
  for (size_t i = 0; i < tune->count; i++)
    requests += tune->processes[i].figures.request_count;
  hwi_line_puts(&text.line, "All ");
  hwi_line_counted(&text.line, requests, "request");
  hwi_line_printf(&text.line, " of the recording were replayed on %s of exactly this size, which did not grow.",
                  tune->count > 1 ? "pools" : "a pool");
  hwi_text_end_wrapped(&text, 0, HWI_PLAIN);
  print_doubts(&text, tune);
  bool failed = text.line.failed;
  hwi_line_release(&text.line);
  return failed ? hwi_error_set(error, HW_ERR_MEMORY, "no memory to print the answer") : HW_OK;
}

/* --- JSON --- */

static void write_process(struct hwi_json *json, const struct hwi_tuned *tuned)
{
  const struct hwi_trace_info *info = tuned->image->info;
  hwi_json_begin_object(json, NULL);
  hwi_json_text(json, "command", info->command);
  hwi_json_number(json, "pid", info->header.pid);
  hwi_json_text(json, "trace", info->path);
  hwi_json_number(json, "pool_bytes", tuned->pool_bytes);
  hwi_json_number(json, "asked_bytes", tuned->figures.asked_bytes);
  hwi_json_number(json, "rounding_bytes", hwi_tuned_rounding(tuned));
  hwi_json_number(json, "fragmentation_bytes", hwi_tuned_fragmentation(tuned));
  hwi_json_number(json, "tables_bytes", tuned->figures.tables_bytes);
  hwi_json_number(json, "margin_bytes", hwi_tuned_margin(tuned));
  hwi_json_number(json, "requests", tuned->figures.request_count);
  hwi_json_bool(json, "inherits_unknown", tuned->inherits_unknown);
  hwi_json_end_object(json);
  fputc('\n', json->out);
}

int hwi_tune_json(const struct hwi_tune *tune, FILE *out, struct hwi_error *error)
{
  struct hwi_json json = {.out = out, .first = true};
  hwi_json_begin_object(&json, NULL);
  hwi_json_text(&json, "schema", SCHEMA);
  hwi_json_number(&json, "pool_bytes", tune->processes->pool_bytes);
  hwi_json_number(&json, "margin_percent", tune->margin_percent);
  hwi_json_number(&json, "replays", tune->passes);
  hwi_json_bool(&json, "whole_run", hwi_tune_is_whole(tune->profile));
  hwi_json_begin_array(&json, "processes");
  for (size_t i = 0; i < tune->count; i++)
    write_process(&json, &tune->processes[i]);
  hwi_json_end_array(&json);
  hwi_json_end_object(&json);
  fputc('\n', out);
  return json.failed ? hwi_error_set(error, HW_ERR_MEMORY, "no memory: the answer is not complete") : HW_OK;
}
