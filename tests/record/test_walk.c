/* test_walk.c - a walk takes only as many steps as the stack has changed, and finds the same stack as a full walk
 *
 * Breaks if a stack in which only a return address in the middle differs is walked to its end, if an earlier stack is
 * walked again or taken for another one, or if the work of an event grows with the depth of a recursion. Work is
 * counted in frames walked and verified, never in time.
 */
#include "record/unwind/walk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "lone_session.h"
#include "record/unwind/cached_stack.h"
#include "record/unwind/modules.h"
#include "record/unwind/nodes.h"
#include "record/unwind/row_cache.h"
#include "record/unwind/stack_cache.h"
#include "record/unwind/step.h"

enum { DEPTH_LIMIT = 256, LEVELS = 100, DEEP_LEVELS = 40000, DEEP_NODES = 3 * DEPTH_LIMIT * 40 };

#define SEPARATE __attribute__((noinline, noclone, optimize("no-optimize-sibling-calls")))

static struct hwi_lane lane;

static int begin(void **state)
{
  (void)state;
  int result = lone_session_begin(64 << 20, DEPTH_LIMIT);
  hwi_walk_forget(&lane);
  return result;
}

static int end(void **state)
{
  (void)state;
  return lone_session_end();
}

/* The verified part contains every step. */
static void assert_all_bps_are_known(void)
{
  uint32_t known = 0;
  for (uint32_t i = 1; i < lane.cached.frame_count; i++) {
    if (lane.cached.frames[i].bp_slot == HWI_NO_BP_SLOT)
      continue;
    assert_in_range(lane.cached.bps.count, known + 1, UINT32_MAX);
    assert_int_equal(lane.cached.bps.items[known++], i);
  }
  assert_int_equal(lane.cached.bps.count, known);
}

static void settle(void)
{
  struct hwi_unchanged unchanged = {0};
  hwi_stack_cache_copy_end(&lane, &unchanged);
}

struct walked { /* the result of one walk */
  uint32_t steps, node;
};

static uint32_t depth_of_full_walk(const struct hwi_caller *caller)
{
  struct hwi_walk walk = {.met = 0};
  /* on 32-bit Arm it ends in cmocka, which has no tables */
  assert_int_equal(hwi_walk_outward(&lane, caller, &walk), HWI_ARCH_HAS_RECORDS ? HWI_WALK_OUTERMOST : HWI_WALK_LOST);
  return walk.fresh_count;
}

/* Records its caller's stack as an entry point would, and compares it with a full walk. */
static SEPARATE struct walked probe(void)
{
  struct hwi_caller caller = HWI_CALLER();
  struct hwi_walk walk = {.met = 0};
  if (!hwi_range_enter(&lane.range, caller.sp))
    hwi_walk_forget(&lane);
  settle();
  walk.met = lane.cached.frame_count;
  enum hwi_walk_end how = hwi_walk_outward(&lane, &caller, &walk);
  struct walked walked = {walk.fresh_count, hwi_walk(&lane, &caller, HW_ENTRY_MALLOC)};
  uint32_t depth = depth_of_full_walk(&caller);
  settle();
  assert_int_equal(walk.fresh_count + (how == HWI_WALK_MET ? walk.met : 0), depth);
  assert_int_equal(lane.cached.frame_count, depth);
  assert_all_bps_are_known();
  return walked;
}

static SEPARATE struct walked middle(void)
{
  struct walked walked = probe();
  __asm__ volatile("" : : : "memory");
  return walked;
}

static SEPARATE void two_lines(void)
{
  enum { ROUNDS = 3 };
  struct walked one[ROUNDS], other[ROUNDS];
  for (volatile int i = 0; i < ROUNDS; i++) { /* an unrolled or peeled loop would call from more than two lines */
    one[i] = middle();
    __asm__ volatile("" : : : "memory");
    other[i] = middle();
  }
  for (int i = 1; i < ROUNDS; i++) {
    assert_in_range(one[i].steps, 1, 3);
    assert_in_range(other[i].steps, 1, 3);
    assert_int_equal(one[i].node, one[0].node);
    assert_int_equal(other[i].node, other[0].node);
  }
  assert_int_not_equal(one[0].node, other[0].node);
}

static SEPARATE void descend(int levels, void (*then)(void))
{
  if (levels)
    descend(levels - 1, then);
  else
    then();
  __asm__ volatile("" : : : "memory");
}

static void test_another_line_of_the_same_caller(void **state)
{
  (void)state;
  descend(LEVELS, two_lines);
}

/* --- stacks that alternate --- */

/* Returns whether the stack came from a stack end. It must equal a walk that reuses nothing. The stack is recorded in
 * any case. */
static SEPARATE bool is_taken_from_a_stack_end(void)
{
  struct hwi_caller caller = HWI_CALLER();
  struct hwi_unchanged unchanged = {0};
  uint32_t taken = hwi_stack_cache_take(&lane, caller, HW_ENTRY_MALLOC, &unchanged);
  if (!taken)
    taken = hwi_stack_cache_take_other(&lane, caller, HW_ENTRY_MALLOC, &unchanged);
  if (!taken) {
    hwi_walk(&lane, &caller, HW_ENTRY_MALLOC);
    settle();
    assert_all_bps_are_known();
    return false;
  }
  settle();
  assert_all_bps_are_known();
  uint32_t count = lane.cached.frame_count, node = lane.cached.frames[count - 1].node;
  assert_int_equal(node, taken);
  assert_int_equal(depth_of_full_walk(&caller), count);
  for (uint32_t i = 0; i < count; i++) {
    assert_int_equal(lane.cached.frames[i].pc, lane.fresh[count - 1 - i].pc);
    assert_int_equal(lane.cached.frames[i].sp, lane.fresh[count - 1 - i].sp);
  }
  hwi_walk_forget(&lane);
  assert_int_equal(hwi_walk(&lane, &caller, HW_ENTRY_MALLOC), node);
  return true;
}

static SEPARATE bool on_level(int levels)
{
  bool is_taken = levels ? on_level(levels - 1) : is_taken_from_a_stack_end();
  __asm__ volatile("" : : : "memory");
  return is_taken;
}

/* Its frames are found by their frame pointers, which therefore matter. */
static SEPARATE bool on_framed_level(int levels)
{
  bool is_taken = levels ? on_framed_level(levels - 1) : is_taken_from_a_stack_end();
  __asm__ volatile("" : : "r"(__builtin_frame_address(0)) : "memory");
  return is_taken;
}

/* The same frames at the same places, except for one return address in the middle. */
static SEPARATE bool on_another_line(int levels)
{
  bool is_taken = on_level(levels);
  __asm__ volatile("" : : : "memory");
  if (levels & 1)
    is_taken = on_level(levels);
  __asm__ volatile("" : : : "memory");
  return is_taken;
}

enum { TURNS = 6, PLACES = 16, FEW_LEVELS = 3, MORE_LEVELS = 6, MANY_LEVELS = 40 };

static struct {
  uint32_t taken, all; /* of earlier stacks */
} turns;

static SEPARATE void take_turns(void)
{
  volatile int count = TURNS; /* an unrolled loop would call from other lines */
  for (int i = 0; i < count; i++) {
    bool few = on_level(FEW_LEVELS), more = on_level(MORE_LEVELS);
    if (i >= 2) {
      turns.taken += few + more;
      turns.all += 2;
    }
    on_level(MANY_LEVELS); /* more than are cached */
  }
}

static void test_stacks_that_take_turns(void **state)
{
  (void)state;
  hwi_walk_forget(&lane);
  for (int i = 0; i < PLACES; i++)
    descend(LEVELS + i, take_turns);
  assert_in_range(turns.taken, turns.all * 3 / 4, turns.all); /* two may share a place in the table: not every time */
}

static SEPARATE void take_a_turn(void)
{
  turns.taken += is_taken_from_a_stack_end();
  turns.all++;
}

/* Both stack ends begin at the same place: one must not evict the other. */
static SEPARATE void take_turns_from_two_lines(void)
{
  volatile int count = TURNS;
  for (int i = 0; i < count; i++) {
    take_a_turn();
    __asm__ volatile("" : : : "memory");
    take_a_turn();
    __asm__ volatile("" : : : "memory");
  }
}

static void test_two_stack_ends_that_begin_alike(void **state)
{
  (void)state;
  turns.taken = turns.all = 0;
  descend(LEVELS, take_turns_from_two_lines);
  assert_in_range(turns.taken, turns.all - 4, turns.all - 2);
}

static SEPARATE void take_turns_with_framed_ones(void)
{
  volatile int count = TURNS;
  for (int i = 0; i < count; i++) {
    on_level(FEW_LEVELS);
    turns.taken += on_framed_level(MORE_LEVELS) && i > 0;
    assert_int_not_equal(lane.cached.bps.count, 0);
  }
}

static void test_stack_ends_whose_frame_pointers_matter(void **state)
{
  (void)state;
  if (!HWI_ARCH_HAS_RECORDS)
    skip(); /* Arm code has another frame pointer than the one that rows track */
  turns.taken = 0;
  descend(LEVELS, take_turns_with_framed_ones);
  assert_int_not_equal(turns.taken, 0);
}

static SEPARATE void assert_each_bp_is_verified(void)
{
  struct hwi_caller caller = HWI_CALLER();
  struct hwi_cached_stack *cached = &lane.cached;
  hwi_walk_forget(&lane);
  hwi_walk(&lane, &caller, HW_ENTRY_MALLOC);
  uint32_t count = cached->frame_count;
  assert_in_range(cached->bps.count, 2, UINT32_MAX);
  for (uint32_t i = 0; i < cached->bps.count; i++) {
    uint32_t at = cached->bps.items[i];
    cached->frames[at - 1].bp ^= sizeof(uintptr_t);
    assert_int_equal(hwi_cached_stack_unchanged(cached, 0, count), at);
    assert_int_equal(hwi_cached_stack_unchanged(cached, at, count), at);
    assert_int_equal(hwi_cached_stack_unchanged(cached, at + 1, count), count);
    assert_int_equal(hwi_cached_stack_unchanged(cached, 0, at), at);
    cached->frames[at - 1].bp ^= sizeof(uintptr_t);
  }
  assert_int_equal(hwi_cached_stack_unchanged(cached, 0, count), count);
}

static SEPARATE void descend_framed(int levels)
{
  if (levels)
    descend_framed(levels - 1);
  else
    assert_each_bp_is_verified();
  __asm__ volatile("" : : "r"(__builtin_frame_address(0)) : "memory");
}

static void test_cached_frame_pointers_that_changed(void **state)
{
  (void)state;
  if (!HWI_ARCH_HAS_RECORDS)
    skip();
  descend_framed(MORE_LEVELS);
}

static SEPARATE void some_turns(void)
{
  take_turns();
  __asm__ volatile("" : : : "memory");
}

/* The frames outward of the stack ends' stems change. */
static SEPARATE void turns_on_two_lines(void)
{
  some_turns();
  __asm__ volatile("" : : : "memory");
  some_turns(); /* each stack from a stack end is compared with a walk */
  __asm__ volatile("" : : : "memory");
}

static void test_no_stack_end_on_another_stem(void **state)
{
  (void)state;
  descend(LEVELS, turns_on_two_lines);
}

static void forget_stack_ends(void)
{
  on_level(FEW_LEVELS);
  on_level(MORE_LEVELS);
  hwi_stack_cache_drop(&lane);
  assert_false(on_level(FEW_LEVELS));
}

static void test_no_stack_end_that_was_dropped(void **state)
{
  (void)state;
  descend(LEVELS, forget_stack_ends);
}

static void lines_take_turns(void)
{
  volatile int count = TURNS;
  for (int i = 0; i < count; i++)
    on_another_line(FEW_LEVELS | 1); /* each stack from a stack end is compared with a walk */
}

static void test_stack_ends_with_another_line(void **state)
{
  (void)state;
  descend(LEVELS, lines_take_turns);
}

/* --- stacks at random --- */

enum { WANDER_LEVELS = 7, WANDER_ROUNDS = 3, WANDERS = 40 };

static struct {
  uint32_t random, takes, settled;
} wander;

static uint32_t a_random_number(uint32_t below)
{
  wander.random = wander.random * 1103515245 + 12345;
  return (wander.random >> 16) % below;
}

/* Returns whether the stack has the node that a lane with an empty cache finds. */
static SEPARATE void compare_with_a_full_walk(void)
{
  static struct hwi_lane other;
  struct hwi_caller caller = HWI_CALLER();
  bool had_inner_end = lane.cached.inner_end != NULL;
  uint32_t node = hwi_walk(&lane, &caller, HW_ENTRY_MALLOC);
  wander.takes += lane.cached.inner_end != NULL;
  wander.settled += had_inner_end && !lane.cached.inner_end;
  hwi_walk_forget(&other);
  hwi_stack_cache_drop(&other);
  assert_int_equal(hwi_walk(&other, &caller, HW_ENTRY_MALLOC), node);
}

static SEPARATE void wander_on(int levels);

static SEPARATE void wander_framed(int levels)
{
  wander_on(levels);
  __asm__ volatile("" : : "r"(__builtin_frame_address(0)) : "memory");
}

static SEPARATE void wander_on(int levels)
{
  volatile int rounds = WANDER_ROUNDS;
  for (int i = 0; i < rounds; i++) {
    switch (levels ? a_random_number(4) : 0) {
    case 0:
      compare_with_a_full_walk();
      break;
    case 1:
      wander_framed(levels - 1);
      break;
    case 2:
      wander_on(levels - 1);
      break;
    default:
      wander_on(levels - 1); /* another line */
      break;
    }
    __asm__ volatile("" : : : "memory");
  }
}

static void wander_often(void)
{
  for (int i = 0; i < WANDERS; i++)
    wander_on(WANDER_LEVELS);
}

static void test_stacks_at_random(void **state)
{
  (void)state;
  hwi_walk_forget(&lane);
  descend(FEW_LEVELS, wander_often);
  assert_int_not_equal(wander.takes, 0);
  assert_int_not_equal(wander.settled, 0);
}

/* --- no memory --- */

/* A row that was found once stays in the cache even if no further page can be allocated. Otherwise each frame of each
 * event would be looked up in the module's tables again. */
static void test_rows_without_memory(void **state)
{
  (void)state;
  enum { ROWS = 20, OLD = 3 };
  static struct hwi_lane poor;
  struct rlimit before, none = {0, 0};
  uintptr_t first = (uintptr_t)test_rows_without_memory;
  assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
  none.rlim_max = before.rlim_max;
  assert_int_equal(setrlimit(RLIMIT_AS, &none), 0);
  for (uintptr_t i = 0; i < ROWS; i++)
    hwi_row_cache_find(&poor, first + i, false);
  assert_non_null(poor.rows.slots);
  uint32_t misses = poor.rows.misses, again = 0;
  for (uintptr_t i = 0; i < ROWS; i++) {
    hwi_row_cache_find(&poor, first + i, false);
    again += poor.rows.misses - misses;
    misses = poor.rows.misses;
    hwi_row_cache_find(&poor, first + i, false); /* a slot may belong to another row, but this one has its own now */
    assert_int_equal(poor.rows.misses, misses);
  }
  assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
  assert_in_range(again, 0, OLD);
}

/* --- a recursion that records an event at each level, on the way down and up --- */

static struct {
  uint64_t events, work, most_of_one;
  uint32_t node; /* of the last event on the way down */
} recursion;

static SEPARATE void record_in_recursion(void)
{
  struct hwi_caller caller = HWI_CALLER();
  struct hwi_walk walk = {.met = 0};
  if (!hwi_range_enter(&lane.range, caller.sp))
    hwi_walk_forget(&lane);
  walk.met = lane.cached.frame_count;
  hwi_walk_outward(&lane, &caller, &walk);
  recursion.node = hwi_walk(&lane, &caller, HW_ENTRY_MALLOC);
  assert_true(recursion.node && recursion.node != HWI_NODE_UNKNOWN);
  uint64_t work = walk.fresh_count + walk.verify_count;
  recursion.events++;
  recursion.work += work;
  recursion.most_of_one = work > recursion.most_of_one ? work : recursion.most_of_one;
}

static SEPARATE void recurse(int levels, bool up)
{
  if (!up || levels == 1)
    record_in_recursion();
  if (levels > 1)
    recurse(levels - 1, up);
  if (up)
    record_in_recursion();
  __asm__ volatile("" : : : "memory");
}

static void assert_work_is_bounded(void)
{
  assert_in_range(recursion.work / recursion.events, 1, 4 * DEPTH_LIMIT);
  assert_in_range(recursion.most_of_one, 1, 12 * DEPTH_LIMIT);
}

static void test_recursion_down(void **state)
{
  (void)state;
  uint32_t nodes = hwi_nodes_count();
  hwi_walk_forget(&lane);
  memset(&recursion, 0, sizeof recursion);
  recurse(DEEP_LEVELS, false);
  assert_work_is_bounded();
  assert_in_range(hwi_nodes_count() - nodes, 1, DEEP_NODES);
}

static void test_recursion_up(void **state)
{
  (void)state;
  uint32_t nodes = hwi_nodes_count();
  hwi_walk_forget(&lane);
  memset(&recursion, 0, sizeof recursion);
  recurse(DEEP_LEVELS, true);
  assert_work_is_bounded();
  assert_in_range(hwi_nodes_count() - nodes, 1, DEEP_NODES);
}

/* --- plain steps --- */

enum { STACK_WORDS = 16 };

static bool step_within(uintptr_t sp, uintptr_t high, uintptr_t bp, int32_t offset)
{
  const struct hwi_cached_row row = {
      .kind = HWI_ROW_BP, .bp_slot = -2, .offset = offset, .return_slot = hwi_arch_return_slot_at(0)};
  struct hwi_position at = {.sp = sp, .bp = bp};
  struct hwi_walked_frame frame;
  return hwi_step_plainly(high, row, &frame, &at);
}

static bool step_from(uintptr_t sp, uintptr_t bp, int32_t offset)
{
  return step_within(sp, sp + STACK_WORDS * sizeof(uintptr_t), bp, offset);
}

/* A wrong row or bp leads anywhere: such a place must not be read. The stack of a program of 32 bits is in the upper half of the addresses. */
static void test_plain_steps_stay_on_the_stack(void **state)
{
  (void)state;
  static uintptr_t stack[STACK_WORDS];
  const uintptr_t upper = ~(UINTPTR_MAX / 4), own = (uintptr_t)stack, end = (uintptr_t)(stack + STACK_WORDS);
  static const uintptr_t small[] = {0, 8, 16, 24, 4096, 65536};
  for (int i = 0; i < STACK_WORDS; i++)
    stack[i] = (uintptr_t)&test_recursion_up;
  for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
    assert_false(step_from(upper, small[i], 0));
    assert_false(step_from(upper, upper + small[i], -(int32_t)small[i]));
    assert_false(step_from(own, small[i], 0));
    assert_false(step_within(end, own, small[i], 0)); /* a step that was not plain may lead out of the range */
    assert_false(step_within(end, own, small[i], 16));
  }
  assert_false(step_from(upper, UINTPTR_MAX / 2 + 1, 0));
  assert_false(step_from(own, own + sizeof *stack, 0));
  assert_true(step_from(own, own + 2 * sizeof *stack, 0));
  assert_true(step_from(own, end, 0));
  assert_false(step_from(own, end, 2 * sizeof *stack));
  assert_false(step_from(own, upper, 0));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_another_line_of_the_same_caller),
      cmocka_unit_test(test_stacks_that_take_turns),
      cmocka_unit_test(test_two_stack_ends_that_begin_alike),
      cmocka_unit_test(test_stack_ends_whose_frame_pointers_matter),
      cmocka_unit_test(test_cached_frame_pointers_that_changed),
      cmocka_unit_test(test_no_stack_end_on_another_stem),
      cmocka_unit_test(test_no_stack_end_that_was_dropped),
      cmocka_unit_test(test_stack_ends_with_another_line),
      cmocka_unit_test(test_stacks_at_random),
      cmocka_unit_test(test_plain_steps_stay_on_the_stack),
      cmocka_unit_test(test_rows_without_memory),
      cmocka_unit_test(test_recursion_down),
      cmocka_unit_test(test_recursion_up),
  };
  return cmocka_run_group_tests(tests, begin, end);
}
