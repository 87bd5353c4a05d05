/* test_hash_table.c - the hash table, and the tables of pairs and of strings that build on it
 *
 * Breaks if an item is lost when a table grows; if items with the same tag are confused; if an item at the table's end
 * is not found again at its start; if a look-up in an empty table is handled wrongly; if numbers have gaps or depend on
 * the hash; if a stored string moves; or if a table changes or leaks when there is no memory for a new item.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "failing_malloc.h"
#include "trace/numbering.h"
#include "trace/store.h"

enum { ITEMS = 5000, SAME_TAG = 7, FAILURES_MOST = 100 };

/* Returns how many slots have the tag; *sum gets the sum of their numbers. */
static uint32_t count_tagged(const struct hwi_hash_table *table, uint32_t tag, uint64_t *sum)
{
  uint32_t count = 0;
  *sum = 0;
  const struct hwi_hash_slot *at = hwi_hash_table_first(table, tag);
  for (; at->number; at = hwi_hash_table_next(table, at), count++) {
    assert_int_equal(at->tag, tag);
    *sum += at->number;
  }
  return count;
}

static void test_tags(void **state)
{
  (void)state;
  struct hwi_hash_table table = {0};
  uint64_t sum;
  assert_int_equal(count_tagged(&table, UINT32_MAX, &sum), 0);
  for (uint32_t i = 0; i < ITEMS; i++) { /* their homes are the table's end, whatever its size */
    assert_true(hwi_hash_table_add(&table, UINT32_MAX - i % SAME_TAG, i + 1));
    assert_int_equal(count_tagged(&table, UINT32_MAX - i % SAME_TAG, &sum), i / SAME_TAG + 1);
  }
  assert_int_equal(table.count, ITEMS);
  uint64_t all = 0;
  for (uint32_t i = 0; i < SAME_TAG; i++, all += sum)
    count_tagged(&table, UINT32_MAX - i, &sum);
  assert_int_equal(all, (uint64_t)ITEMS * (ITEMS + 1) / 2);
  assert_int_equal(count_tagged(&table, 0, &sum), 0);
  hwi_hash_table_release(&table);
  assert_null(table.slots);
}

/* --- pairs --- */

static struct hwi_pair pair_of(uint32_t i)
{
  const uint64_t number = i % 3 == 0 ? i : i % 3 == 1 ? (uint64_t)i << 32 : UINT64_MAX - i;
  return i % 2 ? (struct hwi_pair){number, i / 4} : (struct hwi_pair){i / 4, number};
}

static void test_pairs(void **state)
{
  (void)state;
  struct hwi_numbering numbering = {0};
  assert_int_equal(hwi_numbering_find(&numbering, 0, 0), 0);
  for (uint32_t i = 0; i < ITEMS; i++) {
    const struct hwi_pair pair = pair_of(i), earlier = pair_of(i / 2);
    assert_int_equal(hwi_numbering_find(&numbering, pair.a, pair.b), 0);
    assert_int_equal(hwi_numbering_of(&numbering, pair.a, pair.b), i + 1);
    assert_int_equal(hwi_numbering_of(&numbering, earlier.a, earlier.b), i / 2 + 1);
  }
  assert_int_equal(numbering.count, ITEMS);
  for (uint32_t i = 0; i < ITEMS; i++) {
    const struct hwi_pair pair = pair_of(i);
    assert_memory_equal(&numbering.pairs[i + 1], &pair, sizeof pair);
    assert_int_equal(hwi_numbering_find(&numbering, pair.a, pair.b), i + 1);
  }
  hwi_numbering_release(&numbering);
}

/* --- strings --- */

static const char *text_of(uint32_t i)
{
  static char text[16];
  snprintf(text, sizeof text, "%x", i);
  return text;
}

static void test_strings(void **state)
{
  (void)state;
  struct hwi_store store = {0};
  const char *first = hwi_store_string(&store, text_of(0));
  for (uint32_t i = 1; i < ITEMS; i++) {
    assert_int_equal(hwi_store_find_text(&store, text_of(i)), 0);
    assert_int_equal(hwi_store_intern_text(&store, text_of(i)), i + 1);
    assert_int_equal(hwi_store_intern_text(&store, text_of(i / 2)), i / 2 + 1);
    memset(hwi_store_take(&store, i % 9), 0xff, i % 9); /* in no string's way */
  }
  for (uint32_t i = 0; i < ITEMS; i++) {
    assert_string_equal(store.strings[i + 1].text, text_of(i));
    assert_int_equal(hwi_store_find_text(&store, text_of(i)), i + 1);
  }
  assert_ptr_equal(hwi_store_string(&store, text_of(0)), first);
  assert_null(hwi_store_string(&store, NULL));
  assert_int_equal(hwi_store_intern(&store, "a\0b", 3), ITEMS + 1); /* any bytes; no bytes are a string, too */
  assert_int_equal(hwi_store_intern(&store, "a\0c", 3), ITEMS + 2);
  assert_int_equal(hwi_store_intern(&store, "", 0), ITEMS + 3);
  assert_int_equal(hwi_store_intern(&store, "a\0b", 3), ITEMS + 1);
  assert_int_equal(hwi_store_intern(&store, "a", 1), 10 + 1);
  assert_memory_equal(store.strings[ITEMS + 1].text, "a\0b", 4);
  hwi_store_release(&store);
}

/* --- no memory --- */

/* Adds all items, but fails at a call of malloc. An item that was refused is added when there is memory again. Returns
 * whether a call failed. */
static bool check_failing(uint64_t calls)
{
  struct hwi_numbering numbering = {0};
  struct hwi_store store = {0};
  failing_malloc_arm(calls, 1);
  for (uint32_t i = 1; i <= ITEMS; i++) {
    const struct hwi_pair pair = pair_of(i);
    uint32_t number = hwi_numbering_of(&numbering, pair.a, pair.b);
    if (!number) {
      assert_int_equal(numbering.count, i - 1);
      assert_int_equal(hwi_numbering_find(&numbering, pair.a, pair.b), 0);
      number = hwi_numbering_of(&numbering, pair.a, pair.b);
    }
    assert_int_equal(number, i);
    number = hwi_store_intern_text(&store, text_of(i));
    if (!number) {
      assert_int_equal(hwi_store_find_text(&store, text_of(i)), 0);
      number = hwi_store_intern_text(&store, text_of(i));
    }
    assert_int_equal(number, i);
  }
  for (uint32_t i = 1; i <= ITEMS; i++)
    assert_int_equal(hwi_store_find_text(&store, text_of(i)), i);
  hwi_numbering_release(&numbering);
  hwi_store_release(&store);
  bool has_failed = failing_malloc_disarm();
  assert_int_equal(failing_malloc_leaks(), 0);
  return has_failed;
}

static void test_no_memory(void **state)
{
  (void)state;
  uint64_t calls = 0;
  while (check_failing(calls))
    assert_true(++calls < FAILURES_MOST);
  assert_true(calls > 10); /* the arrays and tables have grown several times */
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_tags), cmocka_unit_test(test_pairs),
                                     cmocka_unit_test(test_strings), cmocka_unit_test(test_no_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
