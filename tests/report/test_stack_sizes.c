/* test_stack_sizes.c - the block sizes that a stack's row shows
 *
 * Breaks if cells of one size (of several threads, or with several usable sizes) are not merged; if cells of the stack
 * before or after are included; if a size without a block is counted; or if the order changes from report to report.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "report/content/stack_sizes.h"

static const struct hwi_size sizes[] = {{.size = 16}, {.size = 24}, {.size = 100}, {.size = 5000}};
static const struct hwi_profile_cell cells[] = {
    {.stack = 2, .size = 3, .calls = 9, .peak_blocks = 9, .live_blocks = 9},
    {.stack = 3, .size = 1, .thread = 0, .calls = 4, .peak_blocks = 1},
    {.stack = 3, .size = 0, .thread = 0, .usable = 24, .calls = 10, .peak_blocks = 2, .live_blocks = 1},
    {.stack = 3, .size = 2, .thread = 1, .calls = 7},
    {.stack = 3, .size = 0, .thread = 1, .usable = 40, .calls = 5, .peak_blocks = 1},
    {.stack = 3, .size = 1, .thread = 1, .calls = 3, .peak_blocks = 2},
    {.stack = 5, .size = 3, .calls = 1, .peak_blocks = 1},
};
static const struct hwi_profile profile = {
    .sizes = sizes, .size_count = 4, .cells = cells, .cell_count = sizeof cells / sizeof *cells, .stack_count = 7};

/* The last size is 0. */
static void check(uint32_t stack, enum hwi_cost cost, const struct hwi_stack_size *expected)
{
  struct hwi_stack_sizes found;
  uint32_t count = 0;
  assert_true(hwi_stack_sizes_init(&found, &profile, &(struct hwi_duplicates_group){&stack, 1, 0}, cost));
  for (; expected[count].size; count++) {
    assert_true(count < found.count);
    assert_int_equal(found.items[count].size, expected[count].size);
    assert_int_equal(found.items[count].shown, expected[count].shown);
  }
  assert_int_equal(found.count, count);
  hwi_stack_sizes_release(&found);
}

static void test_costs(void **state)
{
  (void)state;
  /* equal at the peak: the one with more calls first */
  check(3, HWI_COST_PEAK, (struct hwi_stack_size[]){{16, .shown = 3}, {24, .shown = 3}, {0}});
  check(3, HWI_COST_CALLS, (struct hwi_stack_size[]){{16, .shown = 15}, {24, .shown = 7}, {100, .shown = 7}, {0}});
  check(3, HWI_COST_BYTES, (struct hwi_stack_size[]){{16, .shown = 15}, {24, .shown = 7}, {100, .shown = 7}, {0}});
  check(3, HWI_COST_LIVE, (struct hwi_stack_size[]){{16, .shown = 1}, {0}});
}

static void test_other_stacks(void **state)
{
  (void)state;
  check(2, HWI_COST_LIVE, (struct hwi_stack_size[]){{5000, .shown = 9}, {0}});
  check(5, HWI_COST_PEAK, (struct hwi_stack_size[]){{5000, .shown = 1}, {0}});
  const uint32_t without_cells[] = {1, 4, 6};
  for (size_t i = 0; i < sizeof without_cells / sizeof *without_cells; i++)
    check(without_cells[i], HWI_COST_CALLS, (struct hwi_stack_size[]){{0}});
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_costs),
      cmocka_unit_test(test_other_stacks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
