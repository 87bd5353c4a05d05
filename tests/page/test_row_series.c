/* test_row_series.c - packed columns to the byte, and rows that are merged
 *
 * Breaks if another reader cannot read the packed data, or if entries are lost or out of order after rows are merged.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "page/row_series.h"

enum { ROWS = 40, FEWER = 7, SLICES = 30 };

/* Returns the output of `write`, malloc'd. */
static char *written(void (*write)(struct hwi_json *json, void *what), void *what)
{
  char *text = NULL;
  size_t bytes = 0;
  struct hwi_json json = {.out = open_memstream(&text, &bytes), .first = true};
  assert_non_null(json.out);
  write(&json, what);
  assert_int_equal(fclose(json.out), 0);
  assert_false(json.failed);
  return text;
}

static void write_packed(struct hwi_json *json, void *what)
{
  hwi_json_packed(json, "x", what);
}

static void assert_packed(struct hwi_packed *packed, const char *expected)
{
  char *text = written(write_packed, packed);
  assert_string_equal(text, expected);
  assert_null(packed->bytes);
  free(text);
}

static void numbers_are_varints_in_base64(void **state)
{
  (void)state;
  struct hwi_packed packed = {0};
  assert_packed(&packed, "\"x\":\"\"");
  hwi_packed_add(&packed, 0);
  assert_packed(&packed, "\"x\":\"AA==\"");
  hwi_packed_add(&packed, 300);
  assert_packed(&packed, "\"x\":\"rAI=\"");
  hwi_packed_add(&packed, 1);
  hwi_packed_add(&packed, 300);
  assert_packed(&packed, "\"x\":\"AawC\"");
  hwi_packed_add(&packed, UINT64_MAX);
  assert_packed(&packed, "\"x\":\"////////////AQ==\"");
  for (int64_t i = -2; i <= 2; i++)
    hwi_packed_add_signed(&packed, i);
  assert_packed(&packed, "\"x\":\"AwEAAgQ=\"");
  hwi_packed_add_signed(&packed, INT64_MIN);
  assert_packed(&packed, "\"x\":\"////////////AQ==\"");
}

struct table {
  struct hwi_page_series series;
  uint32_t rows;
};

static void write_series(struct hwi_json *json, void *what)
{
  const struct table *table = what;
  hwi_json_page_series(json, &table->series, table->rows, NULL);
}

static void act(struct hwi_page_series *series, uint32_t row, int number)
{
  struct hwi_page_entry *entry = hwi_page_series_now(series, row);
  entry->calls += (uint64_t)number;
  entry->bytes += (uint64_t)number * row;
  entry->ended[number % HWI_ENDINGS]++;
  entry->live_bytes -= number;
}

/* A series that was merged at any time equals one that had the final rows from the start. */
static void merged_rows_hold_what_their_parts_did(void **state)
{
  (void)state;
  for (uint32_t when = 0; when <= SLICES; when++) {
    struct table merged = {.rows = FEWER}, expected = {.rows = FEWER};
    uint32_t to_row[ROWS];
    srand(when);
    for (uint32_t r = 0; r < ROWS; r++)
      to_row[r] = r * r % FEWER;
    assert_true(hwi_page_series_init(&merged.series, ROWS) && hwi_page_series_init(&expected.series, ROWS));
    for (uint32_t slice = 0; slice < SLICES; slice++) {
      if (slice == when)
        hwi_page_series_merge(&merged.series, to_row, NULL);
      for (int i = rand() % 50; i > 0; i--) {
        uint32_t row = (uint32_t)rand() % ROWS;
        int number = rand() % 1000;
        struct hwi_page_entry *entry = hwi_page_series_now(&expected.series, to_row[row]);
        act(&merged.series, slice < when ? row : to_row[row], number);
        act(&expected.series, to_row[row], number);
        if (slice < when)
          entry->bytes += (uint64_t)number * row - (uint64_t)number * to_row[row];
      }
      assert_true(hwi_page_series_end_slice(&merged.series, slice));
      assert_true(hwi_page_series_end_slice(&expected.series, slice));
    }
    if (when == SLICES)
      hwi_page_series_merge(&merged.series, to_row, NULL);
    char *text = written(write_series, &merged), *other = written(write_series, &expected);
    assert_string_equal(text, other);
    assert_true(strlen(text) > SLICES * FEWER);
    free(text);
    free(other);
    hwi_page_series_release(&merged.series);
    hwi_page_series_release(&expected.series);
  }
}

/* A series whose slices were merged equals one that had the final slices from the start. */
static void joined_slices_hold_what_their_parts_did(void **state)
{
  (void)state;
  struct table joined = {.rows = ROWS}, expected = {.rows = ROWS};
  uint32_t to_slice[SLICES];
  assert_true(hwi_page_series_init(&joined.series, ROWS) && hwi_page_series_init(&expected.series, ROWS));
  srand(1);
  for (uint32_t slice = 0; slice < SLICES; slice++) {
    to_slice[slice] = slice / 3;
    for (int i = rand() % 50; i > 0; i--) {
      uint32_t row = (uint32_t)rand() % ROWS;
      int number = rand() % 1000;
      act(&joined.series, row, number);
      act(&expected.series, row, number);
    }
    assert_true(hwi_page_series_end_slice(&joined.series, slice));
    if (slice % 3 == 2 || slice + 1 == SLICES)
      assert_true(hwi_page_series_end_slice(&expected.series, slice / 3));
  }
  assert_true(joined.series.count > expected.series.count);
  hwi_page_series_merge(&joined.series, NULL, to_slice);
  assert_int_equal(joined.series.count, expected.series.count);
  char *text = written(write_series, &joined), *other = written(write_series, &expected);
  assert_string_equal(text, other);
  free(text);
  free(other);
  hwi_page_series_release(&joined.series);
  hwi_page_series_release(&expected.series);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_are_varints_in_base64),
      cmocka_unit_test(merged_rows_hold_what_their_parts_did),
      cmocka_unit_test(joined_slices_hold_what_their_parts_did),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
