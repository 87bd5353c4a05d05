/* test_text.c - the text report, word by word: the first thing that an engineer reads must not change by accident
 *
 * Each text is compared with tests/report/golden/NAME.txt. HW_UPDATE_GOLDEN=1 writes these files again; check them
 * then.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <locale.h>
#include <stdlib.h>

#include "report/words/line.h"
#include "report/words/style.h"
#include "sample_profile.h"

static struct sample sample;
static struct hwi_report report;
static struct hwi_style style;

static int begin(void **state)
{
  (void)state;
  sample_init(&sample);
  report = sample_report(&sample);
  style = (struct hwi_style){.columns = 100, .utf8 = true};
  return setlocale(LC_CTYPE, "C.UTF-8") != NULL ? 0 : -1;
}

static char *print(void)
{
  char *text = NULL;
  size_t bytes = 0;
  style.out = open_memstream(&text, &bytes);
  assert_non_null(style.out);
  struct hwi_error error = {0};
  assert_int_equal(hwi_report_text(&report, &style, &error), 0);
  fclose(style.out);
  return text;
}

static char *read_all(const char *path)
{
  static char text[65536];
  FILE *file = fopen(path, "r");
  if (file == NULL)
    return NULL;
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  return text;
}

static void assert_looks_like(const char *name)
{
  char path[512];
  snprintf(path, sizeof path, "%s/tests/report/golden/%s.txt", HW_SOURCE_DIR, name);
  char *text = print();
  if (getenv("HW_UPDATE_GOLDEN") != NULL) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
  }
  const char *golden = read_all(path);
  if (golden == NULL)
    fail_msg("%s is missing", path);
  assert_string_equal(text, golden);
  free(text);
}

static void first_screen_at_three_widths(void **state)
{
  (void)state;
  style.columns = 80;
  assert_looks_like("first-80");
  style.columns = 100;
  assert_looks_like("first-100");
  style.columns = 200;
  assert_looks_like("first-200");
}

static void ascii_without_utf8(void **state)
{
  (void)state;
  style.utf8 = false;
  assert_looks_like("first-ascii");
}

static void all_frames(void **state)
{
  (void)state;
  report.options.all_frames = true;
  assert_looks_like("frames-all");
}

static void leaks(void **state)
{
  (void)state;
  report.options.leaks = true;
  assert_looks_like("leaks");
}

static void groups(void **state)
{
  static const char *const names[] = {"by-stack",  "by-function", "by-file", "by-line",
                                      "by-module", "by-thread",   "by-size"};
  (void)state;
  for (int by = HWI_BY_FUNCTION; by <= HWI_BY_SIZE; by++) {
    report.options.by = by;
    assert_looks_like(names[by]);
  }
}

static void trees(void **state)
{
  (void)state;
  report.options.by = HWI_BY_FUNCTION;
  report.options.min_share = HWI_MIN_SHARE_DEFAULT;
  report.options.tree = HWI_TREE_CALLERS;
  style.columns = 80;
  assert_looks_like("tree-80");
  style.columns = 200;
  assert_looks_like("tree-200");
  style.columns = 100;
  style.utf8 = false;
  report.options.tree = HWI_TREE_CALLEES;
  assert_looks_like("tree-callees-ascii");
  style.utf8 = true;
  report.options.all_frames = true;
  report.options.top = 2;
  report.options.cost = HWI_COST_CALLS;
  assert_looks_like("tree-all-frames");
}

static void costs(void **state)
{
  static const char *const names[] = {"cost-peak", "cost-live", "cost-calls", "cost-bytes", "cost-temporary"};
  (void)state;
  report.options.top = 2;
  for (int cost = HWI_COST_LIVE; cost <= HWI_COST_TEMPORARY; cost++) {
    report.options.cost = cost;
    assert_looks_like(names[cost]);
  }
}

static void one_thread(void **state)
{
  (void)state;
  report.options.thread = "cont*";
  assert_looks_like("thread");
}

static void lifetimes(void **state)
{
  (void)state;
  memcpy(sample.stacks[1].lifetimes, (const uint64_t[HWI_LIFETIMES]){4, 23000, 101, 3},
         sizeof sample.stacks[1].lifetimes);
  memcpy(sample.stacks[2].lifetimes, (const uint64_t[HWI_LIFETIMES]){0, 0, 0, 0, 0, 1},
         sizeof sample.stacks[2].lifetimes);
  report.options.lifetimes = true;
  assert_looks_like("lifetimes");
}

static void few_calls_are_summed(void **state)
{
  (void)state;
  report.options.min_calls = 2;
  report.options.top = 1;
  assert_looks_like("min-calls");
}

/* Everything that can be wrong with a recording is reported before the figures. */
static void troubles(void **state)
{
  static const struct hwi_mark marks[] = {{50000000000, HW_TOOL_PAUSED, ""},
                                          {80000000000, HW_TOOL_RESUMED, ""},
                                          {120000000000, HW_TOOL_MARK, "map loaded"}};
  static const struct hwi_note notes[] = {{HW_NOTE_OWN_MALLOC, "/opt/lib/libtuned.so"}, {HW_NOTE_BOOT_BLOCKS, "3"}};
  static const struct hwi_rss_point rss[] = {{431000000000,
                                              {.rss = 588400000,
                                               .file = 38000000,
                                               .recorder = 8000000,
                                               .stacks = 12300000,
                                               .mapped = 588400000,
                                               .heap = 530100000,
                                               .files = 38000000}}};
  (void)state;
  sample.info.marks = marks, sample.info.mark_count = 3;
  sample.info.notes = notes, sample.info.note_count = 2;
  sample.info.rss = rss, sample.info.rss_count = 1;
  sample.profile.totals.peak_usable_bytes = 434000000;
  sample.profile.totals.unmatched_frees = 7;
  sample.info.header.state = HW_STATE_STOPPED_DISK;
  sample.info.silent_from_ns = 500000000000;
  sample.info.damaged_chunks = 2, sample.info.first_damage_off = 123456;
  sample.info.header.lost_events = 12;
  sample.info.header.truncated_stacks = 5;
  sample.info.children_unseen = 1;
  sample.exit.signal = 9;
  report.options.top = 1;
  assert_looks_like("troubles");
}

static void assert_says(const char *text, bool said)
{
  char *all = print();
  if ((strstr(all, text) != NULL) != said)
    fail_msg("%s: %s\n%s", said ? "missing" : "unexpected", text, all);
  free(all);
}

/* Events that were lost because recording stopped are covered by the note on the silence; events that were lost while
 * it went on need their own note. */
static void losses_are_told_once(void **state)
{
  (void)state;
  assert_says("recording      complete", true);
  sample.info.header.lost_events = 12;
  assert_says("recording       partial", true);
  assert_says("Lost: 12 events could not be kept.", true);
  sample.info.header.lost_by_cause[HW_LOSS_NESTED] = 9, sample.info.header.lost_by_cause[HW_LOSS_MEMORY] = 3;
  style.columns = 200;
  assert_says(
      "Lost: 12 events could not be kept: 9 in signal handlers that interrupted another handler's call, 3 for lack of memory.",
      true);
  sample.info.header.state = HW_STATE_STOPPED_LIMIT;
  sample.info.silent_from_ns = 500000000000;
  assert_says("Silent from 500.0 s on (size limit of the trace reached)", true);
  assert_says("Lost:", false);
}

static void pieces_that_are_missing_are_told_with_those_that_are_damaged(void **state)
{
  (void)state;
  sample.info.missing_chunks = 1;
  assert_says("Damaged: 1 piece of the trace is missing; no figure includes its events.", true);
  sample.info.damaged_chunks = 1, sample.info.first_damage_off = 4096;
  style.columns = 200;
  assert_says(
      "Damaged: 1 piece of the trace could not be read (the first at offset 4096), and 1 more is missing; no figure "
      "includes their events.",
      true);
}

/* The recording began paused, and no mark shows when. */
static void a_recording_that_began_paused_was_silent_first(void **state)
{
  static const struct hwi_mark resumed = {80000000000, HW_TOOL_RESUMED, ""};
  (void)state;
  style.columns = 200;
  sample.info.header.started_paused = 1;
  assert_says("recording       partial", true);
  assert_says("Silent from 0 s on (paused): what came later is not in these figures.", true);
  assert_says("silent 0 s to the end (paused)", true);
  sample.info.marks = &resumed, sample.info.mark_count = 1;
  assert_says("recording       partial", true);
  assert_says("; silent 0 s to 80.0 s (paused)", true);
}

static void a_run_of_several_processes(void **state)
{
  (void)state;
  sample.images[1].counted = true;
  sample.info.being_written = true;
  report.options.top = 1;
  assert_looks_like("children");
}

/* It is as complete as one that goes on. */
static void a_trace_that_was_saved_while_the_program_ran(void **state)
{
  (void)state;
  sample.info.header.state = HW_STATE_SAVED;
  sample.info.silent_from_ns = sample.info.duration_ns;
  style.columns = 200;
  assert_says("still running when saved", true);
  assert_says("Saved while the program ran: this is the recording up to then; \"at the end\" means that moment.", true);
  assert_says("recording      going on", true);
  assert_says("never silent", true);
  assert_says("Silent from", false);
  sample.info.header.lost_events = 12;
  assert_says("recording       partial", true);
  assert_says("Lost: 12 events could not be kept.", true);
}

static void next_steps_on_a_terminal_only(void **state)
{
  (void)state;
  report.options.top = 1;
  report.trace = "./a name.hwt";
  style.terminal = style.colour = true;
  char *text = print();
  assert_non_null(strstr(text, "Next: heapwright report --leaks './a name.hwt'")); /* something grows */
  assert_non_null(strstr(text, "\033[1m"));
  free(text);
  style.terminal = style.colour = false;
  text = print();
  assert_null(strstr(text, "Next:"));
  assert_null(strstr(text, "\033"));
  free(text);
}

/* The report has no finding on a program that starts, works and ends. */
static void nothing_stands_out_when_nothing_does(void **state)
{
  (void)state;
  char *text = print();
  assert_non_null(strstr(text, "What stands out"));
  free(text);
  sample.growing.to_bytes = sample.profile.totals.peak_bytes / 2000; /* too little for a line */
  sample.threads[1].policy = 0;
  static const struct hwi_profile_cell small[] = {
      {.stack = 2, .size = 4, .calls = 80, .peak_blocks = 80}}; /* of 1.2 MB */
  sample.profile.cells = small;
  sample.profile.cell_count = 1;
  sample.profile.totals.failed_calls = 0;
  sample.profile.totals.temporary_calls = sample.profile.totals.allocation_calls / 3;
  text = print();
  assert_null(strstr(text, "What stands out"));
  free(text);
}

static void assert_fits(void)
{
  for (style.columns = 80; style.columns <= 240; style.columns += 7) {
    char *text = print();
    for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL;) {
      if (hwi_cells(line) > style.columns)
        fail_msg("wider than %u: %s", style.columns, line);
      assert_null(strchr(line, '\033'));
    }
    free(text);
  }
}

/* Names from a trace cannot control the terminal, and no line is wider than requested. */
static void every_line_fits_and_is_clean(void **state)
{
  (void)state;
  report.options.top = 0;
  report.options.cost = HWI_COST_BYTES;
  assert_fits();
  report.options.by = HWI_BY_LINE;
  for (int shape = 0; shape < 4; shape++) {
    report.options.tree = shape & 1 ? HWI_TREE_CALLERS : HWI_TREE_CALLEES;
    report.options.all_frames = shape & 2;
    assert_fits();
  }
}

/* A program that allocated nothing and of which nothing else is known. */
static void nothing_at_all(void **state)
{
  static const struct hwi_profile empty = {.stack_count = 1, .frame_count = 1, .module_count = 1};
  (void)state;
  report.profile = &empty;
  for (int by = HWI_BY_STACK; by <= HWI_BY_SIZE; by++) {
    report.options.by = by;
    free(print());
  }
  report.options.by = HWI_BY_FUNCTION;
  report.options.tree = HWI_TREE_CALLERS;
  free(print());
  report.options.by = HWI_BY_STACK;
  report.options.tree = HWI_TREE_NONE;
  assert_looks_like("nothing");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(first_screen_at_three_widths, begin),
      cmocka_unit_test_setup(ascii_without_utf8, begin),
      cmocka_unit_test_setup(all_frames, begin),
      cmocka_unit_test_setup(leaks, begin),
      cmocka_unit_test_setup(groups, begin),
      cmocka_unit_test_setup(trees, begin),
      cmocka_unit_test_setup(costs, begin),
      cmocka_unit_test_setup(one_thread, begin),
      cmocka_unit_test_setup(lifetimes, begin),
      cmocka_unit_test_setup(few_calls_are_summed, begin),
      cmocka_unit_test_setup(troubles, begin),
      cmocka_unit_test_setup(losses_are_told_once, begin),
      cmocka_unit_test_setup(pieces_that_are_missing_are_told_with_those_that_are_damaged, begin),
      cmocka_unit_test_setup(a_recording_that_began_paused_was_silent_first, begin),
      cmocka_unit_test_setup(a_run_of_several_processes, begin),
      cmocka_unit_test_setup(a_trace_that_was_saved_while_the_program_ran, begin),
      cmocka_unit_test_setup(next_steps_on_a_terminal_only, begin),
      cmocka_unit_test_setup(nothing_stands_out_when_nothing_does, begin),
      cmocka_unit_test_setup(every_line_fits_and_is_clean, begin),
      cmocka_unit_test_setup(nothing_at_all, begin),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
