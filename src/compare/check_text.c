/* check_text.c - verdicts as text: a line per rule, and the blamed stacks below those that failed */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "compare/blame.h"
#include "report/text/frames.h"

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
