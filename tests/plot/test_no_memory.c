/* test_no_memory.c - when memory runs out, no chart is written, whichever call of malloc fails
 *
 * Breaks if a result of malloc is not checked; if a script lacks a part for which there was no memory, especially a
 * name; or if memory is not freed after an error.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../report/small_run.h"
#include "../trace/failing_malloc.h"
#include "plot/plot.h"

enum { CALLS_MOST = 5000, SCRIPT_MOST = 1 << 18 };

static char expected[SCRIPT_MOST];
static struct small_run run;
static struct hwi_profile *before; /* its state in its first nanosecond */

typedef int writer(FILE *out, struct hwi_error *error);

/* Each writes its script to `out`. */

static int write_charts(FILE *out, struct hwi_error *error)
{
  struct hwi_plot_request request = {.report = small_run_report(&run), .form = HWI_PLOT_SCRIPT};
  for (enum hwi_chart chart = 0; chart < HWI_CHARTS; chart++)
    request.charts[request.chart_count++] = chart;
  return hwi_plot_write(&request, out, error);
}

static int write_pages(FILE *out, struct hwi_error *error)
{
  struct hwi_plot_request request = {.report = small_run_report(&run), .form = HWI_PLOT_SCRIPT};
  return hwi_plot_write(&request, out, error);
}

/* The old run is the same one, with only its first block. */
static int write_diff(FILE *out, struct hwi_error *error)
{
  const struct hwi_profile *const profiles[HWI_SIDES] = {before, run.profile};
  const struct hwi_names names[HWI_SIDES] = {nameless_names, nameless_names};
  const struct hwi_compare_options options = {.report = {.top = HWI_TOP_DEFAULT}};
  struct hwi_comparison comparison;
  int status = hwi_compare(&comparison, profiles, names, &options, error);
  if (status == 0)
    status = hwi_plot_write_diff(&comparison, HWI_PLOT_SCRIPT, "charts.gp", out, error);
  hwi_comparison_release(&comparison);
  return status;
}

/* Writes the script to `to`. Returns false if no call failed. */
static bool check_failing(writer *write_script, uint64_t calls, uint64_t failures, char *to)
{
  static char buffer[BUFSIZ];
  struct hwi_error error = {.text = ""};
  memset(to, 0, SCRIPT_MOST);
  FILE *out = fmemopen(to, SCRIPT_MOST, "w");
  assert_non_null(out);
  setvbuf(out, buffer, _IOFBF, sizeof buffer);
  failing_malloc_arm(calls, failures);
  int status = write_script(out, &error);
  bool has_failed = failing_malloc_disarm();
  fclose(out);
  if (status == 0 && calls != UINT64_MAX && strcmp(to, expected) != 0)
    fail_msg("call %llu: another script, but no error", (unsigned long long)calls);
  if (failing_malloc_leaks())
    fail_msg("call %llu: %ld blocks are left", (unsigned long long)calls, failing_malloc_leaks());
  if (status < 0 && (!has_failed || strstr(error.text, "memory") == NULL))
    fail_msg("call %llu: status %d, %s", (unsigned long long)calls, status, error.text);
  return has_failed;
}

/* `words` is in the whole script. */
static void check_each_call(writer *write_script, const char *words)
{
  static char text[SCRIPT_MOST];
  assert_false(check_failing(write_script, UINT64_MAX, 1, expected));
  assert_non_null(strstr(expected, words));
  assert_non_null(strstr(expected, "unset output"));
  uint64_t calls = 0;
  for (; check_failing(write_script, calls, 1, text); calls++) {
    check_failing(write_script, calls, UINT64_MAX, text);
    assert_true(calls < CALLS_MOST);
  }
  assert_true(calls > 1);
}

static void test_every_chart(void **state)
{
  (void)state;
  check_each_call(write_charts, "\"half\"");
  assert_non_null(strstr(expected, "$slowest << EOD"));
}

static void test_pages(void **state)
{
  (void)state;
  check_each_call(write_pages, "Top stacks at the peak");
}

static void test_diff(void **state)
{
  (void)state;
  check_each_call(write_diff, "$changes << EOD\n# old new change\n100 ");
}

int main(void)
{
  if (!small_run_begin(&run, "plot-memory", HW_FIELD_DURATION))
    return 1;
  const struct hwi_profile_options start = {.span = {.kind = HWI_SPAN_INTERVAL, .to_ns = 1}};
  if (hwi_profile_create(&before, run.path, &start, NULL) < 0)
    return 1;
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_chart), cmocka_unit_test(test_pages),
                                     cmocka_unit_test(test_diff)};
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  hwi_profile_destroy(before);
  small_run_end(&run);
  return failed;
}
