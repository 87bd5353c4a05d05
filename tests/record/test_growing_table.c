/* test_growing_table.c - tables that grow in place
 *
 * If this fails, names or objects of programs move or overwrite each other, or a wrong handle is dereferenced.
 */
#include "record/growing_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { LIMIT = 300000, ITEM = 24 };

static void test_items_stay_where_they_are(void **state)
{
  struct hwi_growing_table table = {0};
  (void)state;
  assert_false(hwi_growing_table_has(&table, 1));
  char *start = hwi_growing_table_use(&table, 1, LIMIT);
  assert_non_null(start);
  for (size_t bytes = 1; bytes <= LIMIT; bytes += 997) {
    assert_ptr_equal(hwi_growing_table_use(&table, bytes, LIMIT), start);
    assert_true(hwi_growing_table_has(&table, bytes));
    assert_int_equal(start[bytes - 1], 0);
    start[bytes - 1] = 1;
  }
  assert_ptr_equal(hwi_growing_table_use(&table, LIMIT, LIMIT), start);
  assert_null(hwi_growing_table_use(&table, 2 * LIMIT, LIMIT));
  assert_int_equal(start[0], 1);
}

static void test_only_usable_items_are_found(void **state)
{
  struct hwi_growing_table table = {0};
  size_t index = 0;
  (void)state;
  assert_false(hwi_growing_table_find(&table, NULL, ITEM, &index));
  assert_false(hwi_growing_table_find(&table, &table, ITEM, &index));
  char *start = hwi_growing_table_use(&table, 5 * ITEM, LIMIT);
  assert_true(hwi_growing_table_find(&table, start + 4 * ITEM, ITEM, &index));
  assert_int_equal(index, 4);
  assert_false(hwi_growing_table_find(&table, start + ITEM + 1, ITEM, &index));
  assert_false(hwi_growing_table_find(&table, start - ITEM, ITEM, &index));
  assert_false(hwi_growing_table_find(&table, start + LIMIT / ITEM * ITEM, ITEM, &index));
  assert_false(hwi_growing_table_find(&table, NULL, ITEM, &index));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_items_stay_where_they_are),
      cmocka_unit_test(test_only_usable_items_are_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
