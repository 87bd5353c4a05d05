/* test_wide.c - breaks if a product of 128 bits, or a share of one, is wrong, on CPUs whose compilers have such numbers or not */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/wide.h"

static void assert_wide(struct hwi_wide value, uint64_t high, uint64_t low)
{
  assert_true(value.high == high);
  assert_true(value.low == low);
}

static void test_products(void **state)
{
  (void)state;
  assert_wide(hwi_wide_product(0, UINT64_MAX), 0, 0);
  assert_wide(hwi_wide_product(UINT64_MAX, UINT64_MAX), UINT64_MAX - 1, 1);
  assert_wide(hwi_wide_product(UINT64_C(1) << 32, UINT64_C(1) << 32), 1, 0);
  assert_wide(hwi_wide_product(UINT32_MAX, UINT64_MAX), UINT32_MAX - UINT64_C(1), UINT64_MAX - UINT32_MAX + 1);
  assert_wide(hwi_wide_product(UINT64_C(0x123456789abcdef0), UINT64_C(0xfedcba9876543210)),
              UINT64_C(0x121fa00ad77d7422), UINT64_C(0x236d88fe5618cf00));
  assert_wide(hwi_wide_right((struct hwi_wide){0, 1}, 1), 0, UINT64_C(1) << 63);
  assert_wide(hwi_wide_right((struct hwi_wide){UINT64_MAX, UINT64_MAX}, 63), 1, UINT64_MAX);
}

/* a * b / b is a, and one less of the product gives one less; a rest is dropped. */
static void test_shares(void **state)
{
  (void)state;
  static const uint64_t numbers[] = {
      1, 7, 1000000007, UINT32_MAX, UINT64_C(1) << 33, UINT64_C(0x8000000000000001), UINT64_MAX};
  enum { COUNT = sizeof numbers / sizeof *numbers };
  for (int i = 0; i < COUNT; i++)
    for (int j = 0; j < COUNT; j++) {
      assert_true(hwi_wide_share(numbers[i], numbers[j], 0, numbers[j]) == numbers[i]);
      assert_true(hwi_wide_share(numbers[i], numbers[j], numbers[j] - 1, numbers[j]) == numbers[i]);
    }
  assert_true(hwi_wide_share(10, 10, 0, 7) == 14);
  assert_true(hwi_wide_share(10, 10, 5, 7) == 15);
  assert_true(hwi_wide_share(UINT64_MAX, 3, 0, 4) == UINT64_C(0xbfffffffffffffff));
  assert_true(hwi_wide_share(UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX) == 0); /* of 2^64, the lower bits */
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_products),
      cmocka_unit_test(test_shares),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
