/* test_slices.c - slices of time that are merged
 *
 * Breaks if events are lost or counted twice when two slices are merged, or if the moment of the peak, or of a mark,
 * can no longer be selected.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "page/slices.h"

enum { SLICES = 10, PEAK = 2, MARKED = 5 };

static struct hwi_page_slices make_slices(void)
{
  struct hwi_page_slices slices = {.count = SLICES, .peak = PEAK};
  for (uint32_t i = 0; i < SLICES; i++)
    slices.items[i] = (struct hwi_slice){.from_ns = i * 100,
                                         .allocation_calls = 1 << i,
                                         .free_calls = 2 << i,
                                         .failed_calls = 3 << i,
                                         .temporary_calls = 4 << i,
                                         .allocated_bytes = 5 << i,
                                         .live_bytes = i + 10,
                                         .live_blocks = i + 20,
                                         .usable_bytes = i + 30,
                                         .min_bytes = 50 - i,
                                         .max_bytes = i % 2 == 0 ? 70 : 60,
                                         .pinned = i == PEAK + 1 || i == MARKED};
  return slices;
}

static void two_become_one_up_to_what_is_pinned(void **state)
{
  (void)state;
  static const uint32_t first[] = {0, 2, 3, 5, 7, 9}, expected_to[SLICES] = {0, 0, 1, 2, 2, 3, 3, 4, 4, 5};
  const uint32_t kept = sizeof first / sizeof *first;
  struct hwi_page_slices slices = make_slices();
  uint32_t to[HWI_PAGE_SLICES_MAX];
  hwi_page_slices_join(&slices, to);
  assert_memory_equal(to, expected_to, sizeof expected_to);
  assert_int_equal(slices.count, kept);
  assert_int_equal(slices.peak, 1);
  for (uint32_t i = 0; i < kept; i++) {
    const struct hwi_slice *slice = &slices.items[i];
    uint32_t last = i + 1 < kept ? first[i + 1] - 1 : SLICES - 1;
    uint64_t bits = (2U << last) - (1U << first[i]);
    assert_int_equal(slice->from_ns, first[i] * 100);
    assert_int_equal(slice->allocation_calls, bits);
    assert_int_equal(slice->free_calls, 2 * bits);
    assert_int_equal(slice->failed_calls, 3 * bits);
    assert_int_equal(slice->temporary_calls, 4 * bits);
    assert_int_equal(slice->allocated_bytes, 5 * bits);
    assert_int_equal(slice->live_bytes, last + 10);
    assert_int_equal(slice->live_blocks, last + 20);
    assert_int_equal(slice->usable_bytes, last + 30);
    assert_int_equal(slice->min_bytes, 50 - last);
    assert_int_equal(slice->max_bytes, first[i] == last && last % 2 == 1 ? 60 : 70);
  }
}

static void what_is_pinned_stays_so(void **state)
{
  (void)state;
  struct hwi_page_slices slices = make_slices();
  uint32_t to[HWI_PAGE_SLICES_MAX];
  for (int i = 0; i < 5; i++)
    hwi_page_slices_join(&slices, to);
  assert_int_equal(slices.count, 3);
  assert_int_equal(slices.items[1].from_ns, (PEAK + 1) * 100);
  assert_int_equal(slices.items[2].from_ns, MARKED * 100);
  assert_int_equal(slices.peak, 0);
}

/* The cut is in the third of five slices. */
static void dropped_events_are_in_their_slices(void **state)
{
  (void)state;
  static const struct hwi_time_point dropped[] = {
      {.ns = 90,
       .live_bytes = 30,
       .live_blocks = 3,
       .max_bytes = 50,
       .allocation_calls = 3,
       .free_calls = 2,
       .allocated_bytes = 60},
      {.ns = 190,
       .live_bytes = 10,
       .live_blocks = 1,
       .max_bytes = 80,
       .allocation_calls = 4,
       .free_calls = 6,
       .allocated_bytes = 90},
      {.ns = 250,
       .live_bytes = 12,
       .live_blocks = 2,
       .max_bytes = 20,
       .allocation_calls = 1,
       .free_calls = 1,
       .allocated_bytes = 8},
  };
  const struct hwi_profile profile = {.duration_ns = 500,
                                      .dropped_slices = dropped,
                                      .dropped_slice_count = sizeof dropped / sizeof *dropped,
                                      .totals = {.peak_bytes = 85, .peak_blocks = 9, .peak_time_ns = 199}};
  struct hwi_page_slices slices = {.count = 5, .peak = 1};
  for (uint32_t i = 0; i < slices.count; i++)
    slices.items[i] = (struct hwi_slice){.from_ns = i * 100, .live_bytes = 5, .min_bytes = 4, .max_bytes = 6};
  slices.items[0].allocation_calls = 10;
  slices.items[0].free_calls = 8; /* one is missing */
  slices.items[0].allocated_bytes = 200;
  slices.items[2].max_bytes = 95;
  hwi_page_slices_spread_dropped(&slices, &profile);
  hwi_page_slices_level_dropped(&slices, &profile);
  static const uint64_t expected[][6] = {
      {5, 1, 102, 30, 0, 80}, {4, 6, 90, 85, 10, 85}, {1, 1, 8, 5, 5, 95}, {0, 0, 0, 5, 4, 6}};
  for (uint32_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    const struct hwi_slice *slice = &slices.items[i];
    const uint64_t found[] = {slice->allocation_calls, slice->free_calls, slice->allocated_bytes,
                              slice->live_bytes,       slice->min_bytes,  slice->max_bytes};
    assert_memory_equal(found, expected[i], sizeof found);
  }
  assert_int_equal(slices.items[1].live_blocks, 9);
}

/* A run that is followed has no slice that ends at the peak. */
static void a_peak_within_a_slice_is_not_its_end(void **state)
{
  (void)state;
  static const struct hwi_time_point dropped[] = {{.ns = 300, .live_bytes = 7, .max_bytes = 85}};
  const struct hwi_profile profile = {.duration_ns = 500,
                                      .dropped_slices = dropped,
                                      .dropped_slice_count = 1,
                                      .totals = {.peak_bytes = 85, .peak_time_ns = 150}};
  struct hwi_page_slices slices = {.count = 5, .peak = 1};
  for (uint32_t i = 0; i < slices.count; i++)
    slices.items[i].from_ns = i * 100;
  hwi_page_slices_level_dropped(&slices, &profile);
  assert_int_equal(slices.items[1].max_bytes, 85);
  assert_int_equal(slices.items[1].live_bytes, 0);
  assert_int_equal(slices.items[2].live_bytes, 7);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(two_become_one_up_to_what_is_pinned),
      cmocka_unit_test(what_is_pinned_stays_so),
      cmocka_unit_test(dropped_events_are_in_their_slices),
      cmocka_unit_test(a_peak_within_a_slice_is_not_its_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
