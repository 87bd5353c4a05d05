/* test_base_name.c - last names of paths: libraries, commands and source files would not be recognized by a wrong one */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base_name.h"

static void last_names_stand_behind_the_last_slash(void **state)
{
  (void)state;
  assert_string_equal(hwi_base_name("/usr/lib/libc.so.6"), "libc.so.6");
  assert_string_equal(hwi_base_name("./a"), "a");
  assert_string_equal(hwi_base_name("/a"), "a");
  assert_string_equal(hwi_base_name("a"), "a");
  assert_string_equal(hwi_base_name(""), "");
}

static void a_path_that_ends_in_a_slash_stays(void **state)
{
  (void)state;
  assert_string_equal(hwi_base_name("/usr/lib/"), "/usr/lib/");
  assert_string_equal(hwi_base_name("/"), "/");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(last_names_stand_behind_the_last_slash),
      cmocka_unit_test(a_path_that_ends_in_a_slash_stays),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
