/* test_epoch_writer.c - the length of the epochs of a replay
 *
 * Breaks if epochs never end although their data take much of the file, so that a span that begins or ends in one
 * replays half of the run; or if the epochs ignore the file's size.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "profile/epochs/epoch_writer.h"

enum { EVENTS = 1000, EPOCH_EVENTS = 10, LONGEST_EVENTS = 40 };

static bool take(void *context, struct hwi_epoch *epoch)
{
  (void)context;
  (void)epoch;
  return true;
}

static uint64_t bytes_of(void *context)
{
  return *(const uint64_t *)context;
}

/* The rows of a run of this many events, a nanosecond apart. Its epochs take `bytes` from the start and may take
 * `most_bytes`. */
static struct hwi_list rows_of(uint64_t bytes, uint64_t most_bytes)
{
  const struct hwi_span span = {.kind = HWI_SPAN_RUN};
  const struct hwi_clock clock = {.ns_per_unit = UINT64_C(1) << HWI_CLOCK_POINT_BITS};
  const struct hwi_replay_image image = {.clock = &clock};
  const struct hwi_epoch_writer_plan plan = {EVENTS, EPOCH_EVENTS, most_bytes};
  const struct hwi_epoch_sink sink = {take, bytes_of, &bytes};
  struct hwi_replay replay;
  assert_true(hwi_replay_init(&replay, &span, EVENTS));
  struct hwi_epoch_writer *writer = hwi_epoch_writer_create(&replay, &image, &plan, &sink);
  assert_non_null(writer);
  for (uint64_t tick = 1; tick <= EVENTS; tick++) {
    const struct hwi_resolved event = {.tick = tick};
    assert_int_equal(hwi_epoch_writer_take(writer, &event, 1), 1);
    replay.now_ns = tick;
  }
  assert_true(hwi_epoch_writer_end(writer));
  struct hwi_list rows = writer->rows;
  writer->rows = (struct hwi_list){0};
  hwi_epoch_writer_destroy(writer);
  hwi_replay_release(&replay);
  return rows;
}

static void assert_epochs(struct hwi_list rows, uint64_t events)
{
  const struct hwi_epoch_row *row = rows.items;
  assert_int_equal(rows.count, EVENTS / events);
  for (size_t i = 0; i < rows.count; i++)
    assert_int_equal(row[i].event_count, events);
  hwi_list_release(&rows);
}

static void test_as_planned(void **state)
{
  (void)state;
  assert_epochs(rows_of(1, UINT64_MAX), EPOCH_EVENTS);
}

static void test_waits_not_for_ever(void **state)
{
  (void)state;
  assert_epochs(rows_of(1, 0), LONGEST_EVENTS);
}

/* The bytes are those that half of the run may take: epochs are longer until then, and as planned afterwards. */
static void test_waits_for_its_share(void **state)
{
  (void)state;
  enum { LONG_ONES = EVENTS / 2 / LONGEST_EVENTS };
  struct hwi_list rows = rows_of(EVENTS / 2, EVENTS);
  const struct hwi_epoch_row *row = rows.items;
  for (size_t i = 0; i < LONG_ONES; i++)
    assert_int_equal(row[i].event_count, LONGEST_EVENTS);
  for (size_t i = LONG_ONES + 1; i < rows.count; i++)
    assert_int_equal(row[i].event_count, EPOCH_EVENTS);
  hwi_list_release(&rows);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_as_planned),
      cmocka_unit_test(test_waits_not_for_ever),
      cmocka_unit_test(test_waits_for_its_share),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
