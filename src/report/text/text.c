/* text.c - the text report: its parts in order, and how a line is printed */
#include <string.h>

#include "report/content/evidence.h"
#include "report/text/text.h"

/* Crumbs are rows after the fifth that have less than half a percent. */
enum { TOP_DEFAULT = 10, CRUMB_ROWS = 5, CRUMB_SHARE = 200 };

/* --- lines --- */

void hwi_text_end(struct hwi_text *text, enum hwi_emphasis emphasis)
{
  const char *line = hwi_line_text(&text->line);
  size_t bytes = text->line.bytes;
  while (bytes > 0 && line[bytes - 1] == ' ')
    bytes--;
  const char *begin = bytes > 0 && emphasis != HWI_PLAIN ? hwi_style_begin(text->style, emphasis) : "";
  const char *end = *begin != '\0' ? hwi_style_begin(text->style, HWI_PLAIN) : "";
  fprintf(text->style->out, "%s%.*s%s\n", begin, (int)bytes, line, end);
  text->printed++;
  hwi_line_clear(&text->line);
}

void hwi_text_blank(struct hwi_text *text)
{
  fputc('\n', text->style->out);
}

/* Returns how many bytes of `line` to print: up to the last blank that fits into `cells`, or all that fits if there
 * is no blank. Numbers are not separated from their units. */
static size_t break_at(const char *line, size_t cells, size_t indent)
{
  size_t fits = hwi_cells_prefix(line, cells);
  if (line[fits] == '\0')
    return fits;
  for (size_t at = fits; at > indent; at--) {
    bool after_digit = line[at - 1] >= '0' && line[at - 1] <= '9';
    if (line[at] == ' ' && !after_digit)
      return at;
  }
  return fits;
}

void hwi_text_end_wrapped(struct hwi_text *text, size_t indent, enum hwi_emphasis emphasis)
{
  struct hwi_line whole = text->line;
  text->line = (struct hwi_line){0};
  const char *rest = hwi_line_text(&whole);
  for (size_t inner = 0;; inner = indent) {
    hwi_line_repeat(&text->line, " ", inner);
    size_t bytes = break_at(rest, text->style->columns - inner, inner == 0 ? indent : 0);
    hwi_line_add(&text->line, rest, bytes);
    hwi_text_end(text, emphasis);
    rest += bytes;
    rest += strspn(rest, " ");
    if (*rest == '\0')
      break;
  }
  hwi_line_release_part(&whole, &text->line);
  hwi_line_clear(&whole);
  text->line = whole;
}

/* --- moments --- */

static struct hwi_number moment_name(const struct hwi_profile *profile)
{
  return profile->is_of_memory ? (struct hwi_number){"that moment"} : hwi_time_text(profile->span.from_ns);
}

struct hwi_number hwi_text_peak_name(const struct hwi_text *text)
{
  return text->profile->span.kind == HWI_SPAN_MOMENT ? moment_name(text->profile) : (struct hwi_number){"the peak"};
}

struct hwi_number hwi_text_end_name(const struct hwi_text *text)
{
  const struct hwi_span *span = &text->profile->span;
  if (span->kind == HWI_SPAN_INTERVAL && span->to_ns < text->profile->duration_ns)
    return hwi_time_text(span->to_ns);
  return span->kind == HWI_SPAN_MOMENT ? moment_name(text->profile) : (struct hwi_number){"the end"};
}

struct hwi_number hwi_text_cost_name(const struct hwi_text *text)
{
  if (text->cost == HWI_COST_PEAK)
    return hwi_text_peak_name(text);
  return text->cost == HWI_COST_LIVE ? hwi_text_end_name(text) : (struct hwi_number){""};
}

/* --- tables of figures --- */

void hwi_text_heading(struct hwi_text *text, const char *heading, const char *option)
{
  char leaks[96];
  if (text->runtime) {
    snprintf(leaks, sizeof leaks, "Still allocated at %s; not all of it is leaked", hwi_text_end_name(text).text);
    heading = leaks;
  }
  hwi_line_puts(&text->line, heading);
  option = hwi_style_hint(text->style, option);
  size_t wanted = hwi_cells(option);
  if (wanted > 0 && hwi_cells(heading) + 2 + wanted <= text->style->columns) {
    size_t most = text->style->columns < HWI_COLUMNS_DEFAULT ? text->style->columns : HWI_COLUMNS_DEFAULT;
    hwi_line_pad(&text->line, most > wanted ? most - wanted : 0);
    hwi_line_puts(&text->line, option);
  }
  hwi_text_end(text, HWI_BOLD);
}

void hwi_text_cost_words(struct hwi_line *line, const struct hwi_text *text)
{
  static const char *const words[] = {" at ", " by live bytes at ", " by allocations", " by bytes allocated",
                                      " by temporary allocations"};
  hwi_line_printf(line, "%s%s", words[text->cost], hwi_text_cost_name(text).text);
}

void hwi_text_narrowing(struct hwi_text *text, const struct hwi_selection *selection)
{
  hwi_text_filter(text, selection);
  if (!text->runtime)
    return;
  const struct hwi_amount *runtime = &text->runtime->amount;
  hwi_line_puts(&text->line, "  ");
  if (selection->stack_count > 0) {
    hwi_line_printf(&text->line, "%s in ", hwi_bytes_text(selection->selected.live_bytes).text);
    hwi_line_counted(&text->line, selection->selected.live_blocks, "block");
  } else {
    hwi_line_puts(&text->line, "nothing");
  }
  if (runtime->live_blocks > 0) {
    hwi_line_printf(&text->line, "%s the runtime's own (libc, libstdc++, loader): %s in ",
                    selection->stack_count > 0 ? "; in addition" : " but", hwi_bytes_text(runtime->live_bytes).text);
    hwi_line_counted(&text->line, runtime->live_blocks, "block");
  }
  if (text->runtime->suppressions) {
    hwi_line_printf(&text->line, "; suppressed: %s in ", hwi_bytes_text(text->runtime->suppressed.live_bytes).text);
    hwi_line_counted(&text->line, text->runtime->suppressed.live_blocks, "block");
  }
  hwi_text_end_wrapped(text, 4, HWI_PLAIN);
}

void hwi_text_cost(struct hwi_text *text, uint64_t rank, uint64_t cost, uint64_t all)
{
  struct hwi_number number = {""};
  if (rank > 0)
    snprintf(number.text, sizeof number.text, "%llu", (unsigned long long)rank);
  hwi_line_right(&text->line, number.text, HWI_RANK_CELLS - 1);
  hwi_line_right(&text->line, hwi_cost_text(cost, text->cost).text, HWI_AMOUNT_CELLS);
  hwi_line_right(&text->line, hwi_share_text(cost, all).text, HWI_SHARE_CELLS);
}

/* Adds a column's title, by enum hwi_cost. */
static void add_title(struct hwi_text *text, enum hwi_cost cost, size_t cells)
{
  static const char *const titles[] = {"", "", "calls", "allocated", "temporary"};
  char when[64] = "at peak";
  if (text->profile->is_of_memory)
    snprintf(when, sizeof when, "live");
  else if (cost == HWI_COST_LIVE)
    snprintf(when, sizeof when, "at %s", hwi_text_end_name(text).text);
  else if (text->profile->span.kind == HWI_SPAN_MOMENT)
    snprintf(when, sizeof when, "at %s", hwi_text_peak_name(text).text);
  hwi_line_right(&text->line, cost == HWI_COST_LIVE || cost == HWI_COST_PEAK ? when : titles[cost], cells);
}

static const enum hwi_cost columns[] = {HWI_COST_CALLS, HWI_COST_PEAK, HWI_COST_LIVE, HWI_COST_BYTES,
                                        HWI_COST_TEMPORARY};
enum { COLUMNS = sizeof columns / sizeof *columns };

/* Whether a figure has a column. The cost has none, since it is in front already; the others depend on the width. A
 * moment has only one figure. */
static bool has_column(const struct hwi_text *text, enum hwi_cost column)
{
  if (column == text->cost || text->profile->span.kind == HWI_SPAN_MOMENT)
    return false;
  if (text->style->columns >= HWI_WIDE_COLUMNS || column == HWI_COST_CALLS)
    return true;
  bool holds = text->cost == HWI_COST_PEAK || text->cost == HWI_COST_LIVE;
  if (holds)
    return column == HWI_COST_PEAK || column == HWI_COST_LIVE;
  return column == (text->cost == HWI_COST_BYTES ? HWI_COST_TEMPORARY : HWI_COST_BYTES);
}

void hwi_text_error_title(struct hwi_text *text)
{
  if (text->profile->sample_bytes)
    hwi_line_right(&text->line, hwi_style_plus_minus(text->style), HWI_AMOUNT_CELLS);
}

void hwi_text_error(struct hwi_text *text, const struct hwi_amount *amount)
{
  struct hwi_line error = {0};
  if (!text->profile->sample_bytes)
    return;
  hwi_line_printf(&error, "%s %s", hwi_style_plus_minus(text->style),
                  hwi_cost_text(hwi_amount_cost_error(amount, text->cost), text->cost).text);
  hwi_line_right(&text->line, hwi_line_text(&error), HWI_AMOUNT_CELLS);
  hwi_line_release_part(&text->line, &error);
}

void hwi_text_amount_titles(struct hwi_text *text)
{
  add_title(text, text->cost, HWI_RANK_CELLS - 1 + HWI_AMOUNT_CELLS);
  hwi_line_repeat(&text->line, " ", HWI_SHARE_CELLS);
  hwi_text_error_title(text);
  for (int i = 0; i < COLUMNS; i++) {
    if (has_column(text, columns[i]))
      add_title(text, columns[i], HWI_AMOUNT_CELLS);
  }
}

void hwi_text_amounts(struct hwi_text *text, const struct hwi_amount *amount)
{
  hwi_text_error(text, amount);
  for (int i = 0; i < COLUMNS; i++) {
    struct hwi_number number = hwi_cost_text(hwi_amount_cost(amount, columns[i]), columns[i]);
    if (has_column(text, columns[i]))
      hwi_line_right(&text->line, number.text, HWI_AMOUNT_CELLS);
  }
}

void hwi_text_rest(struct hwi_text *text, uint64_t count, const char *noun)
{
  struct hwi_line more = {0}, *line = &text->line;
  hwi_line_printf(&more, "more %s", noun);
  hwi_line_puts(line, "in ");
  hwi_line_counted(line, count, hwi_line_text(&more));
  hwi_line_puts(line, hwi_style_hint(text->style, " (--top 0)"));
  hwi_line_release_part(&text->line, &more);
}

void hwi_text_none(struct hwi_text *text)
{
  hwi_line_puts(&text->line, "      none");
  hwi_text_end(text, HWI_PLAIN);
}

uint64_t hwi_text_rows(const struct hwi_text *text, uint64_t count)
{
  uint64_t top = text->report->options.top;
  if (top == HWI_TOP_DEFAULT)
    top = TOP_DEFAULT;
  return top == 0 || top > count ? count : top;
}

bool hwi_text_is_crumb(const struct hwi_text *text, uint64_t row, uint64_t cost, uint64_t all)
{
  const struct hwi_report_options *options = &text->report->options;
  return options->top == HWI_TOP_DEFAULT && !options->leaks && row >= CRUMB_ROWS && cost < all / CRUMB_SHARE;
}

/* --- the report --- */

/* Whether no stack of the recording is known, as in logs of tools that record only calls: then it has one stack for
 * each entry point, whose single frame represents the unknown stack. Nothing can be ranked. */
static bool is_stackless(const struct hwi_text *text)
{
  const struct hwi_profile *profile = text->profile;
  if (profile->totals.allocation_calls == 0 && profile->totals.live_blocks_at_end == 0)
    return false;
  for (uint32_t i = 0; i < profile->stack_count; i++) {
    if (hwi_profile_depth(profile, i) > 0)
      return false;
  }
  return true;
}

static void print_stackless(struct hwi_text *text, const struct hwi_selection *selection)
{
  if (!text->report->core) {
    hwi_line_puts(&text->line, "The recording has no stacks");
    hwi_line_puts(&text->line, hwi_style_hint(text->style, "; --by entry and --by thread show more"));
    hwi_text_end_wrapped(text, 2, HWI_PLAIN);
    hwi_text_blank(text);
  }
  hwi_text_sizes(text, selection);
}

static int print_by(struct hwi_text *text, const struct hwi_selection *selection, struct hwi_named_frames *frames,
                    struct hwi_error *error)
{
  if (text->report->options.lifetimes)
    return hwi_text_lifetimes(text, selection, frames, error);
  if (text->report->options.resizes)
    return hwi_text_resizes(text, selection, frames, error);
  if (text->report->options.durations)
    return hwi_text_durations(text, selection, frames, error);
  if (text->report->core && text->report->core->leaks)
    return hwi_text_core_leaks(text, frames, error);
  enum hwi_by by = (enum hwi_by)text->report->options.by;
  if (is_stackless(text) && hwi_by_is_of_frames(by)) {
    print_stackless(text, selection);
    return HW_OK;
  }
  if (text->report->options.tree != HWI_TREE_NONE)
    return hwi_text_tree(text, selection, frames, error);
  switch (by) {
  case HWI_BY_STACK:
    return hwi_text_stacks(text, selection, frames, error);
  case HWI_BY_THREAD:
    hwi_text_threads(text, selection);
    return HW_OK;
  case HWI_BY_SIZE:
    hwi_text_sizes(text, selection);
    return HW_OK;
  case HWI_BY_ENTRY:
    hwi_text_entries(text, selection);
    return HW_OK;
  case HWI_BY_SCOPE:
    hwi_text_scopes(text, selection);
    return hwi_text_breaches(text, frames, error);
  case HWI_BY_FUNCTION:
  case HWI_BY_FILE:
  case HWI_BY_LINE:
  case HWI_BY_MODULE:
    break;
  }
  return hwi_text_groups(text, selection, frames, error);
}

static int print_ranking(struct hwi_text *text, struct hwi_error *error)
{
  const struct hwi_report_options *options = &text->report->options;
  struct hwi_named_frames frames;
  int status = hwi_named_frames_init(&frames, text->report, error);
  if (status < 0)
    return status;
  struct hwi_runtime_blocks runtime = {.frames = &frames, .suppressions = text->report->suppressions};
  struct hwi_selection selection;
  const struct hwi_stack_filter filter = {hwi_runtime_blocks_keep, &runtime};
  status = hwi_selection_init(&selection, text->report, options->leaks ? &filter : NULL, error);
  if (status == HW_OK) {
    text->runtime = options->leaks ? &runtime : NULL;
    status = print_by(text, &selection, &frames, error);
    if (options->leaks && text->report->suppressions)
      hwi_text_suppressions(text, text->report->suppressions);
    hwi_selection_release(&selection);
  }
  hwi_named_frames_release(&frames);
  return status;
}

bool hwi_text_is_first_screen(const struct hwi_text *text)
{
  const struct hwi_report_options *options = &text->report->options;
  return text->profile->span.kind == HWI_SPAN_RUN && options->by == HWI_BY_STACK && !options->leaks &&
         !options->lifetimes && !options->resizes && !options->rss && !options->durations &&
         options->tree == HWI_TREE_NONE && !hwi_report_is_narrowed(options);
}

/* Sets what all parts need. The caller releases it, also after a failure. */
static int begin(struct hwi_text *text, const struct hwi_report *report, const struct hwi_style *style,
                 struct hwi_error *error)
{
  *text = (struct hwi_text){.report = report,
                            .profile = report->profile,
                            .style = style,
                            .cost = hwi_report_cost(&report->options, report->profile)};
  text->image = hwi_head_image(report->profile, &text->counted);
  return hwi_static_allocators_init(&text->static_allocators, report, error);
}

/* If there was no memory for a line, it is incomplete, and so the report fails. */
static int end(struct hwi_text *text, int status, struct hwi_error *error)
{
  if (status == HW_OK && text->line.failed)
    status = hwi_error_set(error, HW_ERR_MEMORY, "no memory for the report");
  hwi_line_release(&text->line);
  hwi_static_allocators_release(&text->static_allocators);
  return status;
}

static int print_summary(struct hwi_text *text, bool with_chart, struct hwi_error *error)
{
  int status = HW_OK;
  if (text->report->core) {
    hwi_text_core(text, text->report->core);
    hwi_text_blank(text);
    return status;
  }
  hwi_text_overview(text);
  hwi_text_notes(text);
  if (with_chart)
    hwi_text_chart(text);
  if (hwi_text_is_first_screen(text)) /* findings are about a whole run */
    status = hwi_text_findings(text, error);
  hwi_text_heaps(text);
  hwi_text_counters(text);
  if (!text->profile->heap)
    hwi_text_rss(text);
  return status;
}

static int print_tables(struct hwi_text *text, struct hwi_error *error)
{
  if (text->counted > 1)
    hwi_text_images(text);
  int status = HW_OK;
  if (text->report->options.rss)
    hwi_text_rss_along(text);
  else
    status = print_ranking(text, error);
  if (text->report->core) {
    if (text->report->core->contents)
      hwi_text_core_contents(text, text->report->core);
    hwi_text_core_parts(text, text->report->core);
    hwi_text_core_last_calls(text, text->report->core);
    return status;
  }
  hwi_text_blank(text);
  hwi_text_evidence(text);
  return status;
}

int hwi_report_text(const struct hwi_report *report, const struct hwi_style *style, struct hwi_error *error)
{
  struct hwi_text text;
  int status = begin(&text, report, style, error);
  if (status == HW_OK)
    status = print_summary(&text, true, error);
  if (status == HW_OK)
    status = print_tables(&text, error);
  if (status == HW_OK)
    hwi_text_next_command(&text);
  return end(&text, status, error);
}

int hwi_report_text_summary(const struct hwi_report *report, const struct hwi_style *style, struct hwi_error *error)
{
  struct hwi_text text;
  int status = begin(&text, report, style, error);
  if (status == HW_OK)
    status = print_summary(&text, false, error);
  return end(&text, status, error);
}

int hwi_report_text_ranking(const struct hwi_report *report, const struct hwi_style *style, struct hwi_error *error)
{
  struct hwi_text text;
  int status = begin(&text, report, style, error);
  if (status == HW_OK)
    status = print_tables(&text, error);
  return end(&text, status, error);
}
