/* test_groups.c - self and total of groups: a recursion counted twice makes a function larger than the program */
#include "report/content/groups.h"
#include "sample_selection.h"

static struct hwi_groups groups;

static int end(void **state)
{
  (void)state;
  hwi_groups_release(&groups);
  return release_selection(NULL);
}

static void build(int by)
{
  report.options.by = by;
  select_stacks();
  assert_int_equal(hwi_groups_init(&groups, &report, &selection, &frames, NULL), 0);
}

static const struct hwi_group *find(const char *function)
{
  for (uint32_t i = 0; i < groups.count; i++) {
    const struct hwi_symbol *symbol = groups.items[i].symbol;
    if (symbol != NULL && symbol->function != NULL && strstr(symbol->function, function) != NULL)
      return &groups.items[i];
  }
  fail_msg("no group for %s", function);
  return NULL;
}

static void recursion_counts_once(void **state)
{
  (void)state;
  build(HWI_BY_FUNCTION);
  assert_int_equal(find("visit")->total.bytes, sample.stacks[4].bytes);
  assert_int_equal(find("visit")->self.calls, 0);
  uint64_t through_executor =
      sample.stacks[1].calls + sample.stacks[2].calls + sample.stacks[3].calls + sample.stacks[4].calls;
  assert_int_equal(find("execute_any_executable")->total.calls, through_executor);
}

static void wrappers_pass_self_on(void **state)
{
  (void)state;
  build(HWI_BY_FUNCTION);
  assert_int_equal(find("VoxelGrid<pcl::PointXYZI, std::hash<perception::Key> >::reserve")->self.bytes, 96000000);
  assert_int_equal(find("__new_allocator")->self.bytes, 0);
  assert_int_equal(find("__new_allocator")->total.bytes, 96000000);
}

static void unfolded_wrappers_keep_self(void **state)
{
  (void)state;
  report.options.all_frames = true;
  build(HWI_BY_FUNCTION);
  assert_int_equal(find("__new_allocator")->self.bytes, 96000000);
}

/* For each way to group stacks: each stack belongs to one self, and no total is larger than the run. */
static void selfs_add_up_to_the_run(void **state)
{
  (void)state;
  for (int by = HWI_BY_FUNCTION; by <= HWI_BY_MODULE; by++) {
    build(by);
    struct hwi_amount sum = {0};
    for (uint32_t i = 0; i < groups.count; i++) {
      hwi_amount_add(&sum, &groups.items[i].self);
      assert_true(groups.items[i].total.bytes <= selection.selected.bytes);
      assert_true(groups.items[i].total.bytes >= groups.items[i].self.bytes);
    }
    assert_memory_equal(&sum, &selection.selected, sizeof sum);
    end(NULL);
  }
}

static void threads_narrow_the_amounts(void **state)
{
  (void)state;
  report.options.thread = "81240"; /* by ID */
  build(HWI_BY_FUNCTION);
  assert_int_equal(selection.stack_count, 1);
  assert_int_equal(find("cloud_from_msg")->self.calls, 1204);
  assert_int_equal(find("cloud_from_msg")->self.peak_bytes, 3 * 1200000);
}

static bool keep_second(void *context, uint32_t stack, const struct hwi_amount *amount)
{
  (void)context, (void)amount;
  return stack == 2;
}

static void selections_rank_and_leave_out(void **state)
{
  const struct hwi_stack_filter filter = {keep_second, NULL};
  (void)state;
  report.options.cost = HWI_COST_CALLS;
  report.options.min_calls = 2;
  assert_int_equal(hwi_selection_init(&selection, &report, NULL, NULL), 0);
  assert_int_equal(selection.stack_count, 4);
  assert_int_equal(selection.stacks[0], 4);
  assert_int_equal(selection.stacks[3], 6);
  assert_int_equal(selection.few_calls_count, 2);
  assert_int_equal(selection.few_calls.bytes, 96000000 + 72704);
  hwi_selection_release(&selection);
  report.options.min_calls = 1;
  assert_int_equal(hwi_selection_init(&selection, &report, &filter, NULL), 0);
  assert_int_equal(selection.stack_count, 1);
  assert_int_equal(selection.selected.live_bytes, 96000000);
}

/* The pool of libstdc++, below a constructor that the loader runs, and no block that the program requested. */
static void the_runtime_s_blocks_are_known(void **state)
{
  (void)state;
  assert_int_equal(hwi_named_frames_init(&frames, &report, NULL), 0);
  for (uint32_t stack = 1; stack < SAMPLE_STACKS; stack++) {
    assert_int_equal(hwi_named_frames_load(&frames, stack, NULL), 0);
    if (hwi_named_frames_are_runtime(&frames) != (stack == 5))
      fail_msg("stack %u", stack);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(recursion_counts_once, begin, end),
      cmocka_unit_test_setup_teardown(wrappers_pass_self_on, begin, end),
      cmocka_unit_test_setup_teardown(unfolded_wrappers_keep_self, begin, end),
      cmocka_unit_test_setup_teardown(selfs_add_up_to_the_run, begin, end),
      cmocka_unit_test_setup_teardown(threads_narrow_the_amounts, begin, end),
      cmocka_unit_test_setup_teardown(selections_rank_and_leave_out, begin, end),
      cmocka_unit_test_setup_teardown(the_runtime_s_blocks_are_known, begin, end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
