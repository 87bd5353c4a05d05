/* test_nodes.c - the tree of stacks returns the same ID for a node again, while its index grows and from many threads
 *
 * Breaks if a slot is lost while a table grows, if two nodes are taken for one, or if a definition is missing in the
 * trace.
 */
#include "record/unwind/nodes.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lone_session.h"

enum { NODES = 400000, THREADS = 4, CHANGING = 16, DEPTH = 64 };

static uint32_t numbers[NODES];

static int begin(void **state)
{
  (void)state;
  return lone_session_begin(256 << 20, DEPTH);
}

static int end(void **state)
{
  (void)state;
  return lone_session_end();
}

/* Finds the i-th node: mostly a child of an earlier one, at addresses that repeat. */
static uint32_t find(struct hwi_lane *lane, uint32_t i)
{
  uint32_t parent = i < CHANGING ? 0 : numbers[(i * UINT32_C(2654435761) >> 8) % (i / CHANGING * CHANGING)];
  uintptr_t address = 0x7f0000001000 + i % 5000 * 16;
  return hwi_nodes_find(lane, parent, address, i % 3, i % 7 ? HW_ENTRY_NONE : HW_ENTRY_MALLOC);
}

static void test_a_node_keeps_its_number(void **state)
{
  (void)state;
  static struct hwi_lane lane;
  static uint8_t is_taken[NODES + 2];
  for (uint32_t i = 0; i < NODES; i++) {
    numbers[i] = find(&lane, i);
    assert_true(numbers[i] > 0 && numbers[i] < hwi_nodes_count());
    is_taken[numbers[i]] = 1;
  }
  for (uint32_t i = 0; i < NODES; i++)
    assert_int_equal(find(&lane, i), numbers[i]);
  uint32_t distinct = 0;
  for (uint32_t i = 0; i < NODES + 2; i++)
    distinct += is_taken[i];
  assert_int_equal(distinct, hwi_nodes_count() - 1);
}

/* A chain of nodes, each with the next address of its parent; each has a sibling outside of the chain. */
static void test_chains_and_their_siblings(void **state)
{
  (void)state;
  enum { LENGTH = 3000 };
  static struct hwi_lane lane, other;
  static uint32_t chain[LENGTH], siblings[LENGTH];
  const uintptr_t first = 0x600000000000;
  uint32_t before = hwi_nodes_count(), parent = 0;
  for (uint32_t i = 0; i < LENGTH; i++)
    parent = chain[i] = hwi_nodes_find(&lane, parent, first + i % 10, 1, HW_ENTRY_NONE);
  for (uint32_t i = 0; i < LENGTH; i++)
    siblings[i] = hwi_nodes_find(&lane, i ? chain[i - 1] : 0, first + i % 10, 1, HW_ENTRY_MALLOC);
  assert_int_equal(hwi_nodes_count() - before, 2 * LENGTH);
  for (uint32_t i = LENGTH; i-- > 0;) {
    parent = i ? chain[i - 1] : 0;
    assert_int_equal(hwi_nodes_find(&other, parent, first + i % 10, 1, HW_ENTRY_NONE), chain[i]);
    assert_int_equal(hwi_nodes_find(&other, parent, first + i % 10, 1, HW_ENTRY_MALLOC), siblings[i]);
    assert_int_equal(hwi_nodes_follow(&other, parent, first + i % 10, 1, HW_ENTRY_NONE), i ? chain[i] : 0);
    assert_int_equal(hwi_nodes_follow(&other, parent, first + i % 10, 1, HW_ENTRY_MALLOC), 0);
    assert_int_not_equal(chain[i], siblings[i]);
  }
  assert_int_not_equal(hwi_nodes_find(&other, chain[0], first + 1, 2, HW_ENTRY_NONE), chain[1]); /* another module */
  assert_int_equal(hwi_nodes_count() - before, 2 * LENGTH + 1);
}

struct finder {
  struct hwi_lane lane;
  uint32_t seed;
  uint32_t *found;
};

static void *find_all(void *argument)
{
  struct finder *finder = argument;
  for (uint32_t n = 0; n < NODES; n++) {
    uint32_t i = (n + finder->seed * (NODES / THREADS)) % NODES;
    finder->found[i] =
        hwi_nodes_find(&finder->lane, 0, 0x550000000000 + (uintptr_t)i * 8, 1, i % 2 ? HW_ENTRY_NONE : HW_ENTRY_CALLOC);
  }
  return NULL;
}

/* Threads that insert the same nodes at once may give a few of them two IDs, but never one ID to two nodes. */
static void test_threads(void **state)
{
  (void)state;
  static struct finder finders[THREADS];
  pthread_t ids[THREADS];
  uint32_t before = hwi_nodes_count(), *node_of = calloc(NODES * (THREADS + 1) + NODES, sizeof *node_of);
  for (uint32_t t = 0; t < THREADS; t++) {
    finders[t].lane.stream = finders[t].seed = t;
    finders[t].found = calloc(NODES, sizeof *finders[t].found);
    pthread_create(&ids[t], NULL, find_all, &finders[t]);
  }
  for (uint32_t t = 0; t < THREADS; t++)
    pthread_join(ids[t], NULL);
  uint32_t made = hwi_nodes_count() - before;
  assert_true(made >= NODES && made < NODES + NODES / 10);
  for (uint32_t t = 0; t < THREADS; t++) {
    for (uint32_t i = 0; i < NODES; i++) {
      uint32_t number = finders[t].found[i];
      assert_true(number >= before && number < before + made);
      assert_true(!node_of[number - before] || node_of[number - before] == i + 1);
      node_of[number - before] = i + 1;
    }
    free(finders[t].found);
  }
  free(node_of);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_node_keeps_its_number),
      cmocka_unit_test(test_chains_and_their_siblings),
      cmocka_unit_test(test_threads),
  };
  return cmocka_run_group_tests(tests, begin, end);
}
