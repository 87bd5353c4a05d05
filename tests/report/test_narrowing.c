/* test_narrowing.c - --only and --ignore: one cell too many or too few makes every figure of a narrowed report wrong */
#include "sample_selection.h"

static void only(const char *rule)
{
  report.options.only.items[report.options.only.count++] = rule;
}

static void ignore(const char *rule)
{
  report.options.ignore.items[report.options.ignore.count++] = rule;
}

/* Selects again by the rules given so far, and forgets them. Returns the number of remaining calls. */
static uint64_t calls_left(void)
{
  select_stacks();
  report.options.only.count = report.options.ignore.count = 0;
  report.options.thread = NULL;
  assert_int_equal(selection.all.calls, selection.selected.calls);
  return selection.all.calls;
}

/* Calls of whole stacks; the sample has no cells of the last eleven, so rules of threads and sizes do not apply to
 * them. */
enum { STACK_1 = 23108, STACK_2 = 1, STACK_3 = 53559, STACK_4 = 9905151 + 2500000 + 10, STACK_5 = 1, STACK_6 = 73 };
enum { ALL = STACK_1 + STACK_2 + STACK_3 + STACK_4 + STACK_5 + STACK_6, WITHOUT_CELLS = 10 + STACK_5 };

static void any_frame_s_function_counts(void **state)
{
  (void)state;
  only("func=cloud_from_msg"); /* as the report shows it: without parameters */
  assert_int_equal(calls_left(), STACK_1);
  only("func=cloud_from_msg(*)"); /* as it is called */
  assert_int_equal(calls_left(), STACK_1);
  only("func=cloud_from*");
  assert_int_equal(calls_left(), STACK_1);
  only("func=rclcpp::Executor::execute_any_executable"); /* in the middle */
  assert_int_equal(calls_left(), STACK_1 + STACK_2 + STACK_3 + STACK_4);
  only("func=main");
  assert_int_equal(calls_left(), STACK_2);
  only("func=*::VoxelGrid*::reserve"); /* inlined */
  assert_int_equal(calls_left(), STACK_2);
  only("func=cloud");
  assert_int_equal(calls_left(), 0);
}

static void files_and_modules_go_by_path_or_name(void **state)
{
  (void)state;
  only("file=voxel.cpp");
  assert_int_equal(calls_left(), STACK_2);
  only("file=*/perception/src/t*.cpp");
  assert_int_equal(calls_left(), STACK_3 + STACK_4);
  only("module=libdriver.so*");
  assert_int_equal(calls_left(), STACK_3);
  only("module=/opt/vendor/*");
  assert_int_equal(calls_left(), STACK_3);
}

static void threads_go_by_name_or_id(void **state)
{
  (void)state;
  only("thread=contr?l");
  assert_int_equal(calls_left(), 1204);
  assert_int_equal(selection.all.peak_bytes, 3 * 1200000);
  only("thread=81240");
  assert_int_equal(calls_left(), 1204);
  report.options.thread = "control";
  only("thread=component*"); /* of one kind: any */
  assert_int_equal(calls_left(), 1204 + STACK_2);
}

static void sizes_take_ranges_and_units(void **state)
{
  (void)state;
  only("size=1152");
  assert_int_equal(calls_left(), STACK_3);
  assert_int_equal(selection.all.live_bytes, 53559 * 1152);
  only("size=1000..1152");
  assert_int_equal(calls_left(), STACK_3 + STACK_6);
  only("size=1MB..");
  assert_int_equal(calls_left(), STACK_1 + STACK_2);
  only("size=..16");
  assert_int_equal(calls_left(), 9905151);
  only("size=4K");
  assert_int_equal(calls_left(), 2500000);
}

static void kinds_must_all_hold_and_ignored_goes(void **state)
{
  (void)state;
  only("func=cloud_from_msg");
  only("thread=executor");
  assert_int_equal(calls_left(), 21904);
  only("func=cloud_from_msg");
  only("func=main");
  assert_int_equal(calls_left(), STACK_1 + STACK_2);
  only("func=cloud_from_msg");
  only("size=16");
  assert_int_equal(calls_left(), 0);
  ignore("func=cloud_from_msg");
  assert_int_equal(calls_left(), ALL - STACK_1);
  ignore("size=16");
  ignore("thread=control");
  assert_int_equal(calls_left(), ALL - WITHOUT_CELLS - 9905151 - 1204);
  only("module=libperception.so");
  ignore("module=libdriver.so.2");
  assert_int_equal(calls_left(), STACK_1 + STACK_2 + STACK_4 + STACK_6);
}

static void assert_nearest(const char *rule, const char *nearest)
{
  only(rule);
  assert_int_equal(calls_left(), 0);
  assert_false(selection.narrowing.rules[0].name.matched);
  assert_string_equal(hwi_line_text(&selection.narrowing.rules[0].name.nearest), nearest);
}

static void what_matches_nothing_is_told_the_nearest(void **state)
{
  (void)state;
  assert_nearest("func=cloud_form_msg", "cloud_from_msg");
  assert_nearest("func=*cloud_form_msg*", "cloud_from_msg");
  assert_nearest("func=TrackStore::ad", "*::TrackStore::add");
  assert_nearest("file=voxels.cpp", "voxel.cpp");
  assert_nearest("module=libdriver.so", "libdriver.so.2");
  assert_nearest("thread=contol", "control");
  assert_nearest("func=zzzzzzzzzz", "");
  assert_nearest("size=17", "");
}

static void assert_refused(const char *rule, const char *word)
{
  struct hwi_error error = {0};
  only(rule);
  assert_int_equal(hwi_narrowing_check(&report.options, &error), HW_ERR_USAGE);
  if (strstr(error.text, word) == NULL)
    fail_msg("'%s' does not say '%s'", error.text, word);
  report.options.only.count = 0;
}

static void wrong_rules_are_worded(void **state)
{
  (void)state;
  assert_refused("main", "KIND=PATTERN");
  assert_refused("fnuc=main", "did you mean 'func=");
  assert_refused("func=", "KIND=PATTERN");
  assert_refused("size=many", "1K..4K");
  assert_refused("size=..", "1K..4K");
  assert_refused("size=9..3", "1K..4K");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(any_frame_s_function_counts, begin, release_selection),
      cmocka_unit_test_setup_teardown(files_and_modules_go_by_path_or_name, begin, release_selection),
      cmocka_unit_test_setup_teardown(threads_go_by_name_or_id, begin, release_selection),
      cmocka_unit_test_setup_teardown(sizes_take_ranges_and_units, begin, release_selection),
      cmocka_unit_test_setup_teardown(kinds_must_all_hold_and_ignored_goes, begin, release_selection),
      cmocka_unit_test_setup_teardown(what_matches_nothing_is_told_the_nearest, begin, release_selection),
      cmocka_unit_test_setup_teardown(wrong_rules_are_worded, begin, release_selection),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
