/* test_graph_no_memory.c - the search for leaks and referrers reports that it has no memory, whichever call of malloc fails
 *
 * Breaks if a result of malloc is not checked, or if memory is not freed after an error.
 */
#include "made_memory.h"

#include "../trace/failing_malloc.h"

enum { CALLS_MOST = 200, BLOCKS = 40, ALL_MEMORY = 1 << 30 };

/* A tree from a root, a lost cycle with a tail, an interior reference, and leaks of several sizes. */
static void make(struct made *made)
{
  uint64_t blocks[BLOCKS];
  made_init(made, 2 * PAGE);
  for (int i = 0; i < BLOCKS; i++)
    blocks[i] = made_live(made, (uint64_t)(48 + i % 4 * 16));
  made_set(made, DATA, blocks[0]);
  for (int i = 1; i < BLOCKS / 2; i++)
    made_set(made, blocks[(i - 1) / 2] + (uint64_t)(i % 2) * 8, blocks[i] + (i == 7 ? 8 : 0));
  made_set(made, blocks[30], blocks[31]), made_set(made, blocks[31], blocks[30]);
  made_set(made, blocks[31] + 8, blocks[32]);
}

/* All questions in turn, up to the first one that fails. */
static int ask(struct made *made)
{
  struct hwi_graph *graph = &made->graph;
  struct hwi_references references = {0};
  struct hwi_path path = {0};
  struct hwi_retained retained = {0};
  int status = hwi_graph_open(graph, &made->memory, &made->heap, &made->error);
  if (status < 0)
    return status;
  status = hwi_leaks_find(&made->leaks, graph, &made->error);
  if (status == 0)
    status = hwi_references_find(&references, graph, 3, 10, &made->error);
  if (status == 0)
    status = hwi_path_find(&path, graph, 17, &made->error);
  if (status == 0)
    status = hwi_retained_find(&retained, graph, 5, ALL_MEMORY, &made->error);
  if (status == 0) {
    assert_int_equal(made->leaks.sums[HWI_LEAK_CYCLE].blocks, 2);
    assert_int_equal(references.total, 1);
    assert_int_equal(path.count, 5);
    assert_int_equal(retained.count, 5);
    assert_int_equal(retained.reached.blocks, BLOCKS / 2);
  }
  hwi_retained_release(&retained);
  hwi_path_release(&path);
  hwi_references_release(&references);
  hwi_leaks_release(&made->leaks);
  hwi_graph_close(graph);
  return status;
}

static void test_each_call_fails(void **state)
{
  (void)state;
  struct made made;
  bool has_failed = true;
  uint64_t calls;
  make(&made);
  for (calls = 0; has_failed && calls < CALLS_MOST; calls++) {
    failing_malloc_arm(calls, 1);
    const int status = ask(&made);
    has_failed = failing_malloc_disarm();
    assert_int_equal(failing_malloc_leaks(), 0);
    assert_int_equal(status, has_failed ? HW_ERR_MEMORY : 0);
    if (has_failed)
      assert_non_null(strstr(made.error.text, "no memory"));
  }
  assert_true(calls > 20 && calls < CALLS_MOST);
  made_release(&made);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_call_fails)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
