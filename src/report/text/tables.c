/* tables.c - the rankings by thread, by block size and by entry point: one line each */
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>

#include "base/wide.h"
#include "report/content/findings.h"
#include "report/selection/entries.h"
#include "report/text/text.h"

struct row {
  struct hwi_amount amount;
  uint32_t index; /* of the thread, size or entry point */
};

static int compare_rows(const void *left, const void *right, void *context)
{
  enum hwi_cost cost = *(const enum hwi_cost *)context;
  const struct row *a = left, *b = right;
  uint64_t cost_a = hwi_amount_cost(&a->amount, cost), cost_b = hwi_amount_cost(&b->amount, cost);
  if (cost_a != cost_b)
    return cost_a > cost_b ? -1 : 1;
  return a->index < b->index ? -1 : a->index > b->index;
}

typedef void finish_row(struct hwi_text *text, const struct hwi_narrowing *filter, uint32_t index);
static finish_row finish_thread, finish_size, finish_entry;

/* `finish` adds a row's name. `rows` gets sorted. */
static void print_rows(struct hwi_text *text, struct row *rows, uint32_t count, const struct hwi_selection *selection,
                       finish_row *finish)
{
  enum hwi_cost cost = text->cost;
  qsort_r(rows, count, sizeof *rows, compare_rows, &cost);
  struct hwi_amount rest = {0};
  uint64_t all = hwi_amount_cost(&selection->all, cost);
  uint32_t worth = finish == finish_thread ? count : 0; /* a thread whose cost is 0 may free other threads' blocks */
  while (worth < count && hwi_amount_cost(&rows[worth].amount, cost) > 0)
    worth++;
  uint64_t shown = hwi_text_rows(text, worth);
  if (worth == 0)
    hwi_text_none(text);
  for (uint64_t i = 0; i < worth; i++) {
    if (i >= shown) {
      hwi_amount_add(&rest, &rows[i].amount);
      continue;
    }
    hwi_text_cost(text, i + 1, hwi_amount_cost(&rows[i].amount, cost), all);
    hwi_text_amounts(text, &rows[i].amount);
    finish(text, &selection->narrowing, rows[i].index);
    hwi_text_end(text, HWI_PLAIN);
  }
  if (shown == worth)
    return;
  hwi_text_cost(text, 0, hwi_amount_cost(&rest, cost), all);
  hwi_line_puts(&text->line, "   ");
  hwi_text_rest(text, worth - shown,
                finish == finish_thread ? "thread"
                : finish == finish_size ? "size"
                                        : "entry point");
  hwi_text_end(text, HWI_PLAIN);
}

static struct row *create_rows(struct hwi_text *text, uint32_t count)
{
  struct row *rows = calloc((size_t)count + 1, sizeof *rows);
  if (!rows)
    text->line.failed = true;
  return rows;
}

/* --- threads --- */

static const char *policy_name(uint8_t policy)
{
  const char *real_time = hwi_real_time_policy(policy);
  if (real_time)
    return real_time;
  return policy == SCHED_BATCH ? "BATCH" : policy == SCHED_IDLE ? "IDLE" : ""; /* the usual policy is not mentioned */
}

/* A sample's errors take the place of the last column where lines are short. */
static bool has_room_for_last(const struct hwi_text *text)
{
  return text->style->columns >= HWI_NARROW_COLUMNS || !text->profile->sample_bytes;
}

static bool has_room_for_own_peak(const struct hwi_text *text)
{
  return text->style->columns >= HWI_NARROW_COLUMNS && text->profile->span.kind != HWI_SPAN_MOMENT;
}

static void finish_thread(struct hwi_text *text, const struct hwi_narrowing *filter, uint32_t index)
{
  const struct hwi_profile_thread *thread = &text->profile->threads[index];
  bool is_whole = !hwi_narrowing_splits_threads(filter);
  if (is_whole && has_room_for_own_peak(text))
    hwi_line_right(&text->line, hwi_bytes_text(thread->own_peak_bytes).text, HWI_AMOUNT_CELLS);
  if (is_whole && has_room_for_last(text))
    hwi_line_right(&text->line, hwi_count_text(thread->foreign_frees).text, HWI_AMOUNT_CELLS);
  hwi_line_puts(&text->line, "   ");
  hwi_line_clean(&text->line, thread->name[0] != '\0' ? thread->name : "?");
  hwi_line_printf(&text->line, " (%" PRIu32 ")", thread->tid);
  const char *policy = policy_name(thread->policy);
  if (*policy != '\0')
    hwi_line_printf(&text->line, "  %s %d", policy, thread->priority);
}

/* In a sample, the calls and bytes of each whole thread may be known exactly. */
static bool knows_calls_of_threads(const struct hwi_profile *profile, const struct hwi_selection *selection)
{
  return profile->sample_bytes && profile->calls_are_exact && !hwi_narrowing_splits_threads(&selection->narrowing);
}

/* Replaces the estimates of a thread's calls by the exact ones, which have no error, and adds these to `all`. */
static void take_exact_calls(struct hwi_amount *amount, const struct hwi_profile_thread *thread, struct hwi_amount *all)
{
  amount->calls = thread->allocation_calls;
  amount->bytes = thread->allocated_bytes;
  amount->variance.calls = amount->variance.bytes = 0;
  all->calls += amount->calls;
  all->bytes += amount->bytes;
}

void hwi_text_threads(struct hwi_text *text, const struct hwi_selection *selection)
{
  const struct hwi_profile *profile = text->profile;
  const bool knows_calls = knows_calls_of_threads(profile, selection);
  struct hwi_selection shown = *selection;
  struct row *rows = create_rows(text, profile->thread_count);
  struct hwi_amount *amounts = hwi_amounts_by_thread(profile, &selection->narrowing);
  uint32_t count = 0;
  if (knows_calls)
    shown.all.calls = shown.all.bytes = 0;
  for (uint32_t i = 0; i < profile->thread_count && rows && amounts; i++) {
    if (knows_calls)
      take_exact_calls(&amounts[i], &profile->threads[i], &shown.all);
    bool is_left = selection->narrowing.rule_count == 0 || !hwi_amount_is_nothing(&amounts[i]);
    if (is_left && hwi_narrowing_keeps_thread(&selection->narrowing, i))
      rows[count++] = (struct row){.index = i, .amount = amounts[i]};
  }
  hwi_text_heading(text, "Threads, by what they allocated", HWI_TEXT_BY);
  hwi_text_filter(text, selection);
  if (knows_calls) {
    hwi_line_puts(&text->line, "  Calls and allocated bytes are exact, the other figures are estimates.");
    hwi_text_end_wrapped(text, 2, HWI_PLAIN);
  }
  hwi_text_amount_titles(text);
  bool is_whole = !hwi_narrowing_splits_threads(&selection->narrowing);
  if (is_whole && has_room_for_own_peak(text))
    hwi_line_right(&text->line, "own peak", HWI_AMOUNT_CELLS);
  if (is_whole && has_room_for_last(text))
    hwi_line_right(&text->line, "freed others'", HWI_AMOUNT_CELLS + 2);
  hwi_line_puts(&text->line, "   name (id)");
  hwi_text_end(text, HWI_DIM);
  if (rows && amounts)
    print_rows(text, rows, count, &shown, finish_thread);
  else
    text->line.failed = true;
  free(amounts);
  free(rows);
  if (selection->narrowing.rule_count == 0)
    hwi_text_handovers(text);
}

/* --- classes of sizes --- */

enum { RANGE_CELLS = 21, GAP_CELLS = 3, BARS_MIN = 16, BARS_MAX = 100 };

/* Finds the most bytes that the class held in each of `count` equal parts of the run, at the sampled moments. */
static uint64_t fill_bars(uint64_t *bars, unsigned count, const struct hwi_profile *profile, unsigned class)
{
  uint64_t most = 0;
  for (uint32_t i = 0; i < profile->class_point_count; i++) {
    unsigned bar = (unsigned)((uint64_t)i * count / profile->class_point_count);
    uint64_t bytes = profile->class_points[i].live_bytes[class];
    bars[bar] = bytes > bars[bar] ? bytes : bars[bar];
    most = bytes > most ? bytes : most;
  }
  return most;
}

/* Each class has its own scale: its highest bar is the most that it held. A value above 0 is always visible. */
static void add_bars(struct hwi_text *text, const uint64_t *bars, unsigned count, uint64_t most)
{
  static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  static const char *const ascii[] = {" ", ".", ".", ":", ":", ":", "#", "#", "#"};
  enum { HEIGHTS = sizeof blocks / sizeof *blocks - 1 };
  for (unsigned i = 0; i < count; i++) {
    uint64_t height = most > 0 ? hwi_wide_share(bars[i], HEIGHTS, 0, most) : 0;
    if (height == 0 && bars[i] > 0)
      height = 1;
    hwi_line_puts(&text->line, text->style->utf8 ? blocks[height] : ascii[height]);
  }
}

/* Returns how many bars there is room for, at most one for each moment. */
static unsigned bar_count(const struct hwi_text *text)
{
  size_t used = GAP_CELLS + RANGE_CELLS + 3 * HWI_AMOUNT_CELLS + GAP_CELLS;
  size_t room = text->style->columns > used ? text->style->columns - used : 0;
  size_t most = text->profile->class_point_count < BARS_MAX ? text->profile->class_point_count : BARS_MAX;
  room = room < most ? room : most;
  return room >= BARS_MIN ? (unsigned)room : 0;
}

static void print_class_titles(struct hwi_text *text, unsigned bars)
{
  hwi_line_right(&text->line, "block sizes", GAP_CELLS + RANGE_CELLS);
  hwi_line_right(&text->line, "calls", HWI_AMOUNT_CELLS);
  hwi_line_right(&text->line, "at peak", HWI_AMOUNT_CELLS);
  char end[sizeof(struct hwi_number) + sizeof "at "];
  snprintf(end, sizeof end, "at %s", hwi_text_end_name(text).text);
  hwi_line_right(&text->line, end, HWI_AMOUNT_CELLS);
  if (bars > 0)
    hwi_line_puts(&text->line, "   along time");
  hwi_text_end(text, HWI_DIM);
}

static void print_class(struct hwi_text *text, unsigned class, const struct hwi_amount *amount, unsigned bar_total)
{
  uint64_t bars[BARS_MAX] = {0};
  char range[2 * sizeof(struct hwi_number) + sizeof " to  B"];
  snprintf(range, sizeof range, "%s to %s B", hwi_count_text(hwi_size_class_least(class)).text,
           hwi_count_text(hwi_size_class_most(class)).text);
  if (hwi_cells(range) > RANGE_CELLS) /* large sizes need no exact limits */
    snprintf(range, sizeof range, "%s to %s", hwi_bytes_text(hwi_size_class_least(class)).text,
             hwi_bytes_text(hwi_size_class_most(class)).text);
  hwi_line_right(&text->line, range, GAP_CELLS + RANGE_CELLS);
  hwi_line_right(&text->line, hwi_count_text(amount->calls).text, HWI_AMOUNT_CELLS);
  hwi_line_right(&text->line, hwi_bytes_text(amount->peak_bytes).text, HWI_AMOUNT_CELLS);
  hwi_line_right(&text->line, hwi_bytes_text(amount->live_bytes).text, HWI_AMOUNT_CELLS);
  if (bar_total > 0) {
    hwi_line_repeat(&text->line, " ", GAP_CELLS);
    uint64_t most = fill_bars(bars, bar_total, text->profile, class);
    add_bars(text, bars, bar_total, most);
  }
  hwi_text_end(text, HWI_PLAIN);
}

/* Prints, below the sizes, their classes with their live bytes along the run as a line of bars. */
static void print_size_classes(struct hwi_text *text)
{
  if (text->profile->class_point_count == 0)
    return;
  struct hwi_size_classes classes;
  unsigned bars = bar_count(text);
  hwi_size_classes_of(&classes, text->profile);
  hwi_text_blank(text);
  hwi_line_puts(&text->line, "Sizes by classes");
  hwi_text_end(text, HWI_BOLD);
  print_class_titles(text, bars);
  for (unsigned class = 0; class < HWI_SIZE_CLASSES; class ++) {
    if (!hwi_amount_is_nothing(&classes.items[class]))
      print_class(text, class, &classes.items[class], bars);
  }
}

/* --- sizes --- */

/* Whether there is a column for what rounding adds at the peak: usable sizes are known, and there is room. */
static bool has_slack(const struct hwi_text *text)
{
  return text->style->columns >= HWI_NARROW_COLUMNS && text->profile->totals.peak_usable_bytes > 0;
}

static void finish_size(struct hwi_text *text, const struct hwi_narrowing *filter, uint32_t index)
{
  const struct hwi_size *size = &text->profile->sizes[index];
  char exact[sizeof(struct hwi_number) + sizeof " B"]; /* here a size is a name, so it is not rounded */
  snprintf(exact, sizeof exact, "%s B", hwi_count_text(size->size).text);
  hwi_line_right(&text->line, exact, HWI_AMOUNT_CELLS + 2);
  if (!hwi_narrowing_splits_sizes(filter) && has_room_for_last(text))
    hwi_line_right(&text->line, hwi_count_text(size->own_peak_blocks).text, HWI_AMOUNT_CELLS);
  uint64_t asked = size->peak_blocks * size->size;
  if (!hwi_narrowing_splits_sizes(filter) && has_slack(text))
    hwi_line_right(&text->line, hwi_bytes_text(size->peak_usable > asked ? size->peak_usable - asked : 0).text,
                   HWI_AMOUNT_CELLS);
}

void hwi_text_sizes(struct hwi_text *text, const struct hwi_selection *selection)
{
  const bool is_moment = text->profile->span.kind == HWI_SPAN_MOMENT;
  const struct hwi_profile *profile = text->profile;
  struct row *rows = create_rows(text, profile->size_count);
  struct hwi_amount *amounts = hwi_amounts_by_size(profile, &selection->narrowing);
  for (uint32_t i = 0; i < profile->size_count && rows && amounts; i++)
    rows[i] = (struct row){.index = i, .amount = amounts[i]};
  hwi_text_heading(text, "Block sizes", text->report->core ? HWI_TEXT_BY_OF_CORE : HWI_TEXT_BY);
  hwi_text_filter(text, selection);
  hwi_text_amount_titles(text);
  hwi_line_right(&text->line, "block size", HWI_AMOUNT_CELLS + 2);
  if (!hwi_narrowing_splits_sizes(&selection->narrowing) && has_room_for_last(text))
    hwi_line_right(&text->line, is_moment ? "blocks" : "most at once", HWI_AMOUNT_CELLS + (is_moment ? 0 : 2));
  if (!hwi_narrowing_splits_sizes(&selection->narrowing) && has_slack(text))
    hwi_line_right(&text->line, "slack", HWI_AMOUNT_CELLS - 2);
  hwi_text_end(text, HWI_DIM);
  if (rows && amounts)
    print_rows(text, rows, profile->size_count, selection, finish_size);
  else
    text->line.failed = true;
  free(amounts);
  free(rows);
  if (selection->narrowing.rule_count == 0)
    print_size_classes(text);
}

/* --- entry points --- */

static void finish_entry(struct hwi_text *text, const struct hwi_narrowing *filter, uint32_t index)
{
  (void)filter;
  hwi_line_printf(&text->line, "   %s", hwi_entry_shown(index));
}

/* Failed calls are in no ranking. */
static void print_failed(struct hwi_text *text, const struct hwi_entries *entries)
{
  const char *before = "  failed: ";
  for (uint32_t i = 0; i < HW_ENTRY_COUNT; i++) {
    if (entries->failed_calls[i] == 0)
      continue;
    hwi_line_printf(&text->line, "%s%s of %s", before, hwi_count_text(entries->failed_calls[i]).text,
                    hwi_entry_shown(i));
    before = ", ";
  }
  if (text->line.bytes > 0)
    hwi_text_end_wrapped(text, 4, HWI_PLAIN);
}

void hwi_text_entries(struct hwi_text *text, const struct hwi_selection *selection)
{
  struct row rows[HW_ENTRY_COUNT];
  struct hwi_entries entries;
  hwi_entries_of(&entries, text->profile, selection);
  for (uint32_t i = 0; i < HW_ENTRY_COUNT; i++)
    rows[i] = (struct row){.index = i, .amount = entries.amounts[i]};
  struct hwi_line heading = {0};
  hwi_line_puts(&heading, "Entry points");
  hwi_text_cost_words(&heading, text);
  hwi_text_heading(text, hwi_line_text(&heading), HWI_TEXT_BY);
  hwi_line_release_part(&text->line, &heading);
  hwi_text_filter(text, selection);
  hwi_text_amount_titles(text);
  hwi_line_puts(&text->line, "   entry point");
  hwi_text_end(text, HWI_DIM);
  print_rows(text, rows, HW_ENTRY_COUNT, selection, finish_entry);
  if (!hwi_narrowing_splits_stacks(&selection->narrowing))
    print_failed(text, &entries);
}
