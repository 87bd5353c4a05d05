/* test_base_name.c - last names of paths, and of commands: with a wrong one, libraries, programs and source files would
 * not be recognized */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base_name.h"
#include "base/command_name.h"

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

static void check_command_name(const char *command, const char *expected)
{
  assert_string_equal(hwi_command_name(command).text, expected);
}

static void a_command_has_its_first_arguments_last_name(void **state)
{
  (void)state;
  check_command_name("redis-server --dir /var/lib", "redis-server");
  check_command_name("/usr/bin/g++ a.c", "g++");
  check_command_name("./a", "a");
  check_command_name("'/opt/my tool/run it' /x", "run it");
  check_command_name("'/home/o'\\''brien/my '\\''x'\\''/run it' 'a b'", "run it");
  check_command_name("'it'\\''s' /x", "it's");
  check_command_name("'/bin/'\\''x y'\\'' z' b", "'x y' z");
  check_command_name("''", "");
  check_command_name("-bash", "bash");
  check_command_name("'-my shell' -c", "my shell");
  check_command_name("-", "");
  check_command_name("", "");
  check_command_name("/", "/");
}

static void a_name_longer_than_a_files_is_cut(void **state)
{
  (void)state;
  char command[300] = {0}, expected[256] = {0};
  memset(command, 'a', sizeof command - 1);
  memset(expected, 'a', sizeof expected - 1);
  check_command_name(command, expected);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(last_names_stand_behind_the_last_slash),
      cmocka_unit_test(a_path_that_ends_in_a_slash_stays),
      cmocka_unit_test(a_command_has_its_first_arguments_last_name),
      cmocka_unit_test(a_name_longer_than_a_files_is_cut),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
