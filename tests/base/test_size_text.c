/* test_size_text.c - sizes: a misread suffix would set a limit a thousand times too large or small */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/size_text.h"

static void assert_size(const char *text, uint64_t expected)
{
  uint64_t bytes = 0;
  if (!hwi_size_parse(text, &bytes))
    fail_msg("'%s' was refused", text);
  assert_int_equal(bytes, expected);
}

static void sizes_are_read_as_coreutils_read_them(void **state)
{
  (void)state;
  assert_size("0", 0);
  assert_size("123", 123);
  assert_size("123B", 123);
  assert_size("4096", 4096);
  assert_size("1K", 1024);
  assert_size("1k", 1024);
  assert_size("1KiB", 1024);
  assert_size("1kB", 1000);
  assert_size("1KB", 1000);
  assert_size("3M", 3 << 20);
  assert_size("3MiB", 3 << 20);
  assert_size("3MB", 3000000);
  assert_size("8G", UINT64_C(8) << 30);
  assert_size("2GB", 2000000000);
  assert_size("1T", UINT64_C(1) << 40);
  assert_size("1TiB", UINT64_C(1) << 40);
  assert_size("1P", UINT64_C(1) << 50);
  assert_size("15E", UINT64_C(15) << 60);
  assert_size("18446744073709551615", UINT64_MAX);
}

static void what_is_no_size_is_refused(void **state)
{
  static const char *const wrong[] = {"",
                                      "M",
                                      "-1",
                                      "+1",
                                      " 1",
                                      "1 M",
                                      "1.5M",
                                      "1X",
                                      "1MX",
                                      "1Mi",
                                      "99999999T",
                                      "1iB",
                                      "1mb",
                                      "16E",
                                      "0x10",
                                      "1MiBB",
                                      "18446744073709551616",
                                      "99999999999999999999"};
  (void)state;
  uint64_t bytes;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    if (hwi_size_parse(wrong[i], &bytes))
      fail_msg("'%s' was taken for %llu", wrong[i], (unsigned long long)bytes);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sizes_are_read_as_coreutils_read_them),
      cmocka_unit_test(what_is_no_size_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
