/* test_sampled_blocks.c - the live blocks of a sample, while levels are added and many threads work
 *
 * If this fails, the free of a sampled block is no event, and the block is reported as a leak; or another block's free is
 * taken for it.
 */
#include "record/sampled_blocks.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { BLOCKS = 60000, THREADS = 4, ROUNDS = 200, BATCH = 400, STEP = 48 };

static const void *block_at(uintptr_t n)
{
  return (const void *)((uintptr_t)UINT64_C(0x7f0040000000) + n * STEP);
}

static void test_blocks_are_found_until_they_are_taken(void **state)
{
  uint32_t thread;
  uint64_t maybe = 0;
  (void)state;
  for (uintptr_t n = 0; n < BLOCKS; n++) {
    assert_true(hwi_sampled_blocks_add(block_at(n), (uint32_t)n));
    assert_true(hwi_sampled_blocks_may_have(block_at(n)));
  }
  for (uintptr_t n = BLOCKS; n < 2 * BLOCKS; n++) {
    maybe += hwi_sampled_blocks_may_have(block_at(n));
    assert_false(hwi_sampled_blocks_take(block_at(n), &thread));
  }
  assert_true(maybe < BLOCKS / 8); /* the filter has grown with the blocks */
  for (uintptr_t n = BLOCKS; n-- > 0;) {
    assert_true(hwi_sampled_blocks_may_have(block_at(n)));
    assert_true(hwi_sampled_blocks_take(block_at(n), &thread));
    assert_int_equal(thread, hwi_sampled_thread((uint32_t)n));
    assert_false(hwi_sampled_blocks_take(block_at(n), &thread));
  }
  for (uintptr_t n = 0; n < 2 * BLOCKS; n++)
    assert_false(hwi_sampled_blocks_may_have(block_at(n))); /* no count is left */
}

static void test_a_missed_free_leaves_one_block(void **state)
{
  uint32_t thread;
  (void)state;
  assert_true(hwi_sampled_blocks_add(block_at(5), 1));
  assert_true(hwi_sampled_blocks_add(block_at(5), 2));
  assert_true(hwi_sampled_blocks_take(block_at(5), &thread));
  assert_int_equal(thread, 2);
  assert_false(hwi_sampled_blocks_take(block_at(5), &thread));
}

static void test_an_impossible_address_is_refused(void **state)
{
  uint32_t thread;
  (void)state;
  if (sizeof(void *) < sizeof(uint64_t))
    skip(); /* each is possible */
  assert_false(hwi_sampled_blocks_add((const void *)(UINTPTR_MAX - 15), 1));
  assert_false(hwi_sampled_blocks_take((const void *)(UINTPTR_MAX - 15), &thread));
}

/* Each thread takes the blocks that the one before it has added. */
static struct turn {
  _Atomic uint64_t added, taken;
} turns[THREADS];
static _Atomic uint64_t missed;

static void *work(void *argument)
{
  const uintptr_t mine = (uintptr_t)argument, other = (mine + 1) % THREADS;
  for (uint64_t round = 0; round < ROUNDS; round++) {
    const uintptr_t first = BLOCKS + round * BATCH;
    for (uintptr_t n = first; n < first + BATCH; n++) {
      missed += !hwi_sampled_blocks_add(block_at(mine * 1000000 + n), (uint32_t)mine);
      turns[mine].added = n - BLOCKS + 1;
      uint64_t next = turns[other].taken, added = turns[other].added, keep = added - added / 3;
      for (; next < keep; turns[other].taken = ++next) {
        uint32_t thread;
        const void *block = block_at(other * 1000000 + BLOCKS + next);
        missed += !hwi_sampled_blocks_may_have(block) || !hwi_sampled_blocks_take(block, &thread) || thread != other;
      }
    }
  }
  return NULL;
}

static void test_threads_lose_no_block(void **state)
{
  pthread_t threads[THREADS];
  uint64_t left = 0;
  uint32_t thread;
  (void)state;
  for (uintptr_t i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, work, (void *)i), 0);
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  assert_int_equal(missed, 0);
  for (uintptr_t i = 0; i < THREADS; i++)
    for (uint64_t n = turns[i].taken; n < turns[i].added; n++, left++)
      assert_true(hwi_sampled_blocks_take(block_at(i * 1000000 + BLOCKS + n), &thread));
  assert_true(left > THREADS * BATCH);
  for (uintptr_t n = 0; n < BLOCKS; n++)
    assert_false(hwi_sampled_blocks_may_have(block_at(n)));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_threads_lose_no_block), /* first: it adds the levels */
      cmocka_unit_test(test_blocks_are_found_until_they_are_taken),
      cmocka_unit_test(test_a_missed_free_leaves_one_block),
      cmocka_unit_test(test_an_impossible_address_is_refused),
  };
  return hwi_sampled_blocks_init() ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
