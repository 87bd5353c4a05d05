/* test_quantities.c - durations, percentages, ranges: a misread suffix would set a limit a thousand times too large or
 * small */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/input/quantities.h"

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
      cmocka_unit_test(durations_have_units_and_fractions),
      cmocka_unit_test(what_is_no_duration_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
