/* test_rss_parts.c - the parts of resident memory: rounding is the difference between usable and requested sizes, also
 * for requests of 0 bytes; and which sample is reported as that of the peak */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "platform/os_tools.h"
#include "report/content/rss_parts.h"

static struct hwi_rss_parts parts_at_peak(uint64_t peak_bytes, uint64_t peak_usable_bytes)
{
  const struct hwi_profile profile = {
      .totals = {.peak_bytes = peak_bytes, .peak_usable_bytes = peak_usable_bytes, .peak_time_ns = 1000},
      .span = {.kind = HWI_SPAN_MOMENT, .from_ns = 1000}};
  const struct hwi_rss_point point = {.ns = 1000, .sample = {.mapped = 100000, .heap = 40000, .files = 50000}};
  return hwi_rss_parts_of(&profile, &point);
}

static void rounding_is_what_usable_sizes_add(void **state)
{
  (void)state;
  struct hwi_rss_parts parts = parts_at_peak(10000, 12000);
  assert_int_equal(parts.asked, 10000);
  assert_int_equal(parts.rounding, 2000);
  assert_int_equal(parts.free, 28000);
  assert_int_equal(parts.other, 10000);
  assert_int_equal(parts_at_peak(10000, 0).rounding, 0);
}

/* A quotient of zeros used to become exabytes, at a moment at which only blocks of malloc(0) are live. */
static void blocks_of_no_bytes_are_all_rounding(void **state)
{
  (void)state;
  struct hwi_rss_parts parts = parts_at_peak(0, 2400);
  assert_int_equal(parts.asked, 0);
  assert_int_equal(parts.rounding, 2400);
  assert_int_equal(parts.free, 40000 - 2400);
}

/* A third of a Python program's resident memory used to be reported as free inside the allocator, though it was in the
 * arenas that Python maps itself. Another allocator's memory looks the same. */
static void what_the_program_maps_itself_is_not_free(void **state)
{
  (void)state;
  enum { LARGE = HWI_OS_LARGE_BLOCK_BYTES };
  const struct hwi_size sizes[] = {{.size = LARGE, .own_peak_blocks = 1, .peak_blocks = 1}};
  struct hwi_note note = {.kind = HW_NOTE_BOOT_BLOCKS, .text = ""};
  const struct hwi_trace_info info = {.notes = &note, .note_count = 1};
  const struct hwi_image image = {.info = &info, .counted = true};
  const struct hwi_profile profile = {.totals = {.peak_bytes = LARGE + 1000, .peak_time_ns = 1000},
                                      .span = {.kind = HWI_SPAN_MOMENT, .from_ns = 1000},
                                      .sizes = sizes,
                                      .size_count = 1,
                                      .images = &image,
                                      .image_count = 1};
  const struct hwi_rss_point point = {
      .ns = 1000, .sample = {.mapped = 5 * LARGE, .heap = 4 * LARGE, .large = 3 * LARGE, .files = LARGE}};
  struct hwi_rss_parts parts = hwi_rss_parts_of(&profile, &point);
  assert_int_equal(parts.own, 2 * LARGE);
  assert_int_equal(parts.free, LARGE - 1000);
  note.kind = HW_NOTE_ALLOCATOR;
  parts = hwi_rss_parts_of(&profile, &point);
  assert_int_equal(parts.own, 0);
  assert_int_equal(parts.free, 3 * LARGE - 1000);
}

/* A start with hardly any live memory used to be reported as "near the peak", since the mappings had been read only
 * then. */
static void a_sample_of_the_start_is_not_near_the_peak(void **state)
{
  (void)state;
  enum { MS = 1000000 };
  const struct hwi_time_point timeline[] = {{.ns = 100 * MS, .live_bytes = 1000},
                                            {.ns = 900 * MS, .live_bytes = 80000},
                                            {.ns = 1300 * MS, .live_bytes = 90000}};
  const struct hwi_profile profile = {.totals = {.peak_bytes = 100000, .peak_time_ns = 1250 * MS},
                                      .span = {.kind = HWI_SPAN_RUN},
                                      .timeline = timeline,
                                      .timeline_count = sizeof timeline / sizeof *timeline};
  struct hwi_rss_point points[] = {{.ns = 90 * MS, .sample = {.rss = 50000, .mapped = 50000}},
                                   {.ns = 700 * MS, .sample = {.rss = 130000}},
                                   {.ns = 850 * MS, .sample = {.rss = 150000}}};
  struct hwi_trace_info info = {.rss = points, .rss_count = 3};
  assert_ptr_equal(hwi_rss_point_of_peak(&profile, &info), &points[2]);
  points[1].sample.mapped = 130000;
  assert_ptr_equal(hwi_rss_point_of_peak(&profile, &info), &points[1]); /* it contains more */
  info.rss_count = 1;
  assert_ptr_equal(hwi_rss_point_of_peak(&profile, &info), &points[0]); /* there is no other */
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rounding_is_what_usable_sizes_add),
      cmocka_unit_test(blocks_of_no_bytes_are_all_rounding),
      cmocka_unit_test(what_the_program_maps_itself_is_not_free),
      cmocka_unit_test(a_sample_of_the_start_is_not_near_the_peak),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
