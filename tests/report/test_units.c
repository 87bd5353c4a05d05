/* test_units.c - sizes and durations: a suffix read wrongly would set a limit a thousand times too large or small */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/units.h"

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

static void assert_duration(const char *text, uint64_t expected)
{
  uint64_t ns = 0;
  if (!hwi_duration_parse(text, &ns))
    fail_msg("'%s' was refused", text);
  assert_int_equal(ns, expected);
}

static void durations_have_units_and_fractions(void **state)
{
  (void)state;
  assert_duration("5", UINT64_C(5000000000));
  assert_duration("5s", UINT64_C(5000000000));
  assert_duration("1.5s", 1500000000);
  assert_duration(".5", 500000000);
  assert_duration("200ms", 200000000);
  assert_duration("10us", 10000);
  assert_duration("7ns", 7);
  assert_duration("1m", UINT64_C(60000000000));
  assert_duration("2h", UINT64_C(7200000000000));
  assert_duration("0.1s", 100000000);
}

static void what_is_no_duration_is_refused(void **state)
{
  static const char *const wrong[] = {"",
                                      "s",
                                      ".",
                                      "-1s",
                                      "+1",
                                      " 1",
                                      "1 s",
                                      "nan",
                                      "inf",
                                      "1e3",
                                      "0x1",
                                      "1.2.3",
                                      "1d",
                                      "1S",
                                      "99999999999999999999999h",
                                      "1.00000000000000000000000000000000001s"};
  (void)state;
  uint64_t ns;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    if (hwi_duration_parse(wrong[i], &ns))
      fail_msg("'%s' was taken for %llu ns", wrong[i], (unsigned long long)ns);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sizes_are_read_as_coreutils_read_them),
      cmocka_unit_test(what_is_no_size_is_refused),
      cmocka_unit_test(durations_have_units_and_fractions),
      cmocka_unit_test(what_is_no_duration_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
