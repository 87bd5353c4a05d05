/* test_options.c - options of the recorder from the environment. Breaks if a value is misread, or if an invalid one is
 * accepted. */
#include "record/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void test_patterns(void **state)
{
  (void)state;
  assert_true(hwi_options_match("*", ""));
  assert_true(hwi_options_match("bash", "bash"));
  assert_true(hwi_options_match("b*h", "bash"));
  assert_true(hwi_options_match("*_container*", "component_container_mt"));
  assert_true(hwi_options_match("*a*b", "aXbYb"));
  assert_true(hwi_options_match("b?sh", "bash"));
  assert_false(hwi_options_match("b?sh", "bsh"));
  assert_false(hwi_options_match("bas", "bash"));
  assert_false(hwi_options_match("", "bash"));
  assert_false(hwi_options_match("*x", "bash"));
}

static void test_lists(void **state)
{
  (void)state;
  assert_true(hwi_options_list_matches("tbb", "tbb"));
  assert_true(hwi_options_list_matches("a,tbb.*,b", "tbb.flow"));
  assert_true(hwi_options_list_matches(",b", "b"));
  assert_false(hwi_options_list_matches("", ""));
  assert_false(hwi_options_list_matches(",,", ""));
  assert_false(hwi_options_list_matches("tbb,", "tbb.flow"));
  char longest[2 * HWI_ITT_IGNORE_BYTES] = {0};
  memset(longest, 'x', sizeof longest - 1);
  assert_false(hwi_options_list_matches(longest, "x"));
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_patterns), cmocka_unit_test(test_lists)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
