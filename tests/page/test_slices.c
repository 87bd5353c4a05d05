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

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(two_become_one_up_to_what_is_pinned),
      cmocka_unit_test(what_is_pinned_stays_so),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
