/* test_anchor.c - one moment on two clocks is taken from the reads that were interrupted least
 *
 * Breaks if a pair is used between whose reads the thread had lost its processor, which would distort all times of a
 * trace.
 */
#include "trace/anchor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { INNER_IS_AHEAD = 1000000, READ_TAKES = 10, INTERRUPTION = 50000 };

/* One time that both clocks show. Each read takes some of it, and before the reads in `interrupted` (one bit each) it
 * jumps. */
static uint64_t now, interrupted;
static int reads;

static uint64_t read_time(void)
{
  if (interrupted >> reads++ & 1)
    now += INTERRUPTION;
  return now += READ_TAKES;
}

static uint64_t outer(void)
{
  return read_time();
}

static uint64_t inner(void)
{
  return read_time() + INNER_IS_AHEAD;
}

static void assert_is_close(uint64_t interruptions)
{
  now = 1000;
  reads = 0;
  interrupted = interruptions;
  struct hwi_moment moment = hwi_moment_of(outer, inner);
  assert_int_equal(reads, 3 * HWI_ANCHOR_TRIES);
  assert_int_equal(moment.inner - moment.outer, INNER_IS_AHEAD);
}

/* Each choice of interrupted reads that leaves one try undisturbed: nothing happens between its first read and its
 * last. */
static void test_one_whole_try_is_enough(void **state)
{
  (void)state;
  for (int whole = 0; whole < HWI_ANCHOR_TRIES; whole++)
    for (uint64_t which = 0; which < UINT64_C(1) << 3 * HWI_ANCHOR_TRIES; which++)
      if (!(which >> (3 * whole + 1) & 3))
        assert_is_close(which);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_whole_try_is_enough)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
