/* test_findings.c - findings of profiles made by hand
 *
 * Breaks if a gap of RSS is shown at the first of several times at which it is larger than at the peak, instead of the
 * largest; if a mapped database is called memory that is in no block; or if a report advises to keep a growing buffer
 * within its object.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/content/findings.h"

enum { MB = 1000000, MS = 1000000 };

/* --- RSS gaps --- */

/* A run that holds 100 MB at its peak, and nothing after that. */
static struct hwi_findings findings_of_rss(struct hwi_rss_point *points, uint32_t count)
{
  static const struct hwi_time_point timeline[] = {{.ns = 100 * MS, .live_bytes = 100 * MB},
                                                   {.ns = 900 * MS, .live_bytes = 0}};
  static struct hwi_trace_info info;
  info =
      (struct hwi_trace_info){.rss = points, .rss_count = count, .duration_ns = 900 * MS, .silent_from_ns = UINT64_MAX};
  static const struct hwi_stack unknown;
  const struct hwi_image image = {.info = &info, .counted = true};
  const struct hwi_profile profile = {.totals = {.peak_bytes = 100 * MB, .peak_time_ns = 100 * MS},
                                      .duration_ns = 900 * MS,
                                      .timeline = timeline,
                                      .timeline_count = sizeof timeline / sizeof *timeline,
                                      .stacks = &unknown,
                                      .stack_count = 1,
                                      .images = &image,
                                      .image_count = 1};
  struct hwi_findings findings;
  hwi_findings_find(&findings, &profile);
  return findings;
}

static void the_largest_gap_is_told(void **state)
{
  (void)state;
  struct hwi_rss_point points[] = {{.ns = 100 * MS, .sample = {.mapped = 200 * MB, .heap = 200 * MB}},
                                   {.ns = 400 * MS, .sample = {.mapped = 150 * MB, .heap = 150 * MB}},
                                   {.ns = 600 * MS, .sample = {.mapped = 160 * MB, .heap = 160 * MB}},
                                   {.ns = 800 * MS, .sample = {.mapped = 90 * MB, .heap = 90 * MB}}};
  struct hwi_findings findings = findings_of_rss(points, 4);
  assert_int_equal(findings.count, 1);
  assert_int_equal(findings.items[0].figures[0], 160 * MB);
  assert_int_equal(findings.items[0].figures[3], 600 * MS);
  points[1].sample.mapped = points[1].sample.heap = 105 * MB; /* hardly more than at the peak */
  points[2].sample.mapped = points[2].sample.heap = 105 * MB;
  findings = findings_of_rss(points, 4);
  assert_int_equal(findings.items[0].figures[0], 100 * MB);
  assert_int_equal(findings.items[0].figures[3], 100 * MS);
}

static void pages_of_files_are_no_gap(void **state)
{
  (void)state;
  struct hwi_rss_point points[] = {
      {.ns = 100 * MS, .sample = {.mapped = 900 * MB, .heap = 110 * MB, .files = 790 * MB}}};
  assert_int_equal(findings_of_rss(points, 1).count, 0);
  points[0].sample.heap = 200 * MB; /* a gap next to them */
  points[0].sample.mapped = 990 * MB;
  struct hwi_findings findings = findings_of_rss(points, 1);
  assert_int_equal(findings.count, 1);
  assert_int_equal(findings.items[0].figures[0], 100 * MB);
  assert_string_equal(findings.items[0].part, "free_bytes");
}

/* --- advice --- */

static void what_grows_wants_no_inline_buffer(void **state)
{
  (void)state;
  const struct hwi_stack stacks[] = {{0},
                                     {.calls = 50000, .largest = 64, .lifetimes = {50000}},
                                     {.calls = 40000, .largest = 32, .lifetimes = {40000}}};
  struct hwi_stack_resizes resizes[] = {{.stack = 1, .steps = {.steps = 40000, .grown = 40000}}};
  const struct hwi_profile profile = {.totals = {.allocation_calls = 90000, .allocated_bytes = 90000 * 64},
                                      .stacks = stacks,
                                      .stack_count = 3,
                                      .resizes = resizes,
                                      .resize_count = 1};
  struct hwi_findings findings;
  hwi_findings_find(&findings, &profile);
  assert_int_equal(findings.count, 2);
  assert_int_equal(findings.items[0].kind, HWI_FINDING_RESERVE);
  assert_int_equal(findings.items[1].kind, HWI_FINDING_INLINE_BUFFER);
  assert_int_equal(findings.items[1].stack, 2);
  resizes[0].steps.grown = 400; /* sometimes */
  hwi_findings_find(&findings, &profile);
  assert_int_equal(findings.count, 1);
  assert_int_equal(findings.items[0].stack, 1);
}

/* --- scopes --- */

static struct hwi_findings findings_of_scopes(const struct hwi_scope *scopes, uint32_t count)
{
  static const struct hwi_stack unknown;
  const struct hwi_profile profile = {
      .stacks = &unknown, .stack_count = 1, .scopes = scopes, .scope_count = count, .duration_ns = MS};
  struct hwi_findings findings;
  hwi_findings_find(&findings, &profile);
  return findings;
}

static void an_instance_after_the_warm_up_matters_most(void **state)
{
  (void)state;
  const struct hwi_scope scopes[] = {
      {0},
      {.depth = 1, .instances = 5000, .allocating = 3, .last_allocating = 3, .first_quiet = 4},
      {.depth = 1, .instances = 1000, .allocating = 4, .last_allocating = 812, .first_quiet = 4},
      {.outer = 2, .depth = 2, .instances = 1000, .allocating = 4, .last_allocating = 812, .first_quiet = 4},
      {.depth = 1, .instances = 9000, .allocating = 4000, .last_allocating = 8999, .first_quiet = 2}, /* as usual */
      {.depth = 1, .instances = 9000, .allocating = 9000, .last_allocating = 9000},
      {.depth = 1, .instances = 9000, .first_quiet = 1},
      {.depth = 1, .instances = 9, .allocating = 1, .last_allocating = 1, .first_quiet = 2}, /* too few */
  };
  struct hwi_findings findings = findings_of_scopes(scopes, sizeof scopes / sizeof *scopes);
  assert_int_equal(findings.count, 1);
  assert_int_equal(findings.items[0].kind, HWI_FINDING_WARM_UP);
  assert_int_equal(findings.items[0].scope, 3);
  assert_int_equal(findings.items[0].figures[2], 3);
  assert_int_equal(findings.items[0].figures[3], 812);
  findings = findings_of_scopes(scopes, 2);
  assert_int_equal(findings.items[0].scope, 1);
  assert_int_equal(findings.items[0].figures[1], 3);
}

static void scopes_that_always_or_never_allocate_do_not_stand_out(void **state)
{
  (void)state;
  const struct hwi_scope scopes[] = {
      {0},
      {.depth = 1, .instances = 9000, .allocating = 9000, .last_allocating = 9000},
      {.depth = 1, .instances = 9000, .first_quiet = 1},
      {.depth = 1, .instances = 9000, .allocating = 4000, .last_allocating = 8999, .first_quiet = 2},
      {.depth = 1, .instances = 9, .allocating = 1, .last_allocating = 1, .first_quiet = 2},
  };
  assert_int_equal(findings_of_scopes(scopes, sizeof scopes / sizeof *scopes).count, 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_largest_gap_is_told),
      cmocka_unit_test(pages_of_files_are_no_gap),
      cmocka_unit_test(what_grows_wants_no_inline_buffer),
      cmocka_unit_test(an_instance_after_the_warm_up_matters_most),
      cmocka_unit_test(scopes_that_always_or_never_allocate_do_not_stand_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
