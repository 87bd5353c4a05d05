/* picture.c - the view as lines: head, chart, table, keys */
#include "live/terminal/picture.h"

#include <inttypes.h>
#include <string.h>

#include "base/wide.h"
#include "live/terminal/table.h"
#include "report/words/number.h"

const char *const hwi_picture_tabs[HWI_LIVE_BYS] = {
    [HWI_LIVE_BY_STACK] = "Stacks", [HWI_LIVE_BY_FUNCTION] = "Functions", [HWI_LIVE_BY_THREAD] = "Threads",
    [HWI_LIVE_BY_SIZE] = "Sizes",   [HWI_LIVE_BY_CLASS] = "Size classes", [HWI_LIVE_BY_PROCESS] = "Processes",
};

/* --- parts of a line --- */

/* Adds the part, with a gap before it, if it fits. */
static void add_part(struct hwi_line *line, const struct hwi_screen *screen, const char *text)
{
  enum { GAP_CELLS = 3 };
  const size_t used = hwi_cells(hwi_line_text(line)), gap = used > 0 ? GAP_CELLS : 0;
  if (used + gap + hwi_cells(text) > screen->columns)
    return;
  hwi_line_repeat(line, " ", gap);
  hwi_line_puts(line, text);
}

static void add_part_of(struct hwi_line *line, const struct hwi_screen *screen, struct hwi_line *part)
{
  add_part(line, screen, hwi_line_text(part));
  hwi_line_clear(part);
}

/* --- the head --- */

/* Whether the viewer cannot read as fast as the program allocates. */
static bool is_late(const struct hwi_live_rows *rows)
{
  return rows->question.lag_ns > HWI_NS_A_SECOND;
}

static void add_state(struct hwi_line *state, const struct hwi_view *view)
{
  enum { MS_A_SECOND = 1000 };
  const struct hwi_live_rows *rows = view->rows;
  if (view->is_paused)
    hwi_line_printf(state, "paused at %s", hwi_time_text(rows->duration_ns).text);
  else if (view->state == HWI_FOLLOW_OVER)
    hwi_line_puts(state, "the program has ended");
  else if (is_late(rows))
    hwi_line_printf(state, "%s behind", hwi_time_text(rows->question.lag_ns).text);
  else if (view->is_once)
    hwi_line_puts(state, "live");
  else if (view->interval_ms < MS_A_SECOND)
    hwi_line_printf(state, "live, every %" PRIu32 " ms", view->interval_ms);
  else
    hwi_line_printf(state, "live, every %" PRIu32 " s", view->interval_ms / MS_A_SECOND);
  if (rows->is_off)
    hwi_line_puts(state, ", recording is off");
}

/* The command, and the state at the right. */
static void draw_command(struct hwi_screen *screen, const struct hwi_view *view)
{
  enum { GAP_CELLS = 3 };
  struct hwi_line state = {0}, *line = hwi_screen_begin(screen);
  add_state(&state, view);
  const size_t right = hwi_cells(hwi_line_text(&state)), left = screen->columns - right - GAP_CELLS;
  const char *command = hwi_live_text(view->rows, view->rows->command_off);
  if (hwi_cells(command) > left) { /* its begin says most */
    const size_t ellipsis = hwi_cells(hwi_screen_ellipsis(screen));
    hwi_line_add(line, command, hwi_cells_prefix(command, left - ellipsis));
    hwi_line_puts(line, hwi_screen_ellipsis(screen));
  } else {
    hwi_line_puts(line, command);
  }
  hwi_screen_look(screen, 0, HWI_LOOK_TITLE);
  hwi_screen_fill(screen, right);
  const size_t from = line->bytes;
  hwi_line_puts(line, hwi_line_text(&state));
  const bool is_usual = !view->is_paused && !is_late(view->rows) && !view->rows->is_off;
  hwi_screen_look(screen, from, is_usual ? HWI_LOOK_TITLE : HWI_LOOK_ALARM);
  hwi_line_release_part(line, &state);
}

/* Adds ` ± 1.2 MB` to a figure that is an estimate. */
static void add_error(struct hwi_line *part, const struct hwi_screen *screen, const char *error)
{
  hwi_line_printf(part, " %s %s", screen->has_utf8 ? "±" : "+-", error);
}

static void draw_process(struct hwi_screen *screen, const struct hwi_live_rows *rows)
{
  struct hwi_line part = {0}, *line = hwi_screen_begin(screen);
  hwi_line_printf(&part, "PID %" PRIu32, rows->pid);
  add_part_of(line, screen, &part);
  if (rows->process_count + rows->ended_count > 1) {
    hwi_line_printf(&part, "%" PRIu32 " of %" PRIu32 " processes", rows->process_count,
                    rows->process_count + rows->ended_count);
    add_part_of(line, screen, &part);
  }
  hwi_line_counted(&part, rows->thread_count, "thread");
  add_part_of(line, screen, &part);
  add_part(line, screen, hwi_time_text(rows->duration_ns).text);
  if (*hwi_live_text(rows, rows->heap_off) != '\0') {
    hwi_line_puts(&part, "heap ");
    hwi_line_clean(&part, hwi_live_text(rows, rows->heap_off));
    add_part_of(line, screen, &part);
  }
  if (rows->sample_bytes > 0) {
    hwi_line_printf(&part, "sampled: one allocation per %s", hwi_binary_bytes_text(rows->sample_bytes).text);
    add_part_of(line, screen, &part);
  }
  if (rows->rss_bytes > 0) {
    hwi_line_printf(&part, "RSS %s", hwi_bytes_text(rows->rss_bytes).text);
    add_part_of(line, screen, &part);
  }
  hwi_line_printf(&part, "peak %s", hwi_bytes_text(rows->peak_bytes).text);
  if (rows->peak_bytes_error > 0)
    add_error(&part, screen, hwi_bytes_text(rows->peak_bytes_error).text);
  add_part_of(line, screen, &part);
  hwi_line_puts(&part, hwi_count_text(rows->calls).text);
  if (rows->calls_error > 0)
    add_error(&part, screen, hwi_count_text(rows->calls_error).text);
  hwi_line_puts(&part, rows->calls == 1 ? " allocation" : " allocations");
  add_part_of(line, screen, &part);
  hwi_line_release_part(line, &part);
}

static void draw_live(struct hwi_screen *screen, const struct hwi_live_rows *rows)
{
  struct hwi_line part = {0}, *line = hwi_screen_begin(screen);
  hwi_line_printf(&part, "Live %s", hwi_bytes_text(rows->live_bytes).text);
  if (rows->live_bytes_error > 0)
    add_error(&part, screen, hwi_bytes_text(rows->live_bytes_error).text);
  hwi_line_puts(&part, " in ");
  hwi_line_counted(&part, rows->live_blocks, "block");
  add_part_of(line, screen, &part);
  hwi_screen_look(screen, 0, HWI_LOOK_TITLE);
  hwi_line_printf(
      &part, "%s allocs/s",
      hwi_count_text(rows->recent_ns > 0 ? rows->recent_calls * HWI_NS_A_SECOND / rows->recent_ns : 0).text);
  add_part_of(line, screen, &part);
  hwi_line_printf(
      &part, "%s frees/s",
      hwi_count_text(rows->recent_ns > 0 ? rows->recent_frees * HWI_NS_A_SECOND / rows->recent_ns : 0).text);
  add_part_of(line, screen, &part);
  hwi_line_release_part(line, &part);
}

/* --- the chart --- */

static const char *bar(const struct hwi_screen *screen, unsigned level)
{
  static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  static const char *const ascii[] = {" ", ".", ".", ":", ":", ":", "#", "#", "#"};
  return screen->has_utf8 ? blocks[level] : ascii[level];
}

static void draw_chart(struct hwi_screen *screen, const struct hwi_view *view)
{
  enum { LEVELS = 8 };
  const struct hwi_live_rows *rows = view->rows;
  const uint64_t *chart = hwi_live_chart(rows), lines = hwi_view_chart_lines(view);
  uint64_t most = 0;
  for (uint32_t i = 0; i < rows->chart_count; i++)
    most = chart[i] > most ? chart[i] : most;
  for (uint64_t below = lines; below-- > 0;) {
    struct hwi_line *line = hwi_screen_begin(screen);
    const bool is_top = below + 1 == lines;
    hwi_line_right(line, is_top ? hwi_bytes_text(most).text : below == 0 ? "0" : "", HWI_VIEW_LABEL_CELLS);
    hwi_line_puts(line, " ");
    const size_t from = line->bytes;
    for (uint32_t i = 0; i < rows->chart_count; i++) {
      uint64_t height = most > 0 ? hwi_wide_share(chart[i], (uint64_t)lines * LEVELS, 0, most) : 0;
      if (height == 0 && chart[i] > 0)
        height = 1; /* what is there can be seen */
      height = height > below * LEVELS ? height - below * LEVELS : 0;
      hwi_line_puts(line, bar(screen, height < LEVELS ? (unsigned)height : LEVELS));
    }
    hwi_screen_look(screen, from, HWI_LOOK_CHART);
  }
}

/* --- below the chart --- */

static void draw_tabs(struct hwi_screen *screen, const struct hwi_live_rows *rows)
{
  struct hwi_line *line = hwi_screen_begin(screen);
  for (int by = 0; by < HWI_LIVE_BYS; by++) {
    hwi_line_puts(line, by > 0 ? "  " : "");
    const size_t from = line->bytes;
    hwi_line_printf(line, "%d %s", by + 1, hwi_picture_tabs[by]);
    hwi_screen_look(screen, from, by == (int)rows->question.by ? HWI_LOOK_BAR : HWI_LOOK_FAINT);
  }
  struct hwi_line count = {0};
  hwi_line_counted(&count, rows->all_rows, "row");
  const size_t cells = hwi_cells(hwi_line_text(&count));
  if (hwi_cells(hwi_line_text(line)) + cells < screen->columns) {
    hwi_screen_fill(screen, cells);
    hwi_line_puts(line, hwi_line_text(&count));
  }
  hwi_line_release_part(line, &count);
}

static void draw_rules(struct hwi_screen *screen, const struct hwi_live_rows *rows)
{
  struct hwi_line part = {0}, *line = hwi_screen_begin(screen);
  const char *remark = hwi_live_text(rows, rows->remark_off);
  hwi_line_puts(&part, "Only");
  for (uint32_t i = 0; i < rows->question.rule_count; i++) {
    if (hwi_live_rule_is_replaced(&rows->question, i))
      continue;
    hwi_line_puts(&part, " ");
    hwi_line_clean(&part, rows->question.rules[i]);
  }
  hwi_line_printf(&part, ": %s in ", hwi_bytes_text(rows->kept_bytes).text);
  hwi_line_counted(&part, rows->kept_blocks, "block");
  if (*remark != '\0') {
    hwi_line_clear(&part);
    hwi_line_puts(&part, remark);
  }
  hwi_line_shorten(line, hwi_line_text(&part), screen->columns, hwi_screen_ellipsis(screen));
  hwi_screen_look(screen, 0, *remark != '\0' ? HWI_LOOK_ALARM : HWI_LOOK_TITLE);
  hwi_line_release_part(line, &part);
}

static void draw_keys(struct hwi_screen *screen, const struct hwi_view *view)
{
  static const char *const of_rows[] = {"q quit",     "? keys",       "space pause", "< > sort", "r reset", "/ filter",
                                        "Enter open", "u undo reset", "m mark",      "o on/off", NULL};
  static const char *const of_frames[] = {"Esc back", "q quit", "? keys", "space pause", NULL};
  struct hwi_line *line = hwi_screen_begin(screen);
  for (const char *const *key = view->stack != 0 ? of_frames : of_rows; *key; key++)
    add_part(line, screen, *key);
  hwi_screen_look(screen, 0, HWI_LOOK_FAINT);
}

/* The chosen row's whole name. */
static void draw_name(struct hwi_screen *screen, const struct hwi_view *view)
{
  const struct hwi_live_rows *rows = view->rows;
  while (screen->line_count + 2 < view->height)
    hwi_screen_begin(screen);
  struct hwi_line *line = hwi_screen_begin(screen);
  if (rows->question.stack == 0 && view->chosen < rows->row_count)
    hwi_line_puts(line, hwi_live_text(rows, hwi_live_row_list(rows)[view->chosen].full_off));
  hwi_screen_look(screen, 0, HWI_LOOK_TITLE);
}

/* The last line of the screen: a prompt, a message, or keys. */
static void draw_footer(struct hwi_screen *screen, const struct hwi_view *view)
{
  if (view->prompt == HWI_PROMPT_NONE && view->message[0] == '\0') {
    draw_keys(screen, view);
    return;
  }
  struct hwi_line text = {0}, *line = hwi_screen_begin(screen);
  if (view->prompt != HWI_PROMPT_NONE) {
    hwi_line_puts(&text, view->prompt == HWI_PROMPT_FILTER
                             ? "Only names with (or func=, file=, module=, thread=, size=): "
                             : "Name of the mark: ");
    hwi_line_clean(&text, view->input);
    hwi_line_puts(&text, "_");
  } else {
    hwi_line_clean(&text, view->message);
  }
  hwi_line_shorten(line, hwi_line_text(&text), screen->columns, hwi_screen_ellipsis(screen));
  hwi_screen_look(screen, 0, HWI_LOOK_TITLE);
  hwi_line_release_part(line, &text);
}

static void draw_help(struct hwi_screen *screen)
{
  static const char *const lines[] = {
      "Keys",
      "  1 to 6, Tab   stacks, functions, threads, sizes, classes, processes",
      "  < >           sort by the next column",
      "  up down, PgUp PgDn, Home End   choose a row",
      "  Enter         a stack's frames; only stacks with this function, ...",
      "  /             only names with this text, or KIND=PATTERN",
      "  Esc           go back; take the last filter away",
      "  r, u          growth counts from now on; undo that",
      "  space         pause; keys that need other figures show those of now",
      "  + -           update more often, less often (100 ms to 10 s)",
      "  m, o          set a mark; switch the recording off and on",
      "  q, Ctrl-C     end the viewer; Ctrl-C ends its COMMAND, too",
      "",
      "growth: of the live bytes, in the last 10 s or since the reset",
      "growth/s, allocs/s: in the last second or two",
      "at peak: bytes at the run's peak; share: of all live bytes",
  };
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
    hwi_line_puts(hwi_screen_begin(screen), lines[i]);
}

/* --- the whole --- */

static void draw_few_words(struct hwi_screen *screen, const char *words)
{
  hwi_line_puts(hwi_screen_begin(screen), words);
}

void hwi_picture_draw(struct hwi_screen *screen, const struct hwi_view *view)
{
  hwi_screen_clear(screen);
  screen->columns = view->columns;
  screen->height = view->height;
  screen->has_utf8 = view->has_utf8;
  if (!view->is_once && (view->columns < HWI_VIEW_COLUMNS_MIN || view->height < HWI_VIEW_LINES_MIN)) {
    draw_few_words(screen, "Too small: it needs 72 columns and 12 lines");
    return;
  }
  if (view->has_help) {
    draw_help(screen);
    return;
  }
  if (!view->rows) {
    draw_few_words(screen, *view->message != '\0' ? view->message : "The recording is read ...");
    return;
  }
  draw_command(screen, view);
  draw_process(screen, view->rows);
  draw_live(screen, view->rows);
  draw_chart(screen, view);
  if (!view->is_once)
    draw_tabs(screen, view->rows);
  if (view->rows->question.rule_count > 0)
    draw_rules(screen, view->rows);
  if (view->rows->question.stack != 0)
    hwi_table_draw_frames(screen, view);
  else
    hwi_table_draw(screen, view);
  if (view->is_once)
    return;
  draw_name(screen, view);
  draw_footer(screen, view);
}
