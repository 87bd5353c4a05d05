/* check_output.c - verdicts as text, as JSON, and as JUnit XML */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/command_name.h"
#include "compare/blame.h"
#include "profile/blocks/sample.h"
#include "report/content/evidence.h"
#include "report/json/frames.h"
#include "report/text/frames.h"

/* --- text: a line per rule, and the blamed stacks below those that failed --- */

enum { STATE_CELLS = 9, RULE_CELLS_MAX = 40, GAP_CELLS = 2 };

struct printer {
  struct hwi_check *check;
  struct hwi_text text;
  struct hwi_text_frames frames;
  size_t rule_cells;
};

static void print_verdict(struct printer *printer, const struct hwi_verdict *verdict)
{
  struct hwi_line *line = &printer->text.line, rule = {0};
  hwi_line_left(line, hwi_verdict_word(verdict->state), STATE_CELLS);
  hwi_line_clean(&rule, verdict->budget->text);
  hwi_line_left(line, hwi_line_text(&rule), printer->rule_cells);
  hwi_line_repeat(line, " ", GAP_CELLS);
  hwi_line_release(&rule);
  hwi_verdict_add_figures(line, verdict);
  hwi_text_end_wrapped(&printer->text, STATE_CELLS, verdict->state == HWI_VERDICT_OK ? HWI_PLAIN : HWI_ALARM);
}

static void print_note(struct printer *printer, const char *note)
{
  hwi_line_repeat(&printer->text.line, " ", STATE_CELLS);
  hwi_line_clean(&printer->text.line, note);
  hwi_text_end_wrapped(&printer->text, STATE_CELLS, HWI_PLAIN);
}

/* Prints one stack: its part of the figure, then its frames. */
static int print_stack(struct printer *printer, const struct hwi_verdict *verdict, const struct hwi_blames *blames,
                       size_t number, struct hwi_error *error)
{
  const struct hwi_blame *blame = &blames->items[number];
  uint64_t part = verdict->growth ? blame->growth : blame->figure;
  enum hwi_unit unit = hwi_metric_unit(verdict->budget->metric);
  printer->text.cost = unit == HWI_UNIT_BYTES ? HWI_COST_BYTES : HWI_COST_CALLS;
  if (unit == HWI_UNIT_NS)
    hwi_line_printf(&printer->text.line, "%3zu %11s   the slowest", number + 1, hwi_short_time_text(part).text);
  else
    hwi_text_cost(&printer->text, number + 1, part, blames->whole);
  if (verdict->growth)
    hwi_line_puts(&printer->text.line, "   more than in the baseline");
  hwi_text_end(&printer->text, HWI_BOLD);
  return hwi_text_frames_print(&printer->frames, blame->stack, error);
}

static int print_blame(struct printer *printer, const struct hwi_verdict *verdict, struct hwi_error *error)
{
  struct hwi_blames blames;
  int status = hwi_blames_init(&blames, printer->check, verdict, error);
  printer->frames.columns = (struct hwi_frame_columns){0};
  for (size_t i = 0; i < blames.count && status == HW_OK; i++)
    status = hwi_text_frames_measure(&printer->frames, blames.items[i].stack, error);
  hwi_text_frames_fit(&printer->frames);
  for (size_t i = 0; i < blames.count && status == HW_OK; i++)
    status = print_stack(printer, verdict, &blames, i, error);
  hwi_blames_release(&blames);
  return status;
}

static int print_all(struct printer *printer, struct hwi_error *error)
{
  const struct hwi_check *check = printer->check;
  int status = HW_OK;
  for (size_t i = 0; i < check->budgets->count && status == HW_OK; i++) {
    const struct hwi_verdict *verdict = &check->verdicts[i];
    print_verdict(printer, verdict);
    if (verdict->why)
      print_note(printer, verdict->why);
    for (size_t k = 0; k < verdict->note_count; k++)
      print_note(printer, verdict->notes[k]);
    if (verdict->state == HWI_VERDICT_FAILED)
      status = print_blame(printer, verdict, error);
  }
  return status;
}

int hwi_check_text(struct hwi_check *check, const struct hwi_style *style, struct hwi_error *error)
{
  struct printer printer = {.check = check};
  printer.text = (struct hwi_text){.report = &check->report, .profile = check->report.profile, .style = style};
  for (size_t i = 0; i < check->budgets->count; i++) {
    size_t cells = strlen(check->budgets->items[i].text);
    if (cells > printer.rule_cells && cells <= RULE_CELLS_MAX)
      printer.rule_cells = cells;
  }
  hwi_text_frames_init(&printer.frames, &printer.text, &check->frames);
  int status = print_all(&printer, error);
  hwi_text_frames_release(&printer.frames);
  hwi_line_release(&printer.text.line);
  return status;
}

/* --- JSON --- */

#define SCHEMA "heapwright-check/1"

static const char *const states[] = {"ok", "failed", "unknown"}; /* by enum hwi_verdict_state */

struct writer {
  struct hwi_json json;
  struct hwi_check *check;
  struct hwi_json_frames frames;
};

static void write_blame(struct writer *writer, const struct hwi_verdict *verdict)
{
  struct hwi_json *json = &writer->json;
  struct hwi_blames blames = {0};
  if (verdict->state == HWI_VERDICT_FAILED)
    json->failed |= hwi_blames_init(&blames, writer->check, verdict, NULL) < 0;
  hwi_json_begin_array(json, "stacks");
  for (size_t i = 0; i < blames.count; i++) {
    hwi_json_begin_object(json, NULL);
    hwi_json_number(json, "figure", blames.items[i].figure);
    if (verdict->growth)
      hwi_json_number(json, "growth", blames.items[i].growth);
    hwi_json_begin_array(json, "stack");
    hwi_json_frames_write(&writer->frames, json, blames.items[i].stack);
    hwi_json_end_array(json);
    hwi_json_end_object(json);
  }
  hwi_json_end_array(json);
  hwi_blames_release(&blames);
}

static void write_verdict(struct writer *writer, const struct hwi_verdict *verdict)
{
  struct hwi_json *json = &writer->json;
  hwi_json_begin_object(json, NULL);
  hwi_json_text(json, "rule", verdict->budget->text);
  hwi_json_text(json, "verdict", states[verdict->state]);
  hwi_json_text(json, "figure_of", hwi_budget_figure_name(verdict->budget));
  hwi_json_number(json, "figure", verdict->measure->figure);
  if (verdict->measure->is_estimate)
    hwi_json_bool(json, "estimated", true);
  if (verdict->measure->is_estimate && verdict->measure->variance > 0)
    hwi_json_number(json, "figure_error", hwi_sample_error(verdict->measure->variance));
  hwi_json_number(json, "limit", verdict->limit);
  if (verdict->budget->limit.kind != HWI_LIMIT_FIGURE)
    hwi_json_number(json, "baseline", verdict->baseline);
  hwi_json_text(json, "why", verdict->why);
  hwi_json_begin_array(json, "notes");
  for (size_t i = 0; i < verdict->note_count; i++)
    hwi_json_text(json, NULL, verdict->notes[i]);
  hwi_json_end_array(json);
  write_blame(writer, verdict);
  hwi_json_end_object(json);
  fputc('\n', json->out);
}

static void write_check(struct writer *writer)
{
  struct hwi_json *json = &writer->json;
  const struct hwi_check *check = writer->check;
  const struct hwi_image *image = hwi_largest_image(check->report.profile, NULL);
  hwi_json_begin_object(json, NULL);
  hwi_json_text(json, "schema", SCHEMA);
  if (image) {
    hwi_json_text(json, "trace", image->info->path);
    hwi_json_text(json, "command", image->info->command);
  }
  hwi_json_text(json, "verdict", states[hwi_check_state(check)]);
  hwi_json_begin_array(json, "rules");
  for (size_t i = 0; i < check->budgets->count; i++)
    write_verdict(writer, &check->verdicts[i]);
  hwi_json_end_array(json);
  hwi_json_end_object(json);
  fputc('\n', json->out);
}

int hwi_check_json(struct hwi_check *check, FILE *out, struct hwi_error *error)
{
  struct writer writer = {.json = {.out = out, .first = true}, .check = check};
  int status = hwi_json_frames_init(&writer.frames, &check->frames, error);
  if (status == HW_OK) {
    write_check(&writer);
    if (writer.json.failed)
      status = hwi_error_set(error, HW_ERR_MEMORY, "no memory: the verdicts are not complete");
    hwi_json_frames_release(&writer.frames);
  }
  return status;
}

/* --- JUnit XML, which Jenkins, GitLab and others show with the tests ---
 *
 * The format has no standard. Readers expect a suite with its counts, cases with classname and name (which GitLab uses
 * as their ID), <failure> with a message and a body, and <error> for an unknown verdict. Some show only the message,
 * some only the body, so both have the figures.
 */

/* Writes text for an attribute or an element. Bytes that XML cannot contain (most control characters, invalid UTF-8)
 * are replaced. */
static void put_text(FILE *out, const char *text)
{
  struct hwi_line valid = {0};
  hwi_line_replace_invalid(&valid, text);
  for (const char *at = hwi_line_text(&valid); *at != '\0'; at++) {
    switch (*at) {
    case '<':
      fputs("&lt;", out);
      break;
    case '>':
      fputs("&gt;", out);
      break;
    case '&':
      fputs("&amp;", out);
      break;
    case '"':
      fputs("&quot;", out);
      break;
    case '\n':
      fputs("&#10;", out);
      break;
    default:
      fputc((unsigned char)*at < ' ' ? '?' : *at, out);
    }
  }
  hwi_line_release(&valid);
}

/* Returns the text output for one rule, which the caller frees, or NULL if there is no memory. */
static char *text_about(struct hwi_check *check, size_t number, struct hwi_error *error)
{
  char *text = NULL;
  size_t bytes = 0;
  struct hwi_style style = {.out = open_memstream(&text, &bytes), .columns = HWI_COLUMNS_DEFAULT, .utf8 = true};
  if (!style.out)
    return NULL;
  struct hwi_budgets one = {.items = check->budgets->items + number, .count = 1};
  struct hwi_check narrowed = *check;
  narrowed.budgets = &one;
  narrowed.verdicts = check->verdicts + number;
  int status = hwi_check_text(&narrowed, &style, error);
  check->frames = narrowed.frames; /* its buffers may have grown */
  if (fclose(style.out) == 0 && status == HW_OK)
    return text;
  free(text);
  return NULL;
}

static int write_case(struct hwi_check *check, size_t number, const char *class_name, FILE *out,
                      struct hwi_error *error)
{
  static const char *const elements[] = {"system-out", "failure", "error"};
  const struct hwi_verdict *verdict = &check->verdicts[number];
  char *about = text_about(check, number, error);
  if (!about)
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory for the verdict of a rule");
  fputs("    <testcase classname=\"heapwright.", out);
  put_text(out, class_name);
  fputs("\" name=\"", out);
  put_text(out, verdict->budget->text);
  fprintf(out, "\" time=\"0\">\n      <%s", elements[verdict->state]);
  if (verdict->state != HWI_VERDICT_OK) {
    struct hwi_line message = {0};
    hwi_verdict_add_figures(&message, verdict);
    if (verdict->why)
      hwi_line_printf(&message, "; %s", verdict->why);
    fprintf(out, " type=\"%s\" message=\"", verdict->state == HWI_VERDICT_FAILED ? "budget" : "unknown");
    put_text(out, hwi_line_text(&message));
    fputs("\"", out);
    hwi_line_release(&message);
  }
  fputs(">", out);
  put_text(out, about);
  fprintf(out, "</%s>\n    </testcase>\n", elements[verdict->state]);
  free(about);
  return HW_OK;
}

int hwi_check_junit(struct hwi_check *check, FILE *out, struct hwi_error *error)
{
  const struct hwi_image *image = hwi_largest_image(check->report.profile, NULL);
  struct hwi_command_name class_name = hwi_command_name(image ? image->info->command : "");
  size_t counts[HWI_VERDICT_UNKNOWN + 1] = {0};
  for (size_t i = 0; i < check->budgets->count; i++)
    counts[check->verdicts[i].state]++;
  fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"heapwright check\"", out);
  fprintf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"0\" time=\"0\">\n", check->budgets->count,
          counts[HWI_VERDICT_FAILED], counts[HWI_VERDICT_UNKNOWN]);
  int status = HW_OK;
  for (size_t i = 0; i < check->budgets->count && status == HW_OK; i++)
    status = write_case(check, i, class_name.text, out, error);
  fputs("  </testsuite>\n</testsuites>\n", out);
  return status;
}
