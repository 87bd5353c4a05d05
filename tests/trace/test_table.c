/* test_table.c - lists that grow to many megabytes keep their contents
 *
 * Breaks if items are lost or moved where a list moves from malloc's memory to the kernel's, or gets a larger mapping
 * there; if memory after the items is not zero; or if an impossible size is accepted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "trace/table.h"

enum { ITEMS = 1 << 20 };

static void test_grows(void **state)
{
  (void)state;
  void *list = NULL;
  size_t capacity = 0;
  for (size_t i = 0; i < ITEMS; i++) {
    assert_true(hwi_table_grow(&list, &capacity, i + 1, sizeof(uint64_t)));
    uint64_t *items = list;
    assert_true(capacity > i);
    assert_int_equal(items[i], 0);
    assert_int_equal(items[capacity - 1], 0);
    items[i] = ~(uint64_t)i;
  }
  for (size_t i = 0; i < ITEMS; i++)
    assert_int_equal(((uint64_t *)list)[i], ~(uint64_t)i);
  assert_false(hwi_table_grow(&list, &capacity, SIZE_MAX / 2, sizeof(uint64_t)));
  assert_int_equal(((uint64_t *)list)[ITEMS - 1], ~(uint64_t)(ITEMS - 1));
  hwi_table_release(list, capacity * sizeof(uint64_t));
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_grows)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
