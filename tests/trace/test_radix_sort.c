/* test_radix_sort.c - items sorted by their keys, compared with qsort
 *
 * Breaks if a digit is skipped although keys differ in it, or if digits are sorted in the wrong order; if equal keys
 * change places; or if the sorted items stay in the other half.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "trace/radix_sort.h"

enum { MOST = 3000, ROUNDS = 200 };

static uint64_t state_of_random = 1;

static uint64_t next_random(void)
{
  state_of_random = state_of_random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return state_of_random >> 11;
}

static int compare(const void *left, const void *right)
{
  const struct hwi_sort_item *a = left, *b = right;
  if (a->key != b->key)
    return a->key > b->key ? -1 : 1;
  return a->item < b->item ? -1 : a->item > b->item;
}

/* Items are numbered in their initial order, so that the order of equal items is that of their numbers. */
static void check(struct hwi_sort_item *items, size_t count)
{
  struct hwi_sort_item expected[MOST];
  for (size_t i = 0; i < count; i++)
    items[i].item = (uint32_t)i;
  memcpy(expected, items, count * sizeof *items);
  qsort(expected, count, sizeof *expected, compare);
  assert_true(hwi_radix_sort(items, count));
  for (size_t i = 0; i < count; i++) {
    assert_int_equal(items[i].key, expected[i].key);
    assert_int_equal(items[i].item, expected[i].item);
  }
}

static void test_random_keys(void **state)
{
  (void)state;
  static struct hwi_sort_item items[MOST];
  for (int round = 0; round < ROUNDS; round++) {
    size_t count = next_random() % MOST;
    unsigned bits = next_random() % 64;
    uint64_t base = next_random() << next_random() % 12;
    for (size_t i = 0; i < count; i++)
      items[i].key = base + (next_random() << 11 >> bits);
    check(items, count);
  }
}

static void test_highest_digit(void **state)
{
  (void)state;
  struct hwi_sort_item items[] = {{.key = 0}, {.key = UINT64_MAX}, {.key = UINT64_C(1) << 63}, {.key = 1}, {.key = 0}};
  check(items, sizeof items / sizeof *items);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random_keys),
      cmocka_unit_test(test_highest_digit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
