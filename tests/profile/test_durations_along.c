/* test_durations_along.c - the cells of calls over time, compared with a plain count of the same calls
 *
 * Breaks if a call is counted in another slice or band, if the first or last moment is not in the table, or if there is
 * a gap between buckets.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "profile/counters/durations.h"

enum { CALLS = 5000 };
static const uint64_t from_ns = 1000, to_ns = 1000 + 256 * 977;

static void bands_join_without_gaps(void **state)
{
  (void)state;
  for (uint32_t band = 0; band + 1 < HWI_ALONG_BANDS; band++) {
    uint64_t from = hwi_log_bucket_from(band, HWI_ALONG_BAND_BITS), to = hwi_log_bucket_to(band, HWI_ALONG_BAND_BITS);
    assert_int_equal(hwi_log_bucket_from(band + 1, HWI_ALONG_BAND_BITS), to + 1);
    assert_int_equal(hwi_log_bucket_of(from, HWI_ALONG_BAND_BITS), band);
    assert_int_equal(hwi_log_bucket_of(to, HWI_ALONG_BAND_BITS), band);
    assert_true((to - from) << HWI_ALONG_BAND_BITS <= from);
  }
  assert_int_equal(hwi_log_bucket_of(UINT64_MAX, HWI_ALONG_BAND_BITS), HWI_ALONG_BANDS - 1);
}

static void each_call_is_in_its_cell(void **state)
{
  (void)state;
  static uint64_t expected[HWI_ALONG_SLICES][HWI_ALONG_BANDS];
  struct hwi_durations_along along;
  hwi_durations_along_init(&along, from_ns, to_ns);
  srand(1);
  for (int i = 0; i < CALLS; i++) {
    uint64_t ns = from_ns + (uint64_t)rand() % (to_ns - from_ns + 1), took_ns = (uint64_t)rand() >> rand() % 30;
    assert_true(hwi_durations_along_add(&along, 3, ns, took_ns));
    expected[(ns - from_ns) / along.slice_ns][hwi_log_bucket_of(took_ns, HWI_ALONG_BAND_BITS)]++;
  }
  for (uint32_t slice = 0; slice < HWI_ALONG_SLICES; slice++) {
    for (uint32_t band = 0; band < HWI_ALONG_BANDS; band++) {
      assert_int_equal(hwi_durations_along_cell(&along, 3, slice, band), expected[slice][band]);
      assert_int_equal(hwi_durations_along_cell(&along, 4, slice, band), 0);
    }
  }
  hwi_durations_along_release(&along);
}

static void what_is_outside_counts_at_the_edge(void **state)
{
  (void)state;
  struct hwi_durations_along along;
  hwi_durations_along_init(&along, from_ns, from_ns); /* a duration of 0 */
  assert_true(hwi_durations_along_add(&along, 0, 0, UINT64_MAX));
  assert_true(hwi_durations_along_add(&along, 0, UINT64_MAX, 0));
  assert_int_equal(hwi_durations_along_cell(&along, 0, 0, HWI_ALONG_BANDS - 1), 1);
  assert_int_equal(hwi_durations_along_cell(&along, 0, HWI_ALONG_SLICES - 1, 0), 1);
  hwi_durations_along_release(&along);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bands_join_without_gaps),
      cmocka_unit_test(each_call_is_in_its_cell),
      cmocka_unit_test(what_is_outside_counts_at_the_edge),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
