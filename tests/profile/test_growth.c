/* test_growth.c - which stacks grow and which do not, tenth by tenth
 *
 * Breaks if a slow leak is hidden by blocks that come and go at the same place; if a cache that fills and stays full is
 * taken for a leak; or if a leak that stopped, tenths in which a stack was not touched, or a run longer than expected
 * are judged wrongly.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "profile/counters/growth.h"

enum { RUN_NS = 10000, STEP_NS = 10, TENTH_NS = RUN_NS / 10 + 1 };

/* A stack under replay, through the calls that the replay makes. */
struct stack {
  struct hwi_tenths tenths;
  struct hwi_growth growth;
  struct hwi_growing growing;
  uint64_t live;
};

static struct stack begin(uint64_t expected_ns)
{
  struct stack stack = {.live = 0};
  hwi_tenths_init(&stack.tenths, expected_ns);
  return stack;
}

static void pass(struct stack *stack, uint64_t ns)
{
  if (ns >= stack->tenths.end_ns)
    hwi_tenths_advance(&stack->tenths, ns);
}

static void hold(struct stack *stack, uint64_t bytes)
{
  hwi_growth_touch(&stack->growth, &stack->tenths, stack->live);
  stack->live = bytes;
  hwi_growth_fall(&stack->growth, bytes);
}

static bool finish(struct stack *stack)
{
  pass(stack, RUN_NS);
  return hwi_growth_finish(&stack->growth, &stack->tenths, stack->live, &stack->growing);
}

/* The bytes that it holds at a moment. */
static bool grows(uint64_t (*bytes_at)(uint64_t ns))
{
  struct stack stack = begin(RUN_NS);
  for (uint64_t ns = 0; ns < RUN_NS; ns += STEP_NS) {
    pass(&stack, ns);
    hold(&stack, bytes_at(ns));
  }
  return finish(&stack);
}

static uint64_t leak_under_sawtooth(uint64_t ns)
{
  return ns + ns % 400 * 2500; /* the sawtooth's height is a hundred times the bytes that leak in the run */
}

static uint64_t cache(uint64_t ns)
{
  return ns < RUN_NS / 2 ? ns : RUN_NS / 2;
}

static uint64_t full_cache_with_sawtooth(uint64_t ns)
{
  return cache(ns) + ns % 400 * 2500;
}

static uint64_t leak_that_stops(uint64_t ns)
{
  return ns < RUN_NS / 10 * 8 ? ns : RUN_NS / 10 * 8;
}

static uint64_t leak_from_the_fifth_tenth(uint64_t ns)
{
  return ns < RUN_NS / 2 ? 0 : ns - RUN_NS / 2;
}

static uint64_t freed_at_the_end(uint64_t ns)
{
  return ns < RUN_NS - STEP_NS ? ns : 0;
}

static void test_shapes(void **state)
{
  (void)state;
  assert_true(grows(leak_under_sawtooth));
  assert_false(grows(cache));
  assert_false(grows(full_cache_with_sawtooth));
  assert_false(grows(leak_that_stops));
  assert_false(grows(leak_from_the_fifth_tenth));
  assert_false(grows(freed_at_the_end));
}

/* Two blocks per tenth: the first half of each tenth has its minimum. */
static void test_figures(void **state)
{
  (void)state;
  struct stack stack = begin(RUN_NS);
  for (uint64_t tenth = 3; tenth < 10; tenth++) {
    pass(&stack, tenth * TENTH_NS);
    hold(&stack, stack.live + 5);
    hold(&stack, stack.live + 5);
  }
  assert_true(finish(&stack));
  assert_int_equal(stack.growing.from_ns, 3 * TENTH_NS);
  assert_int_equal(stack.growing.from_bytes, 0);
  assert_int_equal(stack.growing.to_ns, 9 * TENTH_NS);
  assert_int_equal(stack.growing.to_bytes, 60);
}

/* A stack that did nothing in a tenth begins the next one with its bytes: the minimum is not larger. */
static void test_untouched_tenths(void **state)
{
  (void)state;
  for (uint64_t gap = 0; gap <= 3; gap++) {
    struct stack stack = begin(RUN_NS);
    for (uint64_t tenth = 0; tenth < 10; tenth++) {
      if (tenth > 5 && tenth <= 5 + gap)
        continue;
      pass(&stack, tenth * TENTH_NS);
      hold(&stack, stack.live + 5);
    }
    assert_int_equal(finish(&stack), gap == 0);
  }
}

static void test_unexpected_lengths(void **state)
{
  (void)state;
  struct stack stack = begin(RUN_NS / 2); /* twice as many tenths */
  for (uint64_t ns = 0; ns < RUN_NS; ns += STEP_NS) {
    pass(&stack, ns);
    hold(&stack, ns);
  }
  assert_true(finish(&stack));
  stack = begin(0);
  hold(&stack, 10);
  assert_false(finish(&stack));
  stack = begin(1); /* a damaged header */
  hold(&stack, 10);
  pass(&stack, UINT64_C(1) << 62);
  hold(&stack, 20);
  assert_false(finish(&stack));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_shapes),
      cmocka_unit_test(test_figures),
      cmocka_unit_test(test_untouched_tenths),
      cmocka_unit_test(test_unexpected_lengths),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
