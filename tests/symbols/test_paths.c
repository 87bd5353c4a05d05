/* test_paths.c - breaks if one source file has several names, so that its lines are not counted together */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "symbols/paths.h"

static void check(const char *dir, const char *name, const char *expected)
{
  char *path = hwi_path_join(dir, name);
  assert_string_equal(path, expected);
  free(path);
}

static void paths_are_joined_and_plain(void **state)
{
  (void)state;
  check("/build", "a.c", "/build/a.c");
  check("/build/", "/src/a.c", "/src/a.c");
  check(NULL, "a.c", "a.c");
  check("", "./a.c", "a.c");
  check("/build/x", "../a.c", "/build/a.c");
  check("/build/x", ".././../src//./a.c", "/src/a.c");
  check("/", "../../a.c", "/a.c");
  check("x/y", "../../../a.c", "../a.c");
  check("..", "../a.c", "../../a.c");
  check("/a", "b/..", "/a");
  check("/a", "...", "/a/...");
  check("/", "", "/");
  check("a", "..", "");
}

static void parents_are_what_stands_before_the_last_slash(void **state)
{
  (void)state;
  static const char *const cases[][2] = {{"/a/b", "/a"}, {"/a", "/"}, {"a", "."}, {"a/b/c", "a/b"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *parent = hwi_path_parent(cases[i][0]);
    assert_string_equal(parent, cases[i][1]);
    free(parent);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(paths_are_joined_and_plain),
      cmocka_unit_test(parents_are_what_stands_before_the_last_slash),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
