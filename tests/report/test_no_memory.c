/* test_no_memory.c - when memory runs out, a text report is the whole report or an error, whichever call of malloc
 * fails
 *
 * Breaks if a result of malloc is not checked; if a name, a size or a row is left out without a message; or if memory
 * is not freed after an error.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../trace/failing_malloc.h"
#include "report/report.h"
#include "report/words/style.h"
#include "small_run.h"

enum { CALLS_MOST = 3000, TEXT_MOST = 1 << 16, COLUMNS = 100 };

static struct small_run run;
static char expected[TEXT_MOST];

static uint32_t find(void *context, const struct hwi_symbol_module *module, uint64_t address, bool is_return_address,
                     const struct hwi_symbol **frames)
{
  (void)context, (void)module, (void)address, (void)is_return_address;
  static const struct hwi_symbol found[] = {
      {.function = "std::vector<int, std::allocator<int> >::reserve(unsigned long)",
       .file = "/a/vector.h",
       .line = 7,
       .inlined = true},
      {.function = "program", .file = "/a/program.cc", .line = 12},
  };
  *frames = found;
  return sizeof found / sizeof *found;
}

/* Returns false if no call failed. */
static bool check_failing(const struct hwi_report *report, uint64_t calls, uint64_t failures, char *to)
{
  static char buffer[BUFSIZ];
  struct hwi_error error = {.text = ""};
  memset(to, 0, TEXT_MOST);
  FILE *out = fmemopen(to, TEXT_MOST, "w");
  assert_non_null(out);
  setvbuf(out, buffer, _IOFBF, sizeof buffer);
  const struct hwi_style style = {.out = out, .columns = COLUMNS};
  failing_malloc_arm(calls, failures);
  int status = hwi_report_text(report, &style, &error);
  bool has_failed = failing_malloc_disarm();
  fclose(out);
  if (status == 0 && calls != UINT64_MAX && strcmp(to, expected) != 0)
    fail_msg("call %llu: another text, but no error", (unsigned long long)calls);
  if (failing_malloc_leaks())
    fail_msg("call %llu: %ld blocks are left", (unsigned long long)calls, failing_malloc_leaks());
  if (status < 0 && (!has_failed || strstr(error.text, "memory") == NULL))
    fail_msg("call %llu: status %d, %s", (unsigned long long)calls, status, error.text);
  return has_failed;
}

/* `words` are in the whole text. */
static void check_each_call(struct hwi_report_options options, const char *words)
{
  static char text[TEXT_MOST];
  struct hwi_report report = small_run_report(&run);
  report.names.find = find;
  report.options = options;
  assert_false(check_failing(&report, UINT64_MAX, 1, expected));
  if (strstr(expected, words) == NULL)
    fail_msg("'%s' is not in\n%s", words, expected);
  uint64_t calls = 0;
  for (; check_failing(&report, calls, 1, text); calls++) {
    check_failing(&report, calls, UINT64_MAX, text);
    assert_true(calls < CALLS_MOST);
  }
  assert_true(calls > 1);
}

static const struct hwi_report_options defaults = {
    .cost = HWI_COST_DEFAULT, .top = HWI_TOP_DEFAULT, .min_share = HWI_MIN_SHARE_DEFAULT, .min_calls = 1};

static void test_first_screen(void **state)
{
  (void)state;
  check_each_call(defaults, "101 B (33)");
}

static void test_groups(void **state)
{
  (void)state;
  struct hwi_report_options options = defaults;
  for (options.by = HWI_BY_FUNCTION; options.by <= HWI_BY_SCOPE; options.by++)
    check_each_call(options, "Evidence");
}

static void test_trees(void **state)
{
  (void)state;
  struct hwi_report_options options = defaults;
  for (options.tree = HWI_TREE_CALLERS; options.tree <= HWI_TREE_CALLEES; options.tree++)
    check_each_call(options, "program");
}

static void test_scopes(void **state)
{
  (void)state;
  struct hwi_report_options options = defaults;
  options.by = HWI_BY_SCOPE;
  options.scopes_as_tree = true;
  check_each_call(options, "zone");
  options.scopes_as_tree = false;
  options.instances = HWI_INSTANCES_LONGEST;
  check_each_call(options, "frame \"/a\"");
}

static void test_other_tables(void **state)
{
  (void)state;
  struct hwi_report_options options = defaults;
  options.lifetimes = true;
  check_each_call(options, "How long blocks live");
  options = defaults;
  options.leaks = true;
  check_each_call(options, "Still allocated");
}

int main(void)
{
  if (!small_run_begin(&run, "report-memory", 0))
    return 1;
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_first_screen), cmocka_unit_test(test_groups),
                                     cmocka_unit_test(test_trees), cmocka_unit_test(test_scopes),
                                     cmocka_unit_test(test_other_tables)};
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  small_run_end(&run);
  return failed;
}
