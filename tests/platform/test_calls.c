/* test_calls.c - a return address is after a call, data is not
 *
 * If this fails, the recorder takes data for generated code, or stacks lack callers whose code was generated.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "platform/arch.h"

static __attribute__((noinline)) const void *return_address(void)
{
  return (const void *)hwi_arch_code_address((uintptr_t)__builtin_return_address(0));
}

static void test_calls(void **state)
{
  (void)state;
  const void *(*volatile by_pointer)(void) = return_address;
  assert_true(hwi_arch_is_after_call(return_address()));
  assert_true(hwi_arch_is_after_call(by_pointer()));
}

static void test_data(void **state)
{
  (void)state;
  static const uint64_t words[] = {
      0, 0, 8, UINT64_C(0x7fc9a2c61040), UINT64_C(0x420c39d0e0), UINT64_C(0x40028288b8), UINT64_MAX, 1};
  if (!HWI_ARCH_HAS_RECORDS)
    skip(); /* the answer is not used there */
  for (size_t i = 1; i <= sizeof words / sizeof *words; i++)
    assert_false(hwi_arch_is_after_call(words + i));
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_calls), cmocka_unit_test(test_data)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
