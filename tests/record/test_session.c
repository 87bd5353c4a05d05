/* test_session.c - events of threads that wait while another thread starts the session
 *
 * Breaks if a thread that stopped waiting (a real-time thread may keep the starter from running for ever) loses its
 * event without a report.
 */
#include "record/session.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/events/stream.h"
#include "record/runtime/real.h"

enum { GIVEN_UP = 2, ANOTHER_THREAD = 1 };

static void remove_trace(void)
{
  assert_int_equal(unlink(hwi_session.name), 0);
}

static void test_who_gives_up_waiting_counts_what_it_loses(void **state)
{
  (void)state;
  uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
  atomic_store(&hwi_session.liveness->starter, ANOTHER_THREAD);
  for (int i = 0; i < GIVEN_UP; i++)
    assert_null(hwi_stream_enter_slow(frame));
  atomic_store(&hwi_session.liveness->starter, 0);
  struct hwi_lane *lane = hwi_stream_enter_slow(frame);
  assert_non_null(lane);
  hwi_stream_leave(lane);
  assert_int_equal(hwi_session.header->lost_events, GIVEN_UP);
  hwi_session_lose(HW_LOSS_NESTED);
  assert_int_equal(hwi_session.header->lost_events, GIVEN_UP + 1);
  assert_int_equal(hwi_session.header->lost_by_cause[HW_LOSS_STARTING], GIVEN_UP);
  assert_int_equal(hwi_session.header->lost_by_cause[HW_LOSS_NESTED], 1);
  remove_trace();
}

static void test_what_comes_after_the_end_is_not_lost(void **state)
{
  (void)state;
  uint64_t before = hwi_session.header->lost_events;
  hwi_session_stop(HW_STATE_STOPPED_LIMIT);
  assert_null(hwi_stream_enter_slow((uintptr_t)__builtin_frame_address(0)));
  assert_int_equal(hwi_session.header->lost_events, before);
}

int main(void)
{
  char folder[] = "/tmp/hw-test-session-XXXXXX";
  if (!mkdtemp(folder) || chdir(folder))
    return 1;
  hwi_real_find();
  hwi_real_is_left_alone = false; /* the state of this very program under a sanitizer */
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_who_gives_up_waiting_counts_what_it_loses),
                                     cmocka_unit_test(test_what_comes_after_the_end_is_not_lost)};
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  rmdir(folder);
  return failed;
}
