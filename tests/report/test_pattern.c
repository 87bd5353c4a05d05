/* test_pattern.c - suppression patterns: one that matches too much hides leaks, one that matches too little shows libc's */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "report/pattern.h"
#include "report/rules.h"

static bool matches(const char *pattern, const char *text)
{
  return hwi_pattern_matches(pattern, strlen(pattern), text);
}

static void patterns_are_leak_sanitizers(void **state)
{
  (void)state;
  assert_true(matches("foo", "foo"));
  assert_true(matches("foo", "a_foo_b"));
  assert_false(matches("foo", "fo"));
  assert_true(matches("^foo", "foobar"));
  assert_false(matches("^foo", "a foo"));
  assert_true(matches("foo$", "a foo"));
  assert_false(matches("foo$", "foobar"));
  assert_true(matches("^foo$", "foo"));
  assert_false(matches("^foo$", "foofoo"));
  assert_true(matches("a*c", "xabbbcx"));
  assert_false(matches("^a*c$", "abcd"));
  assert_true(matches("^a*c$", "abcdc"));
  assert_true(matches("*", ""));
  assert_true(matches("", "anything"));
  assert_true(matches("^*::alloc$", "x::y::alloc"));
  assert_false(matches("^a*b*c$", "a_c_b"));
}

static void lists_have_comments_and_kinds(void **state)
{
  static const char rules[] = "# leak:first\n\nleak:second\nrace:third\nleak:^fourth$\nleak:\n";
  (void)state;
  assert_false(hwi_patterns_match(rules, "first"));
  assert_true(hwi_patterns_match(rules, "second"));
  assert_false(hwi_patterns_match(rules, "third"));
  assert_true(hwi_patterns_match(rules, "fourth"));
  assert_false(hwi_patterns_match("", "x"));
  assert_true(hwi_patterns_match("leak:last", "last")); /* no newline at the end */
}

static void shipped_lists_know_their_frames(void **state)
{
  static const char *const wrappers[] = {
      "xmalloc",
      "g_malloc0",
      "operator new(unsigned long)",
      "std::__new_allocator<int>::allocate(unsigned long, void const*)",
      "std::allocator_traits<std::allocator<int> >::allocate(std::allocator<int>&, unsigned long)",
      "std::_Vector_base<int, std::allocator<int> >::_M_allocate(unsigned long)",
      "CRYPTO_zalloc"};
  static const char *const others[] = {
      "main",          "my_xmalloc_user", "std::vector<int, std::allocator<int> >::push_back(int const&)",
      "xmalloc_stats", "g_strcmp0",       "parse_operator new"};
  (void)state;
  for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; i++) {
    if (!hwi_patterns_match(hwi_rules_wrappers, wrappers[i]))
      fail_msg("%s is not folded", wrappers[i]);
  }
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    if (hwi_patterns_match(hwi_rules_wrappers, others[i]))
      fail_msg("%s is folded", others[i]);
  }
  assert_true(hwi_patterns_match(hwi_rules_runtime_modules, "/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30"));
  assert_false(hwi_patterns_match(hwi_rules_runtime_modules, "/opt/app/libcapp.so.1"));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(patterns_are_leak_sanitizers),
      cmocka_unit_test(lists_have_comments_and_kinds),
      cmocka_unit_test(shipped_lists_know_their_frames),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
