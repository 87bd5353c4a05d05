/* test_options.c - what the environment may ask of the recorder; breaks if a value is misread, or nonsense is believed */
#include "record/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/size_text.h"

static uint64_t size_of(const char *text)
{
  uint64_t bytes = 0;
  return hwi_size_parse(text, &bytes) ? bytes : UINT64_MAX;
}

static void test_sizes(void **state)
{
  (void)state;
  assert_int_equal(size_of("0"), 0);
  assert_int_equal(size_of("123"), 123);
  assert_int_equal(size_of("4k"), 4096);
  assert_int_equal(size_of("4K"), 4096);
  assert_int_equal(size_of("4KB"), 4000);
  assert_int_equal(size_of("4KiB"), 4096);
  assert_int_equal(size_of("3M"), 3 << 20);
  assert_int_equal(size_of("3MB"), 3000000);
  assert_int_equal(size_of("8G"), UINT64_C(8) << 30);
  assert_int_equal(size_of("1TiB"), UINT64_C(1) << 40);
  for (const char *const *bad = (const char *const[]){"", "M", "-1", "1X", "1MX", "1Mi", "0x10", "1 M",
                                                      "18446744073709551616", "99999999T", NULL};
       *bad; bad++)
    if (size_of(*bad) != UINT64_MAX)
      fail_msg("\"%s\" is taken for a size", *bad);
}

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

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_sizes), cmocka_unit_test(test_patterns)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
