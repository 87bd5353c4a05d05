/* test_limit.c - how much CPU time a rule has to use to go on
 *
 * Breaks if a product in 32 bits overflows, so that a rule that hangs goes on for rounds, or one that computes is
 * reported to hang.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "conform/conform.h"

static void test_it_grows_with_the_time(void **state)
{
  (void)state;
  const uint64_t least_ns = hwi_conform_least_ns(1);
  assert_int_equal(least_ns, 5000000);
  assert_int_equal(hwi_conform_least_ns(5), 5 * least_ns);
  assert_int_equal(hwi_conform_least_ns(20), 20 * least_ns);
  assert_int_equal(hwi_conform_least_ns(86400), 86400 * least_ns);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_it_grows_with_the_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
