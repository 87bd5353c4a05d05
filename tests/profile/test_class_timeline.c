/* test_class_timeline.c - classes of sizes over a run that is longer, or shorter, than expected
 *
 * Breaks if a size at the very limit of a class is in the wrong one; if there are more moments than there is room for;
 * if moments do not rise, or do not have equal distances after every other one was removed; or if the end is listed
 * twice.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "profile/counters/class_timeline.h"

static struct hwi_class_timeline timeline;

/* At time t, t blocks of 100 bytes are live. */
static uint32_t run(uint64_t expected_ns, uint64_t end_ns)
{
  struct hwi_size_tally sizes[2] = {{0}, {.size = 100}};
  struct hwi_tally tally = {.sizes = sizes, .size_count = 2};
  hwi_class_timeline_init(&timeline, 0, expected_ns);
  for (uint64_t ns = 1; ns <= end_ns; ns++) {
    if (ns >= timeline.next_ns)
      hwi_class_timeline_advance(&timeline, ns, &tally);
    assert_true(timeline.count < HWI_CLASS_POINTS);
    sizes[1].live = ns;
  }
  return hwi_class_timeline_finish(&timeline, end_ns, &tally);
}

/* The live blocks immediately before a moment are those of the tick before; at the end, the live blocks. */
static void assert_points(uint32_t count, uint64_t end_ns)
{
  uint64_t width = timeline.points[0].ns;
  assert_true(count > 0 && count <= HWI_CLASS_POINTS);
  for (uint32_t i = 0; i + 1 < count; i++) {
    assert_int_equal(timeline.points[i].ns, (i + 1) * width);
    assert_int_equal(timeline.points[i].live_bytes[hwi_size_class(100)], (timeline.points[i].ns - 1) * 100);
  }
  assert_int_equal(timeline.points[count - 1].ns, end_ns);
  assert_int_equal(timeline.points[count - 1].live_bytes[hwi_size_class(100)], end_ns * 100);
}

static void runs_of_any_length(void **state)
{
  (void)state;
  for (uint64_t end_ns = 1; end_ns < 5000; end_ns += end_ns < 900 ? 1 : 37) {
    assert_points(run(0, end_ns), end_ns);
    assert_points(run(1000, end_ns), end_ns);
  }
}

static void as_long_as_expected_is_fine_enough(void **state)
{
  (void)state;
  assert_true(run(100000, 100000) > HWI_CLASS_POINTS / 2 - 1);
}

static void sizes_at_limits(void **state)
{
  (void)state;
  assert_int_equal(hwi_size_class(0), 0);
  assert_int_equal(hwi_size_class(16), 0);
  assert_int_equal(hwi_size_class(17), 1);
  assert_int_equal(hwi_size_class(32), 1);
  assert_int_equal(hwi_size_class(33), 2);
  assert_int_equal(hwi_size_class((UINT64_C(1) << 63) + 1), HWI_SIZE_CLASSES - 1);
  assert_int_equal(hwi_size_class(UINT64_MAX), HWI_SIZE_CLASSES - 1);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(runs_of_any_length),
      cmocka_unit_test(as_long_as_expected_is_fine_enough),
      cmocka_unit_test(sizes_at_limits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
