/* test_instance_texts.c - the texts of instances: those that are wanted, and those that pass until they are taken
 *
 * Breaks if a text goes to another instance, or if the memory grows with the texts that were taken.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "trace/read/instance_texts.h"

static void add(struct hwi_instance_texts *texts, uint32_t number, const char *text)
{
  assert_true(hwi_instance_texts_add(texts, number, text, strlen(text)));
}

static void add_number(struct hwi_instance_texts *texts, uint32_t number)
{
  char text[16];
  snprintf(text, sizeof text, "%u", number);
  add(texts, number, text);
}

static void take_number(struct hwi_instance_texts *texts, uint32_t number)
{
  char *text = hwi_instance_texts_take(texts, number);
  assert_non_null(text);
  assert_int_equal(strtoul(text, NULL, 10), number);
  free(text);
  assert_null(hwi_instance_texts_take(texts, number));
}

static void test_only_wanted_texts_are_read(void **state)
{
  (void)state;
  struct hwi_instance_texts texts = {0};
  assert_true(hwi_instance_texts_want(&texts, 7) && hwi_instance_texts_want(&texts, 7));
  assert_null(hwi_instance_texts_find(&texts, 7));
  add(&texts, 6, "not wanted");
  add(&texts, 7, "first");
  add(&texts, 7, "second");
  assert_string_equal(hwi_instance_texts_find(&texts, 7), "first");
  assert_null(hwi_instance_texts_find(&texts, 6));
  assert_int_equal(texts.held, 1);
  hwi_instance_texts_release(&texts);
}

static void test_millions_of_texts_pass(void **state)
{
  enum { COUNT = 2000000, AT_A_TIME = 3000 };
  (void)state;
  struct hwi_instance_texts texts = {.holds_all = true};
  add(&texts, UINT32_MAX, "4294967295"); /* of a thread whose events come last */
  for (uint32_t i = 0; i < COUNT; i++) {
    add_number(&texts, i);
    if (i >= AT_A_TIME)
      take_number(&texts, i - AT_A_TIME);
  }
  assert_int_equal(texts.held, AT_A_TIME + 1);
  assert_in_range(texts.capacity, AT_A_TIME, 10 * AT_A_TIME);
  take_number(&texts, UINT32_MAX);
  take_number(&texts, COUNT - 1);
  add_number(&texts, COUNT - 1); /* its part of the file is read again */
  assert_int_equal(texts.held, AT_A_TIME);
  hwi_instance_texts_release(&texts);
}

static void test_too_many_texts_are_dropped(void **state)
{
  enum { BYTES = 1 << 20, COUNT = 200 };
  (void)state;
  struct hwi_instance_texts texts = {.holds_all = true};
  char *text = calloc(1, BYTES);
  assert_non_null(text);
  for (uint32_t i = 0; i < COUNT; i++)
    assert_true(hwi_instance_texts_add(&texts, i, text, BYTES));
  assert_in_range(texts.held, 1, COUNT - 1);
  assert_null(hwi_instance_texts_find(&texts, COUNT - 1));
  free(hwi_instance_texts_take(&texts, 0));
  assert_true(hwi_instance_texts_add(&texts, COUNT - 1, text, BYTES));
  assert_non_null(hwi_instance_texts_find(&texts, COUNT - 1));
  free(text);
  hwi_instance_texts_release(&texts);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_only_wanted_texts_are_read),
      cmocka_unit_test(test_millions_of_texts_pass),
      cmocka_unit_test(test_too_many_texts_are_dropped),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
