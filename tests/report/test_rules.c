/* test_rules.c - suppression patterns: one that matches too much hides leaks, one that matches too little shows
 * libc's */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "report/input/rules.h"

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

static void assert_all_match(const char *rules, const char *const *names, size_t count, bool match)
{
  for (size_t i = 0; i < count; i++) {
    if (hwi_patterns_match(rules, names[i]) != match)
      fail_msg("%s is %s", names[i], match ? "not folded" : "folded");
  }
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
  static const char *const rust_wrappers[] = {"alloc::alloc::realloc",
                                              "<alloc::alloc::Global>::grow_impl_runtime",
                                              "<alloc::alloc::Global as core::alloc::Allocator>::grow",
                                              "<alloc::raw_vec::RawVecInner>::grow_one",
                                              "<alloc::raw_vec::RawVec<alloc::vec::Vec<u8>>>::grow_one",
                                              "alloc::raw_vec::finish_grow",
                                              "hashbrown::raw::RawTable<T,A>::reserve_rehash",
                                              "__rustc[5224e6b81cd82a8f]::__rdl_alloc"};
  static const char *const rust_starts[] = {
      "std::rt::lang_start::{{closure}}",
      "std::rt::lang_start_internal::{closure#0}",
      "core::ops::function::FnOnce::call_once{{vtable.shim}}",
      "<alloc::boxed::Box<dyn core::ops::function::FnOnce<()>> as core::ops::function::FnOnce<()>>::call_once",
      "std::sys::backtrace::__rust_begin_short_backtrace",
      "std::sys_common::backtrace::__rust_begin_short_backtrace",
      "std::panicking::catch_unwind::do_call",
      "std::thread::lifecycle::spawn_unchecked::{{closure}}",
      "<std::sys::thread::unix::Thread>::new::thread_start",
      "std::sys::pal::unix::thread::Thread::new::thread_start"};
  static const char *const others[] = {"main",
                                       "my_xmalloc_user",
                                       "std::vector<int, std::allocator<int> >::push_back(int const&)",
                                       "xmalloc_stats",
                                       "g_strcmp0",
                                       "parse_operator new",
                                       "alloc::vec::Vec<T,A>::push",
                                       "alloc::string::String::with_capacity"};
  (void)state;
  assert_all_match(hwi_rules_wrappers, wrappers, sizeof wrappers / sizeof *wrappers, true);
  assert_all_match(hwi_rules_wrappers, rust_wrappers, sizeof rust_wrappers / sizeof *rust_wrappers, true);
  assert_all_match(hwi_rules_starts, rust_starts, sizeof rust_starts / sizeof *rust_starts, true);
  assert_all_match(hwi_rules_wrappers, others, sizeof others / sizeof *others, false);
  assert_true(hwi_patterns_match(hwi_rules_runtime_modules, "/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30"));
  assert_false(hwi_patterns_match(hwi_rules_runtime_modules, "/opt/app/libcapp.so.1"));
  assert_true(hwi_patterns_match(hwi_rules_start_modules, "/usr/lib/x86_64-linux-musl/libc.so"));
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
