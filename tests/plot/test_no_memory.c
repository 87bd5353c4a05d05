/* test_no_memory.c - charts for which there is no memory are not written, whichever call of malloc it is that fails
 *
 * What would break: a result of malloc that is not checked; a script that lacks what there was no memory for, a name above
 * all; what is not freed on the way out.
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

/* Writes the script of all charts to `to`. False: no call failed. */
static bool check_failing(uint64_t calls, uint64_t failures, char *to)
{
  static char buffer[BUFSIZ];
  const struct hwi_plot_request request = {.report = small_run_report(&run),
                                           .form = HWI_PLOT_SCRIPT,
                                           .charts = {HWI_CHART_LIVE, HWI_CHART_LIVE_BY_STACK, HWI_CHART_LIVE_BY_SIZE,
                                                      HWI_CHART_LIVE_BY_THREAD, HWI_CHART_SIZES, HWI_CHART_LIFETIMES,
                                                      HWI_CHART_THREADS},
                                           .chart_count = 7};
  struct hwi_error error = {.text = ""};
  memset(to, 0, SCRIPT_MOST);
  FILE *out = fmemopen(to, SCRIPT_MOST, "w");
  assert_non_null(out);
  setvbuf(out, buffer, _IOFBF, sizeof buffer);
  failing_malloc_arm(calls, failures);
  int status = hwi_plot_write(&request, out, &error);
  bool has_failed = failing_malloc_disarm();
  fclose(out);
  if (status == 0 && calls != UINT64_MAX && strcmp(to, expected) != 0)
    fail_msg("call %llu: another script, and no error", (unsigned long long)calls);
  if (failing_malloc_leaks())
    fail_msg("call %llu: %ld blocks are left", (unsigned long long)calls, failing_malloc_leaks());
  if (status < 0 && (!has_failed || strstr(error.text, "memory") == NULL))
    fail_msg("call %llu: status %d, %s", (unsigned long long)calls, status, error.text);
  return has_failed;
}

static void test_every_chart(void **state)
{
  (void)state;
  static char text[SCRIPT_MOST];
  assert_false(check_failing(UINT64_MAX, 1, expected));
  assert_non_null(strstr(expected, "\"half\""));
  assert_non_null(strstr(expected, "unset output"));
  uint64_t calls = 0;
  for (; check_failing(calls, 1, text); calls++) {
    check_failing(calls, UINT64_MAX, text);
    assert_true(calls < CALLS_MOST);
  }
  assert_true(calls > 1);
}

int main(void)
{
  if (!small_run_begin(&run, "plot-memory"))
    return 1;
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_chart)};
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  small_run_end(&run);
  return failed;
}
