/* test_durations.c - counts, quantiles and the slowest calls, compared with plain lists of the same calls
 *
 * Breaks if a bucket is wider than promised or begins elsewhere, if a rank is off by one, if the heap loses a slow
 * call, or if a realloc counts twice; if a call is counted in another slice or band over time, or if the first or last
 * moment is not in the table.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profile/counters/durations.h"

enum { CALLS = 20000, ALONG_CALLS = 5000, KEPT = 37 };

static uint64_t random_state = 1;

static uint64_t next_random(void)
{
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return random_state >> 20;
}

/* Of all magnitudes. */
static uint64_t random_ns(void)
{
  return next_random() >> next_random() % 44;
}

static void add(struct hwi_durations *durations, uint8_t entry, uint64_t ns, uint64_t took_ns)
{
  const struct hwi_block_event event = {
      .ns = ns, .kind = HWI_BLOCK_ALLOC, .entry = entry, .timed = true, .took_ns = took_ns};
  assert_true(hwi_durations_add(durations, &event));
}

static int compare_numbers(const void *left, const void *right)
{
  uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  return a < b ? -1 : a > b;
}

static void buckets_join_without_gaps(void **state)
{
  (void)state;
  assert_int_equal(hwi_duration_bucket_from(0), 0);
  for (uint32_t i = 0; i + 1 < HWI_DURATION_BUCKETS; i++) {
    uint64_t from = hwi_duration_bucket_from(i), to = hwi_duration_bucket_to(i);
    assert_int_equal(hwi_duration_bucket_from(i + 1), to + 1);
    assert_true((to - from) * 128 <= from);
  }
  assert_int_equal(hwi_duration_bucket_to(HWI_DURATION_BUCKETS - 1), UINT64_MAX);
}

static void each_duration_is_in_its_bucket(void **state)
{
  (void)state;
  for (int i = 0; i < CALLS; i++) {
    uint64_t ns = i < 1000 ? (uint64_t)i : i < 1010 ? UINT64_MAX >> (i - 1000) : random_ns();
    struct hwi_durations durations = {0};
    uint32_t bucket = 0;
    add(&durations, HW_ENTRY_MALLOC, 0, ns);
    while (!durations.entries[HW_ENTRY_MALLOC].buckets[bucket])
      bucket++;
    assert_in_range(ns, hwi_duration_bucket_from(bucket), hwi_duration_bucket_to(bucket));
    assert_int_equal(hwi_duration_quantile(&durations.entries[HW_ENTRY_MALLOC], 5000), ns);
    hwi_durations_release(&durations);
    i += i > 1100 ? 97 : 0;
  }
}

static void quantiles_are_those_of_the_sorted_list(void **state)
{
  (void)state;
  static uint64_t list[CALLS];
  struct hwi_durations durations = {0};
  uint64_t sum = 0;
  for (int i = 0; i < CALLS; i++) {
    list[i] = random_ns();
    sum += list[i];
    add(&durations, i % 3 ? HW_ENTRY_MALLOC : HW_ENTRY_FREE, (uint64_t)i, list[i]);
  }
  struct hwi_duration_tally all;
  assert_true(hwi_durations_sum(&durations, &all));
  qsort(list, CALLS, sizeof *list, compare_numbers);
  assert_int_equal(all.calls, CALLS);
  assert_int_equal(all.sum_ns, sum);
  assert_int_equal(all.max_ns, list[CALLS - 1]);
  static const uint32_t parts[] = {1, 5000, 9000, 9900, 9990, 9999, 10000};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    uint64_t exact = list[((uint64_t)CALLS * parts[i] + 9999) / 10000 - 1];
    uint64_t told = hwi_duration_quantile(&all, parts[i]);
    assert_in_range(told, exact, exact + exact / 128);
  }
  assert_int_equal(durations.entries[HW_ENTRY_FREE].calls, (CALLS + 2) / 3);
  hwi_duration_tally_release(&all);
  hwi_durations_release(&durations);
}

/* Nearest rank: of two calls the first is the median; of 10,000 the last but one is the 99.99th percentile. */
static void ranks_are_the_nearest(void **state)
{
  (void)state;
  struct hwi_durations durations = {0};
  const struct hwi_duration_tally *tally = &durations.entries[HW_ENTRY_MALLOC];
  add(&durations, HW_ENTRY_MALLOC, 0, 7);
  add(&durations, HW_ENTRY_MALLOC, 0, 100);
  assert_int_equal(hwi_duration_quantile(tally, 5000), 7);
  assert_int_equal(hwi_duration_quantile(tally, 5001), 100);
  for (int i = 2; i < 9999; i++)
    add(&durations, HW_ENTRY_MALLOC, 0, 7);
  add(&durations, HW_ENTRY_MALLOC, 0, 2000000);
  assert_int_equal(tally->calls, 10000);
  assert_int_equal(hwi_duration_quantile(tally, 9998), 7);
  assert_int_equal(hwi_duration_quantile(tally, 9999), 100);
  assert_int_equal(hwi_duration_quantile(tally, 10000), 2000000);
  hwi_durations_release(&durations);
}

static void the_slowest_are_kept_in_order(void **state)
{
  (void)state;
  static uint64_t list[CALLS];
  for (size_t kept = 0; kept <= KEPT; kept++) {
    struct hwi_durations durations = {.slow_max = kept};
    size_t count = kept % 2 ? CALLS / 20 : KEPT / 2;
    for (size_t i = 0; i < count; i++) {
      list[i] = next_random() % 500; /* so that many durations are equal */
      add(&durations, HW_ENTRY_MALLOC, i, list[i]);
    }
    hwi_durations_sort(&durations);
    qsort(list, count, sizeof *list, compare_numbers);
    assert_int_equal(durations.slow_count, kept < count ? kept : count);
    for (size_t i = 0; i < durations.slow_count; i++) {
      const struct hwi_slow_call *call = &durations.slowest[i];
      assert_int_equal(call->took_ns, list[count - 1 - i]);
      assert_true(i == 0 || call[-1].took_ns > call->took_ns || call[-1].ns < call->ns);
    }
    hwi_durations_release(&durations);
  }
}

static void calls_count_once_and_others_not_at_all(void **state)
{
  (void)state;
  struct hwi_durations durations = {.slow_max = 10};
  const struct hwi_block_event events[] = {
      {.kind = HWI_BLOCK_FREE, .entry = HW_ENTRY_REALLOC, .moved = true},
      {.kind = HWI_BLOCK_ALLOC, .entry = HW_ENTRY_REALLOC, .moved = true, .timed = true, .took_ns = 50, .stack = 4},
      {.kind = HWI_BLOCK_FREE, .entry = HW_ENTRY_REALLOC, .timed = true, .took_ns = 60}, /* to size 0 */
      {.kind = HWI_BLOCK_FREE_UNKNOWN, .entry = HW_ENTRY_FREE, .timed = true, .took_ns = 70},
      {.kind = HWI_BLOCK_FAILED, .entry = HW_ENTRY_MALLOC, .timed = true, .took_ns = 80},
      {.kind = HWI_BLOCK_FREE_MISSED, .entry = HW_ENTRY_MALLOC},
      {.kind = HWI_BLOCK_LEFT},
      {.kind = HWI_BLOCK_ALLOC, .entry = HW_ENTRY_MALLOC}, /* not timed */
      {.kind = HWI_BLOCK_ALLOC, .entry = 255, .timed = true, .took_ns = 90},
  };
  for (size_t i = 0; i < sizeof events / sizeof *events; i++)
    assert_true(hwi_durations_add(&durations, &events[i]));
  assert_int_equal(durations.entries[HW_ENTRY_REALLOC].calls, 2);
  assert_int_equal(durations.entries[HW_ENTRY_REALLOC].sum_ns, 110);
  assert_int_equal(durations.entries[HW_ENTRY_REALLOC].untimed, 0);
  assert_int_equal(durations.entries[HW_ENTRY_FREE].calls, 1);
  assert_int_equal(durations.entries[HW_ENTRY_MALLOC].calls, 1);
  assert_int_equal(durations.entries[HW_ENTRY_MALLOC].untimed, 1);
  assert_int_equal(durations.entries[HW_ENTRY_NONE].max_ns, 90);
  hwi_durations_sort(&durations);
  assert_int_equal(durations.slow_count, 5);
  assert_true(durations.slowest[1].failed && durations.slowest[2].is_free && !durations.slowest[4].is_free);
  assert_int_equal(durations.slowest[4].stack, 4);
  hwi_durations_release(&durations);
}

/* --- over time --- */

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
  for (int i = 0; i < ALONG_CALLS; i++) {
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
      cmocka_unit_test(buckets_join_without_gaps),
      cmocka_unit_test(each_duration_is_in_its_bucket),
      cmocka_unit_test(quantiles_are_those_of_the_sorted_list),
      cmocka_unit_test(ranks_are_the_nearest),
      cmocka_unit_test(the_slowest_are_kept_in_order),
      cmocka_unit_test(calls_count_once_and_others_not_at_all),
      cmocka_unit_test(bands_join_without_gaps),
      cmocka_unit_test(each_call_is_in_its_cell),
      cmocka_unit_test(what_is_outside_counts_at_the_edge),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
