/* test_pipe.c - batches are counted in their order, with and without a separate thread
 *
 * Breaks if figures depend on the number of processors; if a reader waits for ever, or goes on, when counting failed;
 * or if batches are not counted yet when the pipe is destroyed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "profile/replay/pipe.h"

enum { MANY = 1000 };

struct counted {
  uint32_t next; /* the number that the next batch must have */
  uint32_t fails_at;
  bool in_order;
};

static bool count(void *context, struct hwi_batch *batch)
{
  struct counted *counted = context;
  counted->in_order = counted->in_order && batch->events[0].stack == counted->next;
  return counted->next++ != counted->fails_at;
}

/* Sends batches with the numbers from `first` on, until one is refused. Returns how many were accepted. */
static uint32_t give(struct hwi_pipe *pipe, uint32_t first, uint32_t batch_count)
{
  for (uint32_t i = 0; i < batch_count; i++) {
    struct hwi_batch *batch = hwi_pipe_batch(pipe);
    hwi_batch_begin(batch, NULL);
    batch->events[batch->count++] = (struct hwi_resolved){.stack = first + i};
    if (!hwi_pipe_give(pipe))
      return i;
  }
  return batch_count;
}

static void run_in_order(bool has_thread)
{
  struct counted counted = {.in_order = true, .fails_at = UINT32_MAX};
  struct hwi_pipe *pipe = hwi_pipe_create(count, &counted);
  assert_non_null(pipe);
  assert_true(hwi_pipe_wait(pipe));
  assert_int_equal(give(pipe, 0, 1), 1); /* the batches before the thread */
  assert_true(hwi_pipe_wait(pipe));
  if (has_thread)
    hwi_pipe_start_thread(pipe);
  for (uint32_t given = 1, more = 1; given < MANY; given += more++) {
    assert_int_equal(give(pipe, given, more), more);
    assert_true(hwi_pipe_wait(pipe));
    assert_int_equal(counted.next, given + more);
  }
  const uint32_t before = counted.next;
  assert_int_equal(give(pipe, before, 3), 3); /* does not wait for it */
  hwi_pipe_destroy(pipe);
  assert_int_equal(counted.next, before + 3);
  assert_true(counted.in_order);
}

static void test_in_order(void **state)
{
  (void)state;
  run_in_order(false);
  run_in_order(true);
}

static void run_failure(bool has_thread)
{
  enum { FAILS_AT = 5 };
  struct counted counted = {.in_order = true, .fails_at = FAILS_AT};
  struct hwi_pipe *pipe = hwi_pipe_create(count, &counted);
  assert_non_null(pipe);
  if (has_thread)
    hwi_pipe_start_thread(pipe);
  assert_in_range(give(pipe, 0, MANY), FAILS_AT, MANY - 1);
  assert_false(hwi_pipe_wait(pipe));
  assert_int_equal(counted.next, FAILS_AT + 1); /* nothing after it was counted */
  assert_false(hwi_pipe_give(pipe));
  hwi_pipe_destroy(pipe);
}

static void test_failure(void **state)
{
  (void)state;
  run_failure(false);
  run_failure(true);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_in_order), cmocka_unit_test(test_failure)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
