/* test_name_pattern.c - what a user's pattern matches: a budget or a filter that misses its function checks nothing */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/selection/name_pattern.h"
#include "sample_profile.h"

static void functions_go_by_every_name_they_have(void **state)
{
  static const char push[] = "void std::vector<int, std::allocator<int> >::push_back<int>(int const&)";
  (void)state;
  assert_true(hwi_function_matches("main", "main"));
  assert_false(hwi_function_matches("mai", "main"));
  assert_true(hwi_function_matches("parse_*", "parse_line"));
  assert_true(hwi_function_matches(push, push));
  assert_true(hwi_function_matches("*::push_back*", push));
  assert_true(hwi_function_matches("void std::vector<int, std::allocator<int> >::push_back<int>", push));
  assert_true(hwi_function_matches("std::vector<int>::push_back<int>", push)); /* as a report shows it */
  assert_false(hwi_function_matches("push_back", push));
  assert_true(hwi_function_matches("app::load", "app::load(int (*)(int))"));
}

/* Brackets and stars have no special meaning in a name that is given whole. */
static void names_that_look_like_patterns_are_names(void **state)
{
  (void)state;
  assert_true(hwi_function_matches("operator new[]", "operator new[](unsigned long)"));
  assert_false(hwi_function_matches("operator new[]", "operator new(unsigned long)"));
  assert_true(hwi_function_matches("Matrix::operator*", "Matrix::operator*(double)"));
  assert_true(hwi_path_matches("/src/[id].c", "/src/[id].c"));
  assert_true(hwi_path_matches("[id].c", "/src/[id].c"));
  assert_true(hwi_path_matches("[id].c", "/src/i.c"));
}

static void paths_go_by_their_last_components(void **state)
{
  (void)state;
  assert_true(hwi_path_matches("libc.so.6", "/usr/lib/libc.so.6"));
  assert_true(hwi_path_matches("lib/libc.so.*", "/usr/lib/libc.so.6"));
  assert_true(hwi_path_matches("/usr/*", "/usr/lib/libc.so.6"));
  assert_false(hwi_path_matches("c.so.6", "/usr/lib/libc.so.6"));
  assert_false(hwi_path_matches("lib", "/usr/lib/libc.so.6"));
}

static void threads_go_by_name_or_id(void **state)
{
  struct hwi_profile_thread thread = {.tid = 4711, .name = "sixteen-letters!"}; /* without a final NUL */
  (void)state;
  assert_true(hwi_thread_matches(&thread, "sixteen-letters!"));
  assert_true(hwi_thread_matches(&thread, "4711"));
  assert_false(hwi_thread_matches(&thread, "471*")); /* IDs are not names */
}

/* Several patterns at once: each frame has the bits of the frames outward of it. The error for a pattern that matches
 * nothing names the nearest name. */
static void frames_have_what_is_outward_of_them(void **state)
{
  struct sample sample;
  (void)state;
  sample_init(&sample);
  struct hwi_report report = sample_report(&sample);
  struct hwi_named_frames names;
  assert_int_equal(hwi_named_frames_init(&names, &report, NULL), 0);
  struct hwi_name_pattern patterns[] = {{.kind = HWI_NAME_FUNCTION, .bit = 1, .text = "main"},
                                        {.kind = HWI_NAME_FILE, .bit = 2, .text = "voxel.cpp"},
                                        {.kind = HWI_NAME_MODULE, .bit = 4, .text = "libdrive.so*"},
                                        {.kind = HWI_NAME_THREAD, .bit = 8, .text = "contrl"}};
  struct hwi_name_pattern *const all[] = {&patterns[0], &patterns[1], &patterns[2], &patterns[3]};
  struct hwi_name_matches matches;
  assert_true(hwi_name_patterns_match(all, 4, &names, &matches));
  assert_int_equal(matches.frames[sample.stacks[2].frame], 1 | 2);
  assert_int_equal(matches.frames[sample.stacks[1].frame], 0);
  assert_true(patterns[0].matched && patterns[1].matched && !patterns[2].matched && !patterns[3].matched);
  assert_string_equal(hwi_line_text(&patterns[2].nearest), "libdriver.so.2");
  assert_string_equal(hwi_line_text(&patterns[3].nearest), "control");
  hwi_name_matches_release(&matches);
  for (int i = 0; i < 4; i++)
    hwi_line_release(&patterns[i].nearest);
  hwi_named_frames_release(&names);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(functions_go_by_every_name_they_have), cmocka_unit_test(names_that_look_like_patterns_are_names),
      cmocka_unit_test(paths_go_by_their_last_components),    cmocka_unit_test(threads_go_by_name_or_id),
      cmocka_unit_test(frames_have_what_is_outward_of_them),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
