/* test_tree.c - the tree of the stacks: a stack counted twice, or in the wrong branch, makes every figure above it
 * wrong */
#include "report/content/tree.h"
#include "sample_selection.h"

enum { NODES_MAX = 256 };

static struct hwi_tree tree;
static struct hwi_tree_node nodes[NODES_MAX], whole;
static uint32_t count;

static int begin_tree(void **state)
{
  begin(state);
  report.options.tree = HWI_TREE_CALLERS;
  report.options.by = HWI_BY_FUNCTION;
  return 0;
}

static int end(void **state)
{
  (void)state;
  hwi_tree_release(&tree);
  return release_selection(NULL);
}

static void keep(void *context, const struct hwi_tree_node *node)
{
  (void)context;
  assert_true(count < NODES_MAX);
  assert_int_equal(node->number, count);
  nodes[count++] = *node;
}

static void walk(const struct hwi_tree_cut *cut)
{
  const struct hwi_tree_visitor visitor = {keep, NULL};
  count = 0;
  assert_int_equal(hwi_tree_walk(&tree, cut, &visitor, &whole, NULL), 0);
}

static void build(const struct hwi_tree_cut *cut)
{
  hwi_tree_release(&tree);
  select_stacks();
  assert_int_equal(hwi_tree_init(&tree, &report, &selection, &frames, NULL), 0);
  walk(cut);
}

static const struct hwi_tree_cut nothing_cut = {0};

static const char *function_of(const struct hwi_tree_node *node)
{
  return node->member->symbol != NULL ? node->member->symbol->function : NULL;
}

static const struct hwi_tree_node *child(const struct hwi_tree_node *parent, const char *function)
{
  for (uint32_t i = 0; i < count; i++) {
    bool below = nodes[i].parent == (parent != NULL ? parent->number : HWI_TREE_NO_PARENT);
    if (below && function_of(&nodes[i]) != NULL && strstr(function_of(&nodes[i]), function) != NULL)
      return &nodes[i];
  }
  fail_msg("no node for %s", function);
  return NULL;
}

/* Self, children and the cut part add up to each node's total, and the roots to the selected sum. */
static void assert_adds_up(void)
{
  struct hwi_amount sums[NODES_MAX] = {{0}}, roots = whole.cut;
  for (uint32_t i = 0; i < count; i++) {
    hwi_amount_add(&sums[i], &nodes[i].self);
    hwi_amount_add(&sums[i], &nodes[i].cut);
    assert_true(nodes[i].parent == HWI_TREE_NO_PARENT || nodes[i].parent < i);
    hwi_amount_add(nodes[i].parent == HWI_TREE_NO_PARENT ? &roots : &sums[nodes[i].parent], &nodes[i].total);
  }
  for (uint32_t i = 0; i < count; i++)
    assert_memory_equal(&sums[i], &nodes[i].total, sizeof sums[i]);
  assert_memory_equal(&roots, &selection.selected, sizeof roots);
}

static void figures_add_up_in_every_shape(void **state)
{
  (void)state;
  for (int order = HWI_TREE_CALLERS; order <= HWI_TREE_CALLEES; order++) {
    for (int by = HWI_BY_FUNCTION; by <= HWI_BY_MODULE; by++) {
      for (int shape = 0; shape < 4; shape++) {
        report.options.tree = order, report.options.by = by;
        report.options.all_frames = shape & 1;
        report.options.cost = shape & 2 ? HWI_COST_CALLS : HWI_COST_PEAK;
        build(&nothing_cut);
        assert_true(count > 0);
        assert_adds_up();
        const struct hwi_tree_cut cut = {.least = hwi_amount_cost(&selection.all, selection.cost) / 5, .top = 2};
        uint32_t uncut = count;
        walk(&cut);
        assert_true(count < uncut || by == HWI_BY_MODULE);
        assert_adds_up();
      }
    }
  }
}

static void callers_come_first(void **state)
{
  (void)state;
  build(&nothing_cut);
  const struct hwi_tree_node *main = child(NULL, "main"); /* the frames below it are folded */
  assert_int_equal(main->total.peak_bytes, 96000000);
  const struct hwi_tree_node *execute = child(main, "execute_any_executable"),
                             *handle = child(execute, "handle_message");
  const struct hwi_tree_node *grid = child(child(handle, "::VoxelGrid("), "::reserve"); /* inlined into it */
  assert_int_equal(grid->self.peak_bytes, 96000000);
  assert_int_equal(grid->branches, 0);                                           /* the allocator below it is folded */
  assert_int_equal(nodes[0].total.peak_bytes, 148900000 + 44199936 + 123427360); /* the largest root: the executor */
}

static void callees_come_first(void **state)
{
  (void)state;
  report.options.tree = HWI_TREE_CALLEES;
  build(&nothing_cut);
  assert_non_null(strstr(function_of(&nodes[0]), "cloud_from_msg")); /* the largest first */
  assert_int_equal(nodes[0].total.calls, sample.stacks[1].calls);
  assert_int_equal(nodes[0].self.calls, 0);
  const struct hwi_tree_node *caller = child(child(NULL, "::reserve"), "::VoxelGrid(");
  for (const char *const *name = (const char *const[]){"handle_message", "execute_any", "main", NULL}; *name != NULL;
       name++)
    caller = child(caller, *name);
  assert_int_equal(caller->self.peak_bytes, 96000000); /* the path ends */
}

static void a_recursion_is_one_node_unless_all_frames_are_wanted(void **state)
{
  (void)state;
  report.options.tree = HWI_TREE_CALLEES;
  build(&nothing_cut);
  const struct hwi_tree_node *visit = child(child(NULL, "ログ"), "visit");
  assert_true(visit->recurs);
  assert_non_null(child(visit, "handle_message"));
  report.options.all_frames = true;
  build(&nothing_cut);
  visit = child(NULL, "ログ");
  for (int depth = 0; depth < 8; depth++)
    visit = child(visit, "visit");
  assert_false(visit->recurs);
  assert_non_null(child(visit, "handle_message"));
}

/* Frames without a name may be many functions: they are no loop. */
static void nameless_functions_make_no_loop(void **state)
{
  static const uint64_t addresses[] = {0x500d0, 0x20010, 0x500d0, 0x500d0, 0x20020, 0};
  (void)state;
  sample.stacks[1].frame = sample_frames(&sample, addresses);
  build(&nothing_cut);
  const struct hwi_tree_node *driver = NULL;
  for (uint32_t i = 0; i < count; i++)
    if (nodes[i].parent == HWI_TREE_NO_PARENT && function_of(&nodes[i]) == NULL && nodes[i].total.calls == 23108)
      driver = &nodes[i];
  assert_non_null(driver);
  const struct hwi_tree_node *inner = &nodes[child(driver, "cloud_from_msg")->number + 1];
  assert_null(function_of(inner));
  assert_false(inner->recurs);
  assert_int_equal(child(inner, "on_cloud")->self.calls, 23108);
}

static void what_is_cut_is_counted(void **state)
{
  (void)state;
  report.options.tree = HWI_TREE_CALLEES;
  build(&(struct hwi_tree_cut){.least = 90000000});
  assert_int_equal(whole.branches, 3);
  assert_int_equal(whole.cut_count, 2); /* tracks and the runtime; stack 6 holds nothing at the peak */
  assert_int_equal(whole.cut.peak_bytes, 44199936 + 72704);
  assert_int_equal(whole.cut.calls, 53559 + 1 + 73);
  walk(&(struct hwi_tree_cut){.top = 1});
  assert_int_equal(whole.branches, 1);
  assert_int_equal(whole.cut_count, 4);
  for (uint32_t i = 0; i < count; i++)
    assert_true(nodes[i].branches <= 1);
}

static void shares_become_figures(void **state)
{
  (void)state;
  build(&nothing_cut);
  report.options.min_share = HWI_MIN_SHARE_DEFAULT;
  assert_int_equal(hwi_tree_cut_of(&report.options, &selection, 1).least, 4126000);
  report.options.top = 0;
  assert_int_equal(hwi_tree_cut_of(&report.options, &selection, 1).least, 0);
  report.options.min_share = 50;
  assert_int_equal(hwi_tree_cut_of(&report.options, &selection, 1).least, 206300000);
  report.options.top = 3;
  assert_int_equal(hwi_tree_cut_of(&report.options, &selection, 1).top, 3);
}

static void an_empty_tree_is_one(void **state)
{
  (void)state;
  report.options.thread = "nobody";
  build(&nothing_cut);
  assert_int_equal(count, 0);
  assert_int_equal(whole.branches, 0);
}

/* Unknown stacks, and stacks that the recorder cut short. */
static void unknown_and_cut_stacks_have_nodes(void **state)
{
  (void)state;
  sample.stacks[2].frame = 0;
  sample.frames[sample.profile.frame_count] = (struct hwi_frame){.cut = true, .address = 7};
  sample.frames[sample.profile.frame_count + 1] =
      (struct hwi_frame){.address = 0x20050, .module = PERCEPTION, .caller = sample.profile.frame_count};
  sample.stacks[3].frame = sample.profile.frame_count + 1;
  sample.profile.frame_count += 2;
  build(&nothing_cut);
  uint64_t unknown = 0, left_out = 0;
  for (uint32_t i = 0; i < count; i++) {
    unknown += nodes[i].member->group == HWI_GROUP_UNKNOWN ? nodes[i].self.calls : 0;
    left_out += nodes[i].member->group == HWI_GROUP_LEFT_OUT ? nodes[i].total.calls : 0;
  }
  assert_int_equal(unknown, 1);
  assert_int_equal(left_out, 53559);
  assert_adds_up();
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(figures_add_up_in_every_shape, begin_tree, end),
      cmocka_unit_test_setup_teardown(callers_come_first, begin_tree, end),
      cmocka_unit_test_setup_teardown(callees_come_first, begin_tree, end),
      cmocka_unit_test_setup_teardown(a_recursion_is_one_node_unless_all_frames_are_wanted, begin_tree, end),
      cmocka_unit_test_setup_teardown(nameless_functions_make_no_loop, begin_tree, end),
      cmocka_unit_test_setup_teardown(what_is_cut_is_counted, begin_tree, end),
      cmocka_unit_test_setup_teardown(shares_become_figures, begin_tree, end),
      cmocka_unit_test_setup_teardown(an_empty_tree_is_one, begin_tree, end),
      cmocka_unit_test_setup_teardown(unknown_and_cut_stacks_have_nodes, begin_tree, end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
