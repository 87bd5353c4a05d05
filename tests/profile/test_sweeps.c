/* test_sweeps.c - blocks that are freed together, at the very limits of the definition
 *
 * Breaks if eight tenths are taken for nine; if one block is taken for a generation; if a generation that outlives a
 * small sweep is forgotten, or one that was freed is counted again; or if two sweeps are taken for one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "profile/counters/sweeps.h"

static struct hwi_sweeps sweeps;

static int begin(void **state)
{
  (void)state;
  sweeps = (struct hwi_sweeps){0};
  return 0;
}

static void births(int count)
{
  for (int i = 0; i < count; i++)
    hwi_sweeps_birth(&sweeps);
}

static void deaths(int count, uint32_t sweep, uint64_t bytes)
{
  for (int i = 0; i < count; i++)
    hwi_sweeps_death(&sweeps, sweep, bytes);
}

static void assert_together(uint64_t blocks, uint64_t generations, uint64_t largest_bytes)
{
  hwi_sweeps_end(&sweeps);
  assert_int_equal(sweeps.blocks, blocks);
  assert_int_equal(sweeps.generations, generations);
  assert_int_equal(sweeps.largest_bytes, largest_bytes);
}

static void nine_tenths_are_enough(void **state)
{
  (void)state;
  births(100);
  deaths(90, 1, 8);
  assert_together(90, 1, 720);
}

static void less_is_not(void **state)
{
  (void)state;
  births(100);
  deaths(89, 1, 8);
  assert_together(0, 0, 0);
}

static void two_sweeps_are_not_one(void **state)
{
  (void)state;
  births(100);
  deaths(50, 1, 8);
  deaths(50, 2, 8);
  assert_together(0, 0, 0);
}

static void one_block_is_no_generation(void **state)
{
  (void)state;
  for (uint32_t i = 1; i <= 1000; i++) {
    births(1);
    deaths(1, i, 8);
  }
  assert_together(0, 0, 0);
}

static void a_birth_ends_a_sweep(void **state)
{
  (void)state;
  for (int i = 0; i < 3; i++) { /* all by one number: another thread allocates between */
    births(10);
    deaths(10, 1, (uint64_t)i + 1);
  }
  assert_together(30, 3, 30);
}

/* The blocks that a small sweep leaves still belong to the generation. */
static void a_small_sweep_ends_nothing(void **state)
{
  (void)state;
  births(100);
  deaths(5, 1, 8);
  births(100);
  deaths(195, 2, 8);
  assert_together(195, 1, 195 * 8);
}

static void counts_stop_at_their_limit(void **state)
{
  (void)state;
  sweeps.births = UINT32_MAX;
  births(1);
  sweeps.swept = UINT32_MAX;
  deaths(1, 0, 8);
  assert_together(UINT32_MAX, 1, 8);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(nine_tenths_are_enough, begin),
      cmocka_unit_test_setup(less_is_not, begin),
      cmocka_unit_test_setup(two_sweeps_are_not_one, begin),
      cmocka_unit_test_setup(one_block_is_no_generation, begin),
      cmocka_unit_test_setup(a_birth_ends_a_sweep, begin),
      cmocka_unit_test_setup(a_small_sweep_ends_nothing, begin),
      cmocka_unit_test_setup(counts_stop_at_their_limit, begin),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
