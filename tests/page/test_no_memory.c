/* test_no_memory.c - when memory runs out, no page is written, whichever call of malloc fails
 *
 * Breaks if a result of malloc is not checked; if the document lacks a part for which there was no memory; or if memory
 * is not freed after an error.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../report/small_run.h"
#include "../trace/failing_malloc.h"
#include "page/page.h"

enum { CALLS_MOST = 5000, DOCUMENT_MOST = 1 << 17 };

static char expected[DOCUMENT_MOST];
static struct small_run run;

/* Writes the document to `to`. Returns false if no call failed. */
static bool check_failing(int run_count, uint64_t calls, uint64_t failures, char *to)
{
  static char buffer[BUFSIZ];
  const struct hwi_report runs[] = {small_run_report(&run), small_run_report(&run)};
  struct hwi_error error = {.text = ""};
  memset(to, 0, DOCUMENT_MOST);
  FILE *out = fmemopen(to, DOCUMENT_MOST, "w");
  assert_non_null(out);
  setvbuf(out, buffer, _IOFBF, sizeof buffer);
  failing_malloc_arm(calls, failures);
  const struct hwi_page_request request = {.runs = runs, .run_count = run_count, .form = HWI_PAGE_DATA};
  int status = hwi_page_write(&request, out, &error);
  bool has_failed = failing_malloc_disarm();
  fclose(out);
  if (status == 0 && calls != UINT64_MAX)
    assert_string_equal(to, expected);
  if (failing_malloc_leaks())
    fail_msg("call %llu: %ld blocks are left", (unsigned long long)calls, failing_malloc_leaks());
  if (status < 0 && (!has_failed || strstr(error.text, "memory") == NULL))
    fail_msg("call %llu: status %d, %s", (unsigned long long)calls, status, error.text);
  return has_failed;
}

static void check_each_call(int run_count)
{
  static char text[DOCUMENT_MOST];
  assert_false(check_failing(run_count, UINT64_MAX, 1, expected));
  uint64_t calls = 0;
  for (; check_failing(run_count, calls, 1, text); calls++) {
    check_failing(run_count, calls, UINT64_MAX, text);
    assert_true(calls < CALLS_MOST);
  }
  assert_true(calls > 1);
}

static void assert_listed(const char *name)
{
  if (strstr(expected, name) == NULL)
    fail_msg("%s is not in the document", name);
}

static void test_one_run(void **state)
{
  (void)state;
  check_each_call(1);
  assert_listed("\"half\"");
  assert_listed("\"warm\"");
  assert_listed("\"level\"");
  assert_listed("\"arena\"");
  assert_listed("\"task\""); /* a scope */
  assert_listed("\"/a\"");   /* the text of an instance */
}

static void test_two_runs(void **state)
{
  (void)state;
  check_each_call(2);
  assert_listed("\"half\"");
}

int main(void)
{
  if (!small_run_begin(&run, "page-memory", 0))
    return 1;
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_run), cmocka_unit_test(test_two_runs)};
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  small_run_end(&run);
  return failed;
}
