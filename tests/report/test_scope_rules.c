/* test_scope_rules.c - rules for scopes: which ones each stack matches, and in which order
 *
 * Breaks if a stack is in the scope of a rule that none of its frames matches, if the scopes of a stack are nested in
 * another way than its frames, or if a wrong rule is accepted or not located.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "report/selection/scope_rules.h"
#include "sample_selection.h"

static struct hwi_scope_rules rules;
static char path[] = "/tmp/hw-test-scope-rules-XXXXXX";

static int release_rules(void **state)
{
  (void)state;
  hwi_scope_rules_release(&rules);
  return 0;
}

static void match(const char *const *texts)
{
  release_rules(NULL);
  for (; *texts; texts++)
    assert_int_equal(hwi_scope_rules_add(&rules, *texts, NULL), 0);
  assert_int_equal(hwi_scope_rules_match(&rules, &report, NULL), 0);
}

/* Asserts that these are the rules of the stack, the outermost first. */
static void assert_chain(uint32_t stack, const char *expected)
{
  char text[64] = "";
  uint32_t chain = rules.chains.by_stack[stack];
  assert_int_not_equal(chain, HWI_CHAIN_UNKNOWN);
  for (; chain; chain = rules.chains.items[chain].outer) {
    char inner[sizeof text];
    memcpy(inner, text, sizeof inner);
    snprintf(text, sizeof text, "%u%.60s", rules.chains.items[chain].rule, inner);
  }
  assert_string_equal(text, expected);
}

static void frames_choose_the_stack(void **state)
{
  (void)state;
  match((const char *[]){"func=rclcpp::Executor::execute_any_executable", "file=voxel.cpp", "module=libdriver.so*",
                         NULL});
  assert_chain(1, "0");
  assert_chain(2, "01"); /* 1: inlined, and its caller */
  assert_chain(3, "02");
  assert_string_equal(rules.chains.names[2], "libdriver.so*");
}

static void scopes_nest_as_the_frames_do(void **state)
{
  (void)state;
  match((const char *[]){"func=*::reserve", "func=*::VoxelGrid*::VoxelGrid", "func=main", "module=libperception.so",
                         NULL});
  assert_chain(2, "2130");
}

static void recursion_is_one_scope(void **state)
{
  (void)state;
  match((const char *[]){"func=perception::visit", NULL});
  uint32_t in = 0;
  for (uint32_t stack = 1; stack < report.profile->stack_count; stack++)
    in += rules.chains.by_stack[stack] != 0 && rules.chains.by_stack[stack] != HWI_CHAIN_UNKNOWN;
  assert_true(in > 0);
  assert_int_equal(rules.chains.count, 2); /* only "0" */
}

static void a_stack_without_frames_is_not_known(void **state)
{
  (void)state;
  match((const char *[]){"func=main", NULL});
  for (uint32_t stack = 1; stack < report.profile->stack_count; stack++)
    assert_int_equal(rules.chains.by_stack[stack] == HWI_CHAIN_UNKNOWN, report.profile->stacks[stack].frame == 0);
}

static void a_rule_without_matches_is_named(void **state)
{
  (void)state;
  struct hwi_line remarks = {0};
  match((const char *[]){"func=main", "func=mainn", NULL});
  hwi_scope_rules_remark(&remarks, &rules);
  assert_string_equal(hwi_line_text(&remarks),
                      "--scope func=mainn matches nothing in this recording; did you mean func=main?\n");
  hwi_line_release(&remarks);
}

static void wrong_rules(void **state)
{
  (void)state;
  static const char *const wrong[] = {"main", "func=", "thread=a", "fun=x", "=x", ""};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    struct hwi_error error = {0};
    assert_int_equal(hwi_scope_rules_add(&rules, wrong[i], &error), HW_ERR_USAGE);
    assert_non_null(strstr(error.text, "--scope: a rule for scopes is func=PATTERN"));
  }
  assert_int_equal(rules.count, 0);
}

static void a_file_of_rules(void **state)
{
  (void)state;
  struct hwi_error error = {0};
  FILE *file = fopen(path, "w");
  fputs("# what decodes\n\n  func=decode \nmodule=a=b\n", file);
  fclose(file);
  assert_int_equal(hwi_scope_rules_read(&rules, path, &error), 0);
  assert_int_equal(rules.count, 2);
  assert_string_equal(rules.items[0].pattern.text, "decode");
  assert_string_equal(rules.items[1].pattern.text, "a=b");
  release_rules(NULL);
  file = fopen(path, "w");
  fputs("func=decode\n#\nfumc=render\n", file);
  fclose(file);
  assert_int_equal(hwi_scope_rules_read(&rules, path, &error), HW_ERR_USAGE);
  assert_non_null(strstr(error.text, ", line 3: "));
  assert_non_null(strstr(error.text, "not 'fumc=render'; did you mean 'func=...'?"));
}

int main(void)
{
  const int file = mkstemp(path);
  if (file < 0)
    return 1;
  close(file);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(frames_choose_the_stack, release_rules),
      cmocka_unit_test_teardown(scopes_nest_as_the_frames_do, release_rules),
      cmocka_unit_test_teardown(recursion_is_one_scope, release_rules),
      cmocka_unit_test_teardown(a_stack_without_frames_is_not_known, release_rules),
      cmocka_unit_test_teardown(a_rule_without_matches_is_named, release_rules),
      cmocka_unit_test_teardown(wrong_rules, release_rules),
      cmocka_unit_test_teardown(a_file_of_rules, release_rules),
  };
  const int failed = cmocka_run_group_tests(tests, begin, release_selection);
  remove(path);
  return failed;
}
