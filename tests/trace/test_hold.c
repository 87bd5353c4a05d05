/* test_hold.c - sections of a trace are dropped only while no reader holds them
 *
 * Breaks if a reader that was forked loses its hold when its parent ends its own one, so that events of a viewer are missing.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "trace/format.h"
#include "trace/read/hold.h"

static char path[] = "/tmp/hw-test-hold-XXXXXX";
static int packer;

static int make_trace(void **state)
{
  (void)state;
  packer = mkstemp(path);
  return packer >= 0 ? ftruncate(packer, HW_TRACE_HEADER_BYTES) : -1;
}

static int remove_trace(void **state)
{
  (void)state;
  close(packer);
  return unlink(path);
}

static bool is_held(void)
{
  const bool may_drop = hwi_hold_try_drop(packer);
  if (may_drop)
    hwi_hold_end(packer);
  return !may_drop;
}

static void is_held_until_all_readers_end(void **state)
{
  (void)state;
  const int first = open(path, O_RDONLY), second = open(path, O_RDONLY);
  assert_false(is_held());
  hwi_hold_begin(first);
  hwi_hold_begin(second);
  hwi_hold_end(first);
  assert_true(is_held());
  close(second);
  assert_false(is_held());
  close(first);
}

/* dup() shares the opening of the file, as fork() does. */
static void a_forked_reader_has_a_hold_of_its_own(void **state)
{
  (void)state;
  for (int holds = 0; holds < 2; holds++) {
    const int parent = open(path, O_RDONLY), child = dup(parent);
    hwi_hold_begin(parent);
    hwi_hold_apart(child, holds);
    hwi_hold_end(parent);
    assert_int_equal(is_held(), holds);
    hwi_hold_begin(parent);
    hwi_hold_end(child);
    assert_true(is_held());
    close(parent);
    close(child);
    assert_false(is_held());
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(is_held_until_all_readers_end),
      cmocka_unit_test(a_forked_reader_has_a_hold_of_its_own),
  };
  return cmocka_run_group_tests(tests, make_trace, remove_trace);
}
