/* test_referrers.c - who refers to a block, the shortest chain to it from a root, and what a block retains
 *
 * Breaks if a reference is missed or its place is named wrongly; if a chain is not the shortest one, or its steps do not lead
 * to each other; or if what a block retains is not what would go without it.
 */
#include "made_memory.h"

static void check_place(const struct made *made, const struct hwi_reference *reference, const char *expected)
{
  char text[HWI_CORE_PLACE_TEXT_BYTES];
  hwi_core_place_text(&made->graph, &reference->place, text, sizeof text);
  assert_string_equal(text, expected);
}

static void test_places(void **state)
{
  (void)state;
  struct made made;
  made_init(&made, PAGE);
  const uint64_t target = made_live(&made, 48), from = made_live(&made, 48),
                 freed = made_block(&made, 48, HWI_CORE_BLOCK_FREE);
  made.memory.threads[0].registers[1] = target + 3;
  made_set(&made, DATA + 8, target);
  made_set(&made, BSS + 16, target);
  made_set(&made, MAPPED + 24, target);
  made_set(&made, LOCAL + 0x7f0, target);
  made_set(&made, LOCAL + 0x808, target);
  made_set(&made, STACK_POINTER + 0x40, target);
  made_set(&made, from + 16, target + 8);
  made_set(&made, target, target);
  made_set(&made, STACK_POINTER - 0x20, target);
  made_set(&made, freed + 32, target);
  made_open(&made);
  static const char *const expected[] = {
      "a register (no name) of thread 1234",
      "data of /bin/program+0x1008",
      "data of /bin/program+0x2010",
      "mapped memory at 0x20018",
      "thread-local storage of thread 1234 at tp-0x10",
      "thread-local storage of thread 1234 at tp+0x8",
      "stack of thread 1234 at sp+0x40",
      "block 0x100010+0",
      "block 0x100050+0x10",
      "below the stack of thread 1234 at sp-0x20",
      "free block 0x100090+0x20",
  };
  enum { EXPECTED = sizeof expected / sizeof *expected };
  struct hwi_references references;
  assert_int_equal(hwi_references_find(&references, &made.graph, 0, 100, &made.error), 0);
  assert_int_equal(references.total, EXPECTED);
  assert_int_equal(references.count, EXPECTED);
  for (size_t i = 0; i < EXPECTED; i++) {
    check_place(&made, &references.list[i], expected[i]);
    const uint64_t off = i == 0 ? 3 : i == 8 ? 8 : 0;
    assert_int_equal(references.list[i].to_off, off);
    assert_int_equal(references.list[i].is_start, off == 0);
  }
  assert_int_equal(references.list[0].place.reg, 1);
  hwi_references_release(&references);
  assert_int_equal(hwi_references_find(&references, &made.graph, 0, 2, &made.error), 0);
  assert_int_equal(references.total, EXPECTED);
  assert_int_equal(references.count, 2);
  hwi_references_release(&references);
  assert_int_equal(hwi_references_find(&references, &made.graph, 1, 2, &made.error), 0);
  assert_int_equal(references.total, 0);
  hwi_references_release(&references);
  made_release(&made);
}

/* A thread's local storage may be at the upper end of its stack. */
static void test_place_of_thread(void **state)
{
  (void)state;
  struct made made;
  struct hwi_core_place place;
  char text[HWI_CORE_PLACE_TEXT_BYTES];
  made_init(&made, PAGE);
  made_thread(
      &made, &(struct hwi_memory_thread){.tid = 77, .stack_pointer = MAPPED + 0x100, .thread_pointer = MAPPED + 0xe00});
  made_open(&made);
  hwi_graph_place(&made.graph, MAPPED + 0xdf0, &place);
  hwi_core_place_text(&made.graph, &place, text, sizeof text);
  assert_string_equal(text, "stack of thread 77 at sp+0xcf0 (or thread-local storage at tp-0x10)");
  hwi_graph_place(&made.graph, 16, &place);
  assert_int_equal(place.kind, HWI_CORE_PLACE_UNKNOWN);
  made_release(&made);
}

static void test_path(void **state)
{
  (void)state;
  struct made made;
  uint64_t blocks[6];
  made_init(&made, PAGE);
  for (int i = 0; i < 6; i++)
    blocks[i] = made_live(&made, 48);
  made_set(&made, DATA + 8, blocks[0]); /* 0 -> 1 -> 2 -> 3 */
  made_set(&made, blocks[0] + 8, blocks[1]);
  made_set(&made, blocks[1] + 8, blocks[2]);
  made_set(&made, blocks[2] + 8, blocks[3]);
  made_set(&made, MAPPED + 8, blocks[4]); /* 4 -> 3, inside */
  made_set(&made, blocks[4] + 16, blocks[3] + 24);
  made_set(&made, blocks[5], blocks[5]); /* lost */
  made_open(&made);
  struct hwi_path path;
  assert_int_equal(hwi_path_find(&path, &made.graph, 3, &made.error), 0);
  assert_int_equal(path.count, 2);
  check_place(&made, &path.steps[0], "mapped memory at 0x20008");
  check_place(&made, &path.steps[1], "block 0x100110+0x10");
  assert_int_equal(path.steps[1].to_off, 24);
  hwi_path_release(&path);
  assert_int_equal(hwi_path_find(&path, &made.graph, 2, &made.error), 0);
  assert_int_equal(path.count, 3);
  assert_int_equal(path.steps[0].place.kind, HWI_CORE_PLACE_MODULE);
  assert_int_equal(path.steps[1].place.block, 0);
  assert_int_equal(path.steps[2].place.block, 1);
  hwi_path_release(&path);
  assert_int_equal(hwi_path_find(&path, &made.graph, 5, &made.error), 0);
  assert_int_equal(path.count, 0);
  hwi_path_release(&path);
  made_release(&made);
}

/* --- retained --- */

enum { ALL_MEMORY = 1 << 30 };

static void test_retained(void **state)
{
  (void)state;
  struct made made;
  uint64_t blocks[8];
  struct hwi_retained retained;
  made_init(&made, PAGE);
  for (int i = 0; i < 8; i++)
    blocks[i] = made_live(&made, 48);
  /* 0 -> 1, 2 -> 3 -> 4: a diamond; 5 is reached from 4 and from a root; 6 has 7 */
  made_set(&made, DATA, blocks[0]);
  made_set(&made, blocks[0], blocks[1]), made_set(&made, blocks[0] + 8, blocks[2]);
  made_set(&made, blocks[1], blocks[3]), made_set(&made, blocks[2], blocks[3] + 8);
  made_set(&made, blocks[3], blocks[4]), made_set(&made, blocks[4], blocks[5]);
  made_set(&made, STACK_POINTER, blocks[5]);
  made_set(&made, DATA + 8, blocks[6]), made_set(&made, blocks[6], blocks[7]), made_set(&made, blocks[7], blocks[6]);
  made_leaks(&made);
  assert_int_equal(hwi_retained_find(&retained, &made.graph, 20, ALL_MEMORY, &made.error), 0);
  assert_int_equal(retained.count, 8);
  assert_int_equal(retained.reached.blocks, 8);
  static const struct hwi_retainer expected[] = {{.block = 0, .over = HWI_NO_BLOCK, .retained = {5, 240}},
                                                 {.block = 3, .over = 0, .retained = {2, 96}},
                                                 {.block = 6, .over = HWI_NO_BLOCK, .retained = {2, 96}}};
  for (size_t i = 0; i < 8; i++) {
    const struct hwi_retainer *one = &retained.list[i];
    if (i < 3)
      continue;
    assert_int_equal(one->retained.bytes, 48);
  }
  for (size_t i = 0; i < 3; i++) {
    bool is_there = false;
    for (size_t k = 0; k < 3; k++)
      is_there |= retained.list[k].block == expected[i].block && retained.list[k].over == expected[i].over &&
                  retained.list[k].retained.blocks == expected[i].retained.blocks &&
                  retained.list[k].retained.bytes == expected[i].retained.bytes;
    assert_true(is_there);
  }
  hwi_retained_release(&retained);
  assert_int_equal(hwi_retained_find(&retained, &made.graph, 1, ALL_MEMORY, &made.error), 0);
  assert_int_equal(retained.count, 1);
  assert_int_equal(retained.list[0].block, 0);
  hwi_retained_release(&retained);
  assert_int_equal(hwi_retained_find(&retained, &made.graph, 1, 8 * 72 + 8 * 10 - 1, &made.error), HW_ERR_LIMIT);
  assert_non_null(strstr(made.error.text, "8 blocks and the references between them would take 0 MB"));
  assert_int_equal(hwi_retained_find(&retained, &made.graph, 1, 8 * 72 - 1, &made.error), HW_ERR_LIMIT);
  assert_non_null(strstr(made.error.text, "the limit is"));
  made_release(&made);
}

enum { NODES = 20 };

/* Counts the blocks that are reached if one of them is not there. */
static int count_without(bool refers[NODES + 1][NODES + 1], int without, bool *is_reached)
{
  int count = 0;
  bool goes_on = true;
  memset(is_reached, 0, (NODES + 1) * sizeof *is_reached);
  is_reached[NODES] = true; /* the roots */
  while (goes_on) {
    goes_on = false;
    for (int i = 0; i <= NODES; i++)
      for (int k = 0; k < NODES && is_reached[i]; k++)
        if (refers[i][k] && k != without && !is_reached[k])
          is_reached[k] = goes_on = true;
  }
  for (int i = 0; i < NODES; i++)
    count += is_reached[i];
  return count;
}

static void test_random(void **state)
{
  (void)state;
  for (unsigned seed = 0; seed < 1000; seed++) {
    struct made made;
    bool refers[NODES + 1][NODES + 1] = {{false}}, is_reached[NODES + 1], is_left[NODES + 1];
    uint64_t blocks[NODES];
    srand(seed);
    made_init(&made, PAGE);
    for (int i = 0; i < NODES; i++)
      blocks[i] = made_live(&made, 48);
    for (int i = 0; i <= NODES; i++)
      for (int w = 0; w < 4; w++)
        if (rand() % 5 < 2) {
          const int to = rand() % NODES;
          made_set(&made, (i == NODES ? DATA : blocks[i]) + (uint64_t)w * 8, blocks[to]);
          refers[i][to] = true;
        }
    made_leaks(&made);
    const int all = count_without(refers, NODES, is_reached);
    struct hwi_retained retained;
    assert_int_equal(hwi_retained_find(&retained, &made.graph, NODES, ALL_MEMORY, &made.error), 0);
    assert_int_equal(retained.count, all);
    assert_int_equal(retained.reached.blocks, all);
    for (size_t i = 0; i < retained.count; i++) {
      const struct hwi_retainer *one = &retained.list[i];
      assert_true(is_reached[one->block]);
      assert_int_equal((int)one->retained.blocks, all - count_without(refers, (int)one->block, is_left));
      assert_int_equal(one->retained.bytes, one->retained.blocks * 48);
    }
    hwi_retained_release(&retained);
    made_release(&made);
  }
}

enum { MANY = 100000 };

/* A list with references back, so long that recursion would overflow the stack. */
static void test_long_list(void **state)
{
  (void)state;
  struct made made;
  struct hwi_retained retained;
  uint64_t before = 0;
  made_init(&made, (uint64_t)MANY * 48 + PAGE);
  for (int i = 0; i < MANY; i++) {
    const uint64_t block = made_live(&made, 32);
    made_set(&made, before ? before : DATA, block);
    made_set(&made, block + 8, before);
    made_set(&made, block + 16, made.heap.blocks[0].address);
    before = block;
  }
  made_leaks(&made);
  assert_int_equal(hwi_retained_find(&retained, &made.graph, 2, ALL_MEMORY, &made.error), 0);
  assert_int_equal(retained.list[0].retained.blocks, MANY);
  assert_int_equal(retained.list[1].retained.blocks, MANY - 1);
  assert_int_equal(retained.list[1].over, 0);
  hwi_retained_release(&retained);
  struct hwi_path path;
  assert_int_equal(hwi_path_find(&path, &made.graph, MANY - 1, &made.error), 0);
  assert_int_equal(path.count, MANY);
  hwi_path_release(&path);
  made_release(&made);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_places),   cmocka_unit_test(test_place_of_thread), cmocka_unit_test(test_path),
      cmocka_unit_test(test_retained), cmocka_unit_test(test_random),          cmocka_unit_test(test_long_list),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
