/* test_history.c - what happened to each cell, along time
 *
 * Breaks if a change is lost or counted twice when slices are joined; if slices overlap, are not in order, or become too
 * many; if the last minute of a long run is not known second by second; if a cut is forgotten while there are few; if an
 * idle time is added to the slice before it; or if the changes or the durations need more memory than they may.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profile/counters/history.h"

enum { CELLS = 50, SECOND = 1 << 30, MS = 1 << 20 };

static struct hwi_history history;
static uint64_t begun[CELLS], freed[CELLS], now_ns;
static struct hwi_live_sum live;

static void begin(uint64_t expected_ns)
{
  memset(begun, 0, sizeof begun);
  memset(freed, 0, sizeof freed);
  live = (struct hwi_live_sum){0};
  now_ns = 0;
  hwi_history_release(&history);
  hwi_history_begin(&history, expected_ns);
}

static void pass_time(uint64_t ns)
{
  now_ns = ns;
  if (ns >= history.slice_end_ns)
    assert_true(hwi_history_advance(&history, ns, &live));
}

/* Blocks have 8 bytes. */
static void allocate(uint32_t cell)
{
  hwi_history_change(&history, cell)->calls++;
  hwi_history_now(&history)->allocation_calls++;
  const struct hwi_block_event call = {.kind = HWI_BLOCK_ALLOC, .entry = 1, .timed = true, .took_ns = cell};
  assert_true(hwi_timed_calls_add(&history.timed_calls, &call));
  begun[cell]++;
  live.blocks++;
  live.bytes += 8;
}

static void release(uint32_t cell)
{
  assert_true(hwi_handovers_add(&history.handovers_now, &(struct hwi_handover){cell % 3, 3, 1, 8}));
  hwi_history_change(&history, cell)->ended[HWI_LIFETIME_LONGER]++;
  freed[cell]++;
  live.blocks--;
  live.bytes -= 8;
}

static void some_events(unsigned count)
{
  for (unsigned i = 0; i < count; i++) {
    const uint32_t cell = (uint32_t)rand() % CELLS;
    if (rand() % 3 && begun[cell] > freed[cell])
      release(cell);
    else
      allocate(cell);
  }
}

static const struct hwi_history_slice *slice_at(uint64_t ns)
{
  uint32_t i = 0;
  while (i + 1 < history.slice_count && history.slices[i + 1].slice.from_ns <= ns)
    i++;
  return &history.slices[i];
}

static uint64_t end_of(const struct hwi_history_slice *slice)
{
  return slice + 1 < history.slices + history.slice_count ? slice[1].slice.from_ns : now_ns;
}

/* Each slice with calls has their durations. */
static void assert_durations_complete(void)
{
  const struct hwi_sliced_durations *along = &history.timed_calls.along;
  size_t part = 0;
  for (uint32_t i = 0; i < history.slice_count; i++) {
    const bool has_calls = history.slices[i].slice.allocation_calls > 0;
    assert_true(!has_calls || (part < along->count && along->parts[part].slice == i));
    assert_true(!has_calls || along->parts[part].calls == history.slices[i].slice.allocation_calls);
    part += has_calls;
  }
  assert_int_equal(part, along->count);
}

/* Ends the history, and compares its sums with the counts of this test. */
static void assert_complete(void)
{
  uint64_t calls[CELLS] = {0}, ended[CELLS] = {0}, blocks = 0;
  size_t at = 0, handover = 0;
  assert_true(hwi_history_end_slice(&history, &live));
  assert_true(history.slice_count <= HWI_HISTORY_SLICES);
  for (uint32_t i = 0; i < history.slice_count; i++) {
    const struct hwi_history_slice *slice = &history.slices[i];
    uint64_t begins = 0, ends = 0, handed_over = 0;
    assert_true(i == 0 || slice->slice.from_ns > slice[-1].slice.from_ns);
    for (; at < slice->changes_end; at++) {
      const struct hwi_cell_change *change = &history.changes[at];
      calls[change->cell] += change->calls;
      begins += change->calls;
      for (int ending = 0; ending < HWI_ENDINGS; ending++)
        ended[change->cell] += change->ended[ending];
      ends += change->ended[HWI_LIFETIME_LONGER];
      blocks += (uint64_t)change->calls - change->ended[HWI_LIFETIME_LONGER];
    }
    for (; handover < slice->handovers_end; handover++)
      handed_over += history.handovers[handover].blocks;
    assert_int_equal(handed_over, ends);
    assert_int_equal(slice->slice.allocation_calls, begins);
    assert_int_equal(slice->slice.live_blocks, blocks);
    assert_int_equal(slice->slice.live_bytes, 8 * blocks);
  }
  assert_int_equal(at, history.change_count);
  assert_int_equal(handover, history.handover_count);
  assert_durations_complete();
  assert_memory_equal(calls, begun, sizeof calls);
  assert_memory_equal(ended, freed, sizeof ended);
}

static void nothing_is_lost(void **state)
{
  (void)state;
  for (uint64_t step = 1; step < UINT64_C(100) * SECOND; step = 7 * step + 1) {
    begin(0);
    for (uint64_t i = 1; i < 2000; i++) {
      pass_time(i * step);
      some_events(5);
    }
    assert_complete();
  }
}

static void the_last_minute_is_kept_by_second(void **state)
{
  (void)state;
  for (uint64_t expected_ns = 0; expected_ns <= UINT64_C(10000) * SECOND; expected_ns += UINT64_C(5000) * SECOND) {
    begin(expected_ns);
    for (uint64_t i = 1; i <= 100000; i++) {
      pass_time(i * (SECOND / 10));
      some_events(1);
    }
    assert_complete();
    for (uint64_t age = 2; age < 59; age++) {
      const struct hwi_history_slice *slice = slice_at(now_ns - age * SECOND);
      assert_true(end_of(slice) - slice->slice.from_ns <= SECOND);
    }
    for (uint32_t i = 0; i < history.slice_count; i++) /* older ones are a fiftieth of the run, or shorter */
      assert_true(end_of(&history.slices[i]) - history.slices[i].slice.from_ns <= now_ns / 50);
  }
}

static void short_runs_have_fine_slices(void **state)
{
  (void)state;
  begin(0);
  for (uint64_t i = 1; i <= 1000; i++) {
    pass_time(i * MS);
    some_events(2);
  }
  assert_complete();
  assert_true(history.slice_count > 50);
}

static void a_cut_stays(void **state)
{
  (void)state;
  enum { CUTS = HWI_HISTORY_CUTS, BETWEEN = 777 };
  uint64_t cuts[CUTS];
  begin(0);
  for (uint64_t cut = 0; cut < CUTS; cut++) {
    for (int i = 0; i < BETWEEN; i++) {
      pass_time(now_ns + SECOND / 3);
      some_events(1);
    }
    cuts[cut] = now_ns + 1;
    assert_true(hwi_history_cut(&history, cuts[cut], HWI_CUT_RESET, &live));
    assert_true(hwi_history_cut(&history, cuts[cut], HWI_CUT_RESET, &live)); /* there already */
  }
  assert_complete();
  for (int cut = 0; cut < CUTS; cut++)
    assert_int_equal(slice_at(cuts[cut])->slice.from_ns, cuts[cut]);
}

/* A history of the same run that has the cuts from its begin, also during an idle time. */
static void another_history_can_have_the_same_cuts(void **state)
{
  (void)state;
  static struct hwi_history other;
  begin(0);
  for (int i = 1; i <= 1000; i++) {
    pass_time(now_ns + SECOND / 3 + (i % 100 ? 0 : 500 * (uint64_t)SECOND));
    some_events(1);
    if (i % 90 == 0)
      assert_true(hwi_history_cut(&history, now_ns + 1, HWI_CUT_RESET, &live));
  }
  other = history;
  history = (struct hwi_history){0};
  begin(0);
  hwi_history_plan_resets(&history, &other);
  for (int i = 1; i <= 1000; i++) {
    pass_time(now_ns + SECOND / 3 + (i % 100 ? 0 : 500 * (uint64_t)SECOND));
    some_events(1);
  }
  assert_complete();
  for (uint32_t i = 0; i < other.slice_count; i++)
    if (other.slices[i].slice.pinned) {
      assert_int_equal(slice_at(other.slices[i].slice.from_ns)->slice.from_ns, other.slices[i].slice.from_ns);
      assert_true(slice_at(other.slices[i].slice.from_ns)->slice.pinned);
    }
  hwi_history_release(&other);
}

static void many_cuts_leave_room(void **state)
{
  (void)state;
  begin(0);
  for (int i = 0; i < 5000; i++) {
    pass_time(now_ns + SECOND / 7);
    some_events(3);
    assert_true(hwi_history_cut(&history, now_ns + 1, HWI_CUT_RESET, &live));
  }
  assert_complete();
}

static void idle_times_are_apart(void **state)
{
  (void)state;
  static const uint64_t idle[] = {3, 50, 1000, 100000};
  for (size_t i = 0; i < sizeof idle / sizeof *idle; i++) {
    begin(0);
    for (int event = 0; event < 4000; event++) {
      pass_time(now_ns + SECOND / 10);
      some_events(1);
    }
    const uint64_t last_ns = now_ns;
    pass_time(now_ns + idle[i] * SECOND);
    assert_complete();
    const struct hwi_history_slice *before = slice_at(last_ns);
    assert_true(end_of(before) <= last_ns + SECOND || idle[i] > 1000); /* after that long, slices are longer */
    assert_true(end_of(slice_at(now_ns - SECOND)) - slice_at(now_ns - SECOND)->slice.from_ns <= SECOND);
  }
}

static void one_call_each(uint32_t cells)
{
  for (uint32_t cell = 0; cell < cells; cell++)
    hwi_history_change(&history, cell)->calls++;
}

/* Ends the history. Returns the calls of all its changes. */
static uint64_t all_calls(void)
{
  uint64_t calls = 0;
  assert_true(hwi_history_end_slice(&history, &live));
  for (size_t i = 0; i < history.change_count; i++)
    calls += history.changes[i].calls;
  return calls;
}

static void many_cells_stay_within_memory(void **state)
{
  (void)state;
  enum { MANY = 300000, ROUNDS = 40 };
  begin(0);
  for (uint64_t round = 1; round <= ROUNDS; round++) {
    pass_time(round * SECOND);
    one_call_each(MANY);
    assert_true(history.change_count <= (2 << 20) + MANY);
  }
  assert_int_equal(all_calls(), MANY * ROUNDS);
}

/* As after days: each of the joined changes has many calls. */
static void counts_beyond_32_bits(void **state)
{
  (void)state;
  enum { SLICES = 400 };
  begin(0);
  for (uint64_t i = 1; i <= SLICES; i++) {
    pass_time(i * SECOND);
    hwi_history_change(&history, 0)->calls = HWI_CHANGE_CALLS - 1;
    hwi_history_change(&history, 0)->calls++;
    hwi_history_change(&history, 0)->calls++;
    hwi_history_change(&history, 0)->ended[0] = UINT32_MAX;
  }
  assert_true(hwi_history_end_slice(&history, &live));
  uint64_t calls = 0, ended = 0;
  for (size_t i = 0; i < history.change_count; i++) {
    calls += history.changes[i].calls;
    ended += history.changes[i].ended[0];
  }
  assert_int_equal(calls, SLICES * (HWI_CHANGE_CALLS + UINT64_C(1)));
  assert_int_equal(ended, SLICES * (uint64_t)UINT32_MAX);
}

/* With too many threads, the durations of each are given up, but those of all are counted on. */
static void durations_by_thread_stay_within_memory(void **state)
{
  (void)state;
  begin(0);
  for (uint32_t thread = 0; thread <= HWI_TIMED_THREADS_MAX; thread++) {
    const struct hwi_block_event call = {
        .kind = HWI_BLOCK_ALLOC, .entry = 1, .thread = thread, .timed = true, .took_ns = 7};
    assert_int_equal(history.timed_calls.thread_count, thread);
    assert_true(hwi_timed_calls_add(&history.timed_calls, &call));
  }
  assert_true(history.timed_calls.has_too_many_threads);
  assert_int_equal(history.timed_calls.thread_count, 0);
  assert_int_equal(history.timed_calls.all.entries[1].calls, HWI_TIMED_THREADS_MAX + 1);
}

/* With more cells than all slices may have changes of, cuts are given up before memory is. */
static void many_cells_and_cuts_come_to_an_end(void **state)
{
  (void)state;
  enum { MANY = 300000, ROUNDS = 30 };
  begin(0);
  for (uint64_t round = 1; round <= ROUNDS; round++) {
    pass_time(round * SECOND);
    one_call_each(MANY);
    assert_true(hwi_history_cut(&history, now_ns + 1, round % 2 ? HWI_CUT_RESET : HWI_CUT_MARK, &live));
  }
  assert_int_equal(all_calls(), MANY * ROUNDS);
}

/* A program that marks many moments does not make the viewer's reset be forgotten. */
static void marks_do_not_displace_a_reset(void **state)
{
  (void)state;
  begin(0);
  pass_time(SECOND / 2);
  hwi_history_plan_reset(&history, now_ns + 1);
  for (int i = 0; i < 3000; i++) {
    pass_time(now_ns + SECOND / 20);
    some_events(1);
    assert_true(hwi_history_cut(&history, now_ns, HWI_CUT_MARK, &live));
  }
  assert_complete();
  assert_int_equal(slice_at(SECOND / 2 + 1)->slice.from_ns, SECOND / 2 + 1);
}

static int release_all(void **state)
{
  (void)state;
  hwi_history_release(&history);
  return 0;
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_is_lost),
      cmocka_unit_test(the_last_minute_is_kept_by_second),
      cmocka_unit_test(short_runs_have_fine_slices),
      cmocka_unit_test(a_cut_stays),
      cmocka_unit_test(many_cuts_leave_room),
      cmocka_unit_test(many_cells_and_cuts_come_to_an_end),
      cmocka_unit_test(marks_do_not_displace_a_reset),
      cmocka_unit_test(another_history_can_have_the_same_cuts),
      cmocka_unit_test(idle_times_are_apart),
      cmocka_unit_test(many_cells_stay_within_memory),
      cmocka_unit_test(counts_beyond_32_bits),
      cmocka_unit_test(durations_by_thread_stay_within_memory),
  };
  return cmocka_run_group_tests(tests, NULL, release_all);
}
