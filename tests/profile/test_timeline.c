/* test_timeline.c - slices of a span, and of its parts one after the other
 *
 * Breaks if a slice is merged with the wrong neighbour when the span does not begin at an even number, or if the parts
 * of a span do not give the slices of the whole.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "profile/counters/timeline.h"

enum { PART_EVENTS = 37 };

/* Live bytes, with a block of one byte for each. */
struct state {
  uint64_t level, ns;
};

/* An event at `ns`: the level is derived from the time. */
static void step(struct hwi_timeline *t, struct state *state, uint64_t ns)
{
  state->ns = ns;
  if (ns >= t->slice_end_ns)
    hwi_timeline_advance(t, ns, state->level, state->level);
  uint64_t level = ns * 7919 % 1000;
  struct hwi_time_point *point = &t->points[t->current];
  point->allocation_calls += level >= state->level;
  point->free_calls += level < state->level;
  state->level = level;
  if (level > point->max_bytes)
    point->max_bytes = level;
}

static uint64_t next_ns(uint64_t ns)
{
  return ns + 1 + ns * 31 % 5;
}

static void run(struct hwi_timeline *t, uint64_t start_ns, uint64_t expected_ns, uint64_t end_ns)
{
  struct state state = {0};
  hwi_timeline_init(t, start_ns, expected_ns, 0);
  for (uint64_t ns = start_ns; ns < end_ns; ns = next_ns(ns))
    step(t, &state, ns);
  hwi_timeline_finish(t, end_ns, state.level, state.level);
}

static void run_in_parts(struct hwi_timeline *t, uint64_t start_ns, uint64_t expected_ns, uint64_t end_ns)
{
  static struct hwi_timeline part;
  struct state state = {0};
  uint64_t ns = start_ns;
  hwi_timeline_init(t, start_ns, expected_ns, 0);
  while (ns < end_ns) {
    uint64_t before = state.level;
    hwi_timeline_init(&part, ns, 0, before);
    for (int i = 0; i < PART_EVENTS && ns < end_ns; i++, ns = next_ns(ns))
      step(&part, &state, ns);
    hwi_timeline_finish(&part, part.slice_end_ns, state.level, state.level);
    hwi_timeline_append(t, &part, before, before);
  }
  hwi_timeline_finish(t, end_ns, state.level, state.level);
}

static void assert_same(const struct hwi_timeline *a, const struct hwi_timeline *b)
{
  assert_int_equal(a->width_ns, b->width_ns);
  assert_int_equal(a->first, b->first);
  assert_int_equal(a->current, b->current);
  assert_memory_equal(a->points, b->points, (a->current + 1) * sizeof *a->points);
}

static void any_start_and_length(void **state)
{
  (void)state;
  static struct hwi_timeline known, unknown, parts;
  for (uint64_t start_ns = 0; start_ns < 40; start_ns++)
    for (uint64_t length = 1; length < 40000; length += length / 3 + 1) {
      run(&known, start_ns, length - 1, start_ns + length);
      run(&unknown, start_ns, 0, start_ns + length);
      assert_same(&known, &unknown);
      run_in_parts(&parts, start_ns, length - 1, start_ns + length);
      assert_same(&known, &parts);
      run_in_parts(&parts, start_ns, 0, start_ns + length);
      assert_same(&known, &parts);
      assert_true(known.current < HWI_TIMELINE_POINTS &&
                  (length < 4000 || known.current >= HWI_TIMELINE_POINTS / 2 - 1));
      for (uint32_t i = 0; i <= known.current; i++)
        assert_int_equal(known.points[i].ns, (start_ns / known.width_ns + i + 1) * known.width_ns);
    }
}

static void coarser_ones_hold_the_same(void **state)
{
  (void)state;
  static struct hwi_timeline t;
  run(&t, 13, 0, 9000);
  uint64_t calls = 0, coarse_calls = 0, last = t.points[t.current].live_bytes;
  for (uint32_t i = 0; i <= t.current; i++)
    calls += t.points[i].allocation_calls;
  hwi_timeline_coarsen(&t, 100);
  assert_true(t.current < 100 && t.current >= 40);
  for (uint32_t i = 0; i <= t.current; i++)
    coarse_calls += t.points[i].allocation_calls;
  assert_int_equal(coarse_calls, calls);
  assert_int_equal(t.points[t.current].live_bytes, last);
  hwi_timeline_coarsen(&t, 1);
  assert_int_equal(t.current, 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(any_start_and_length),
      cmocka_unit_test(coarser_ones_hold_the_same),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
