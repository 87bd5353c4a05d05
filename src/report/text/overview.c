/* overview.c - the first lines of a text report: which run this is, and its figures */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/base_name.h"
#include "base/command_name.h"
#include "profile/blocks/sample.h"
#include "report/content/control_group.h"
#include "report/content/evidence.h"
#include "report/text/text.h"

/* --- which run --- */

/* Adds `value`, which comes from outside, cut at its end to the rest of the line. */
static void add_cut(struct hwi_text *text, const char *value)
{
  struct hwi_line clean = {0};
  hwi_line_clean(&clean, value);
  size_t used = hwi_cells(hwi_line_text(&text->line)), columns = text->style->columns;
  size_t cells = columns > used ? columns - used : 0;
  const char *ellipsis = hwi_style_ellipsis(text->style);
  if (hwi_cells(hwi_line_text(&clean)) <= cells) {
    hwi_line_puts(&text->line, hwi_line_text(&clean));
  } else if (cells > hwi_cells(ellipsis)) {
    size_t bytes = hwi_cells_prefix(hwi_line_text(&clean), cells - hwi_cells(ellipsis));
    hwi_line_add(&text->line, hwi_line_text(&clean), bytes);
    hwi_line_puts(&text->line, ellipsis);
  }
  hwi_line_release_part(&text->line, &clean);
}

/* Returns the file's name; for a child's trace, with the run's name in front. */
static const char *shown_name(const char *path)
{
  static const char folder[] = ".children";
  const char *name = hwi_base_name(path);
  size_t before = (size_t)(name - path);
  if (before < sizeof folder || memcmp(name - sizeof folder, folder, sizeof folder - 1) != 0)
    return name;
  const char *run = name - 1;
  while (run > path && run[-1] != '/')
    run--;
  return run;
}

static void print_name(struct hwi_text *text)
{
  const struct hwi_trace_info *info = text->image->info;
  struct hwi_line name = {0};
  hwi_line_clean(&name, shown_name(info->path));
  hwi_line_shorten(&text->line, hwi_line_text(&name), text->style->columns / 2, hwi_style_ellipsis(text->style));
  hwi_line_release_part(&text->line, &name);
  const char *command = info->command && *info->command != '\0' ? info->command : info->exe;
  hwi_line_puts(&text->line, "   ");
  add_cut(text, command ? command : "");
  hwi_text_end(text, HWI_BOLD);
}

static void add_end(struct hwi_text *text, const struct hwi_trace_info *info)
{
  if (info->being_written)
    hwi_line_puts(&text->line, "still running");
  else if (info->header.state == HW_STATE_SAVED)
    hwi_line_puts(&text->line, "still running when saved");
  else if (!info->exit)
    hwi_line_puts(&text->line, info->header.state == HW_STATE_EXITED ? "exited" : "end unknown");
  else if (info->exit->signal == 0)
    hwi_line_printf(&text->line, "exit %" PRIu32, info->exit->code);
  else if (hwi_was_out_of_memory(info))
    hwi_line_puts(&text->line, "killed because memory ran out (SIGKILL)");
  else if (sigabbrev_np((int)info->exit->signal))
    hwi_line_printf(&text->line, "killed by SIG%s", sigabbrev_np((int)info->exit->signal));
  else
    hwi_line_printf(&text->line, "killed by signal %" PRIu32, info->exit->signal);
}

/* Adds how many other process images the run has, and their share, if that is known. */
static void add_others(struct hwi_text *text)
{
  const struct hwi_other_images others = hwi_other_images(text->profile);
  if (others.count == 0)
    return;
  hwi_line_puts(&text->line, "; ");
  hwi_line_counted(&text->line, others.count, "other process image");
  if (others.bytes > 0)
    hwi_line_printf(&text->line, " with %s of the bytes", hwi_share_text(others.bytes, others.all_bytes).text);
  hwi_line_puts(&text->line, others.count == 1 ? " is not shown" : " are not shown");
  hwi_line_puts(&text->line, hwi_style_hint(text->style, " (--children)"));
}

/* Adds the name of the program's file if it was run by another name, through a link: frames show the file's name. */
static void add_file(struct hwi_text *text, const struct hwi_trace_info *info)
{
  struct hwi_command_name run_as = hwi_command_name(info->command);
  const char *file = hwi_base_name(info->exe);
  if (run_as.text[0] == '\0' || *file == '\0' || strcmp(file, run_as.text) == 0)
    return;
  hwi_line_puts(&text->line, "; the program's file is ");
  hwi_line_clean(&text->line, file);
}

static void print_run(struct hwi_text *text)
{
  uint32_t threads = text->profile->thread_count;
  if (text->profile->is_of_memory) {
    hwi_line_puts(&text->line, "the heap of a core dump or a process, at one moment");
    hwi_text_end_wrapped(text, 2, HWI_PLAIN);
    return;
  }
  hwi_line_printf(&text->line, "%s, ", hwi_time_text(text->profile->duration_ns).text);
  if (text->counted > 1)
    hwi_line_printf(&text->line, "%s process images, ", hwi_count_text(text->counted).text);
  hwi_line_printf(&text->line, "%s thread%s, ", hwi_count_text(threads).text, threads == 1 ? "" : "s");
  add_end(text, text->image->info);
  if (text->counted == 1)
    add_file(text, text->image->info);
  add_others(text);
  hwi_text_end_wrapped(text, 2, HWI_PLAIN);
}

/* Prints how near the processes came to the limit of their control group. */
static void print_group(struct hwi_text *text)
{
  const struct hwi_control_group group = hwi_control_group_of(text->profile);
  if (!hwi_control_group_is_shown(&group))
    return;
  hwi_line_puts(&text->line, "Control group: ");
  if (group.peak_bytes > 0)
    hwi_line_printf(&text->line, "at most %s", hwi_bytes_text(group.peak_bytes).text);
  if (group.limit_bytes > 0)
    hwi_line_printf(&text->line, " of its limit of %s", hwi_bytes_text(group.limit_bytes).text);
  if (group.oom_kills > 0) {
    hwi_line_puts(&text->line, group.peak_bytes > 0 ? "; the kernel killed " : "the kernel killed ");
    hwi_line_printf(&text->line, "%s process%s of it because memory ran out", hwi_count_text(group.oom_kills).text,
                    group.oom_kills == 1 ? "" : "es");
  }
  hwi_text_end_wrapped(text, 2, HWI_PLAIN);
}

/* --- the figures: two blocks of four --- */

struct figure {
  const char *label;
  struct hwi_number value;
  char more[64];
};

enum { FIGURE_ROWS = 4, FIGURE_BLOCKS = 2 };

static void set_more(struct figure *figure, const char *before, struct hwi_number number, const char *after)
{
  if (number.text[0] != '\0')
    snprintf(figure->more, sizeof figure->more, "%s%s%s", before, number.text, after);
}

static void note_silence(void *partial, const struct hwi_silence *silence)
{
  *(bool *)partial |= hwi_evidence_state_of(silence->why) != HW_STATE_SAVED;
}

static struct hwi_number recording_state(const struct hwi_text *text)
{
  struct hwi_number state = {"complete"};
  for (uint32_t i = 0; i < text->profile->image_count; i++) {
    const struct hwi_image *image = &text->profile->images[i];
    if (!image->counted)
      continue;
    const struct hwi_trace_info *info = image->info;
    bool partial = info->damaged_chunks > 0 || info->missing_chunks > 0 || info->header.lost_events > 0;
    hwi_evidence_silences(info, note_silence, &partial);
    if (partial)
      state = (struct hwi_number){"partial"};
    else if (info->being_written || info->header.state == HW_STATE_SAVED)
      state = (struct hwi_number){"going on"};
  }
  return state;
}

/* Puts the error of an estimate in front of the text next to it; alone, if there is no room for both. */
static void set_error(const struct hwi_text *text, struct figure *figure, struct hwi_number error, bool is_alone)
{
  char more[sizeof figure->more + sizeof error.text + 16]; /* what does not fit is cut */
  if (!text->profile->sample_bytes)
    return;
  is_alone |= figure->more[0] == 0;
  snprintf(more, sizeof more, "%s %s%s%s", hwi_style_plus_minus(text->style), error.text, is_alone ? "" : ", ",
           is_alone ? "" : figure->more);
  memcpy(figure->more, more, sizeof figure->more);
  figure->more[sizeof figure->more - 1] = 0;
}

static void set_errors(const struct hwi_text *text, struct figure figures[FIGURE_BLOCKS][FIGURE_ROWS])
{
  const struct hwi_amount all = hwi_amount_of_run(text->profile);
  const bool narrow = text->style->columns < HWI_NARROW_COLUMNS;
  if (!text->profile->calls_are_exact) {
    set_error(text, &figures[0][0], hwi_count_text(hwi_sample_error(all.variance.calls)), true);
    set_error(text, &figures[0][1], hwi_count_text(hwi_sample_error(all.variance.calls)), true);
    set_error(text, &figures[0][2], hwi_bytes_text(hwi_sample_error(all.variance.bytes)), true);
  }
  set_error(text, &figures[0][3], hwi_bytes_text(hwi_sample_error(all.variance.peak_bytes)), true);
  set_error(text, &figures[1][0], hwi_count_text(hwi_sample_error(all.variance.temporary_calls)), narrow);
  set_error(text, &figures[1][2], hwi_bytes_text(hwi_sample_error(all.variance.live_bytes)), narrow);
}

static void fill_figures(const struct hwi_text *text, struct figure figures[FIGURE_BLOCKS][FIGURE_ROWS])
{
  const struct hwi_totals *totals = &text->profile->totals;
  const struct hwi_span *span = &text->profile->span;
  uint64_t ns = span->kind == HWI_SPAN_RUN ? text->profile->duration_ns : span->to_ns - span->from_ns, lost = 0,
           cut = 0;
  for (uint32_t i = 0; i < text->profile->image_count; i++) {
    const struct hwi_image *image = &text->profile->images[i];
    lost += image->counted ? image->info->header.lost_events : 0;
    cut += image->counted ? image->info->header.truncated_stacks + image->info->header.node_limit_hits : 0;
  }
  struct figure *left = figures[0], *right = figures[1];
  left[0] = (struct figure){"allocations", hwi_count_text(totals->allocation_calls), ""};
  set_more(&left[0], "", hwi_rate_text(totals->allocation_calls, ns), "");
  left[1] = (struct figure){"frees", hwi_count_text(totals->free_calls), ""};
  left[2] = (struct figure){"allocated", hwi_bytes_text(totals->allocated_bytes), ""};
  set_more(&left[2], "", hwi_byte_rate_text(totals->allocated_bytes, ns), "");
  left[3] = (struct figure){"peak", hwi_bytes_text(totals->peak_bytes), ""};
  set_more(&left[3], "at ", hwi_time_text(totals->peak_time_ns), "");
  right[0] = (struct figure){"temporary", hwi_count_text(totals->temporary_calls), ""};
  set_more(&right[0], "", hwi_share_text(totals->temporary_calls, hwi_amount_of_run(text->profile).calls),
           text->style->columns < HWI_NARROW_COLUMNS || text->profile->sample_bytes ? "" : " of allocations");
  right[1] = (struct figure){"failed", hwi_count_text(totals->failed_calls), ""};
  right[2] = (struct figure){span->kind == HWI_SPAN_RUN ? "at the end" : "at its end",
                             hwi_bytes_text(totals->live_bytes_at_end), ""};
  set_more(&right[2], "", hwi_count_text(totals->live_blocks_at_end),
           totals->live_blocks_at_end == 1 ? " block" : " blocks");
  right[3] = (struct figure){"recording", recording_state(text), ""};
  struct hwi_number lost_text = hwi_count_text(lost), cut_text = hwi_count_text(cut);
  snprintf(right[3].more, sizeof right[3].more, "%.24s lost, %.24s cut", lost_text.text, cut_text.text);
}

static void print_figure(struct hwi_text *text, const struct figure *figure, bool right)
{
  enum { GAP_CELLS = 3 };
  bool narrow = text->style->columns < HWI_NARROW_COLUMNS;
  size_t label = narrow && right ? 11 : 12, value = narrow && right ? 10 : 11;
  if (right)
    hwi_line_pad(&text->line, narrow ? 41 : 44);
  else
    hwi_line_pad(&text->line, 2);
  hwi_line_left(&text->line, figure->label, label);
  hwi_line_right(&text->line, figure->value.text, value);
  hwi_line_repeat(&text->line, " ", GAP_CELLS);
  size_t used = hwi_cells(hwi_line_text(&text->line)), columns = text->style->columns;
  hwi_line_shorten(&text->line, figure->more, columns > used ? columns - used : 0, hwi_style_ellipsis(text->style));
}

static void print_figures(struct hwi_text *text)
{
  struct figure figures[FIGURE_BLOCKS][FIGURE_ROWS];
  fill_figures(text, figures);
  set_errors(text, figures);
  hwi_text_blank(text);
  for (int row = 0; row < FIGURE_ROWS; row++) {
    print_figure(text, &figures[0][row], false);
    print_figure(text, &figures[1][row], true);
    hwi_text_end(text, HWI_PLAIN);
  }
  hwi_text_blank(text);
}

/* Prints which part of the run the report is about, if not all of it. */
static void print_span(struct hwi_text *text)
{
  const struct hwi_span *span = &text->profile->span;
  const struct hwi_totals *totals = &text->profile->totals;
  if (span->kind == HWI_SPAN_MOMENT) {
    if (!text->profile->is_of_memory)
      hwi_line_printf(&text->line, "At %s: ", hwi_time_text(span->from_ns).text);
    hwi_line_printf(&text->line, "%s live in ", hwi_bytes_text(totals->live_bytes_at_end).text);
    hwi_line_counted(&text->line, totals->live_blocks_at_end, "block");
  } else {
    hwi_line_printf(&text->line,
                    "From %s to %s: the calls in this interval, and live blocks also from before it (%s in ",
                    span->from_ns > 0 ? hwi_time_text(span->from_ns).text : "the start",
                    span->to_ns < text->profile->duration_ns ? hwi_time_text(span->to_ns).text : "the end",
                    hwi_bytes_text(totals->live_bytes_at_start).text);
    hwi_line_counted(&text->line, totals->live_blocks_at_start, "block");
    hwi_line_puts(&text->line, ")");
  }
  hwi_text_end_wrapped(text, 2, HWI_BOLD);
}

static void print_sample(struct hwi_text *text)
{
  const char *const plus_minus = hwi_style_plus_minus(text->style);
  hwi_line_printf(&text->line, "Sampled: one allocation per %s. ",
                  hwi_binary_bytes_text(text->profile->sample_bytes).text);
  if (text->profile->calls_are_exact)
    hwi_line_printf(&text->line, "Allocations, frees and bytes allocated are exact; others are estimates (%s: 95 %%).",
                    plus_minus);
  else
    hwi_line_printf(&text->line, "All figures are estimates (%s: 95 %%).", plus_minus);
  hwi_text_end_wrapped(text, 2, HWI_BOLD);
}

void hwi_text_overview(struct hwi_text *text)
{
  enum hwi_span_kind kind = text->profile->span.kind;
  if (text->image) {
    print_name(text);
    print_run(text);
    print_group(text);
  }
  if (text->profile->heap) {
    hwi_line_puts(&text->line, "The program's own heap '");
    hwi_line_clean(&text->line, text->profile->heap);
    hwi_line_puts(&text->line, "', without malloc");
    hwi_text_end_wrapped(text, 2, HWI_BOLD);
  }
  if (text->profile->sample_bytes)
    print_sample(text);
  if (kind != HWI_SPAN_RUN)
    print_span(text);
  if (kind != HWI_SPAN_MOMENT)
    print_figures(text);
  else
    hwi_text_blank(text);
}

/* --- the processes of a run --- */

enum { PID_CELLS = 9 };

static int compare_images(const void *left, const void *right)
{
  const struct hwi_image *a = *(const struct hwi_image *const *)left, *b = *(const struct hwi_image *const *)right;
  if (a->totals.allocated_bytes != b->totals.allocated_bytes)
    return a->totals.allocated_bytes > b->totals.allocated_bytes ? -1 : 1;
  return a->info->header.pid < b->info->header.pid ? -1 : a->info->header.pid > b->info->header.pid;
}

/* Returns "cc1 -quiet a.c" of "/usr/lib/gcc/cc1 -quiet a.c": processes differ in what comes after their programs'
 * folders. */
static const char *without_folder(const char *command)
{
  size_t bytes = strcspn(command, " '\"");
  const char *slash = memrchr(command, '/', bytes);
  bool is_name = slash && (command[bytes] == ' ' || command[bytes] == '\0') && slash + 1 < command + bytes;
  return is_name ? slash + 1 : command;
}

static void add_allocated(struct hwi_text *text, uint64_t calls, uint64_t bytes)
{
  hwi_line_right(&text->line, hwi_count_text(calls).text, HWI_AMOUNT_CELLS);
  hwi_line_right(&text->line, hwi_bytes_text(bytes).text, HWI_AMOUNT_CELLS);
  hwi_line_right(&text->line, hwi_share_text(bytes, text->profile->totals.allocated_bytes).text, HWI_SHARE_CELLS);
}

static void print_image(struct hwi_text *text, const struct hwi_image *image)
{
  hwi_line_printf(&text->line, "%*" PRIu32, PID_CELLS, image->info->header.pid);
  add_allocated(text, image->totals.allocation_calls, image->totals.allocated_bytes);
  hwi_line_right(&text->line, hwi_bytes_text(image->totals.peak_bytes).text, HWI_AMOUNT_CELLS);
  hwi_line_puts(&text->line, "   ");
  add_cut(text, without_folder(image->info->command ? image->info->command : ""));
  hwi_text_end(text, HWI_PLAIN);
}

/* Their peaks were at different times, so they have no sum. */
static void print_other_images(struct hwi_text *text, const struct hwi_image *const *images, uint64_t count)
{
  uint64_t calls = 0, bytes = 0;
  for (uint64_t i = 0; i < count; i++) {
    calls += images[i]->totals.allocation_calls;
    bytes += images[i]->totals.allocated_bytes;
  }
  hwi_line_repeat(&text->line, " ", PID_CELLS);
  add_allocated(text, calls, bytes);
  hwi_line_repeat(&text->line, " ", HWI_AMOUNT_CELLS + 3);
  hwi_text_rest(text, count, "image");
  hwi_text_end(text, HWI_PLAIN);
}

void hwi_text_images(struct hwi_text *text)
{
  const struct hwi_image **images = calloc(text->profile->image_count, sizeof(const struct hwi_image *));
  uint32_t count = 0;
  text->line.failed |= !images;
  for (uint32_t i = 0; images && i < text->profile->image_count; i++) {
    if (text->profile->images[i].counted)
      images[count++] = &text->profile->images[i];
  }
  if (count > 0)
    qsort(images, count, sizeof *images, compare_images);
  hwi_text_heading(text, "Process images", "");
  hwi_line_puts(&text->line, "      pid       calls   allocated                peak   command");
  hwi_text_end(text, HWI_DIM);
  uint64_t rows = hwi_text_rows(text, count);
  for (uint64_t row = 0; row < rows; row++)
    print_image(text, images[row]);
  if (rows < count)
    print_other_images(text, images + rows, count - rows);
  hwi_text_blank(text);
  free(images);
}
