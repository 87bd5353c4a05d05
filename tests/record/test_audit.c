/* test_audit.c - spliced stacks are compared with full walks
 *
 * Breaks if a wrong splice is not corrected, or if no report mentions it.
 */
#include "record/unwind/walk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lone_session.h"

enum { WINDOW_BYTES = 64 << 20, DEPTH = 128, EVENTS = 4000, AUDIT_EVERY = 1024 };

#define SEPARATE __attribute__((noinline, noclone, optimize("no-optimize-sibling-calls")))

static struct hwi_lane lane;

static int begin(void **state)
{
  (void)state;
  hwi_walk_forget(&lane);
  return lone_session_begin(WINDOW_BYTES, DEPTH);
}

static int end(void **state)
{
  (void)state;
  return lone_session_end();
}

static uint64_t audited(void)
{
  return hwi_session.header->audited_stacks;
}

static uint64_t differences(void)
{
  return hwi_session.header->audit_differences;
}

static SEPARATE uint32_t event(bool is_audited)
{
  struct hwi_caller caller = HWI_CALLER();
  return is_audited ? hwi_walk_audited(&lane, caller, HW_ENTRY_MALLOC) : hwi_walk(&lane, &caller, HW_ENTRY_MALLOC);
}

/* All events come from one line, so that all except the first are spliced. */
static uint32_t cached_node, audited_node, later_node;

static SEPARATE void spliced_with(void (*falsify)(void))
{
  enum { CACHED, AUDITED, LATER, COUNT };
  uint32_t nodes[COUNT];
  lane.walks_until_audit = EVENTS;
  for (volatile int i = 0; i < COUNT; i++) {
    if (i == AUDITED && falsify)
      falsify();
    nodes[i] = event(i == AUDITED);
  }
  cached_node = nodes[CACHED];
  audited_node = nodes[AUDITED];
  later_node = nodes[LATER];
}

static void test_a_splice_that_is_right(void **state)
{
  (void)state;
  uint64_t before = audited(), different = differences();
  spliced_with(NULL);
  assert_int_equal(audited(), before + 1);
  assert_int_equal(differences(), different);
  assert_int_equal(audited_node, cached_node);
}

/* The outermost frame is at another place, though the verified words are the same. */
static void move_outermost(void)
{
  enum { WORDS = 1024, MIDDLE = WORDS / 2 };
  static uintptr_t words[WORDS];
  struct hwi_walked_frame *outermost = &lane.cached.frames[0], *next = outermost + 1;
  outermost->sp = (uintptr_t)&words[MIDDLE];
  ((uintptr_t *)hwi_arch_return_end(outermost->sp, next->return_slot))[HWI_NO_BP_SLOT] = outermost->pc;
  lane.cached.bps.count = 0;
}

static void change_bp(void)
{
  struct hwi_walked_frame *outermost = &lane.cached.frames[0];
  outermost->bp ^= sizeof(uintptr_t);
  outermost->bp_is_free = false;
  lane.cached.bps.count = 0;
}

static void leave_outermost_out(void)
{
  struct hwi_cached_stack *cached = &lane.cached;
  cached->bps.count = 0;
  for (uint32_t i = 1; i < cached->frame_count; i++)
    cached->frames[i - 1] = cached->frames[i];
  cached->frame_count--;
  cached->leaf--;
}

static void assert_is_found_out(void (*falsify)(void))
{
  uint64_t before = audited(), different = differences();
  spliced_with(falsify);
  assert_int_equal(audited(), before + 1);
  assert_int_equal(differences(), different + 1);
  assert_int_equal(audited_node, cached_node); /* the node of the full walk is used */
  assert_int_equal(later_node, cached_node);
}

static void test_a_frame_that_lies_elsewhere(void **state)
{
  (void)state;
  assert_is_found_out(move_outermost);
}

static void test_a_frame_with_another_frame_pointer(void **state)
{
  (void)state;
  assert_is_found_out(change_bp);
}

static void test_a_frame_that_is_missing(void **state)
{
  (void)state;
  assert_is_found_out(leave_outermost_out);
}

static uint64_t audits_of_many_events(bool check)
{
  uint64_t before = audited();
  hwi_session.options.check = check;
  lane.walks_until_audit = 0;
  for (volatile int i = 0; i < EVENTS; i++)
    event(false);
  hwi_session.options.check = false;
  return audited() - before;
}

static void test_one_in_many_is_audited(void **state)
{
  (void)state;
  assert_in_range(audits_of_many_events(false), EVENTS / AUDIT_EVERY - 1, EVENTS / AUDIT_EVERY + 1);
  uint64_t different = differences();
  assert_in_range(audits_of_many_events(true), EVENTS - 1, EVENTS); /* each spliced one: not the first */
  assert_int_equal(differences(), different);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_splice_that_is_right),
      cmocka_unit_test(test_a_frame_that_lies_elsewhere),
      cmocka_unit_test(test_a_frame_with_another_frame_pointer),
      cmocka_unit_test(test_a_frame_that_is_missing),
      cmocka_unit_test(test_one_in_many_is_audited),
  };
  return cmocka_run_group_tests(tests, begin, end);
}
