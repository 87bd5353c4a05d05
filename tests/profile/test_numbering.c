/* test_numbering.c - keys get numbers without gaps, and keep them
 *
 * Breaks if a key is lost when the table grows, if keys with equal hashes are confused, or if the largest key or a
 * look-up in an empty table is handled wrongly.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "profile/blocks/numbering.h"

enum { KEYS = 5000 };

static uint64_t key_of(uint32_t i)
{
  return i % 3 == 0 ? i : i % 3 == 1 ? (uint64_t)i << 32 : UINT64_MAX - i;
}

static void test_numbers(void **state)
{
  (void)state;
  struct hwi_numbering numbering = {0};
  assert_int_equal(hwi_numbering_find(&numbering, 0), UINT32_MAX);
  for (uint32_t i = 0; i < KEYS; i++) {
    assert_int_equal(hwi_numbering_find(&numbering, key_of(i)), UINT32_MAX);
    assert_int_equal(hwi_numbering_of(&numbering, key_of(i)), i);
    assert_int_equal(hwi_numbering_of(&numbering, key_of(i / 2)), i / 2);
  }
  assert_int_equal(numbering.count, KEYS);
  for (uint32_t i = 0; i < KEYS; i++) {
    assert_int_equal(numbering.keys[i], key_of(i));
    assert_int_equal(hwi_numbering_find(&numbering, key_of(i)), i);
  }
  hwi_numbering_release(&numbering);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_numbers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
