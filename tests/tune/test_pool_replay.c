/* test_pool_replay.c - the replay of one process tolerates a damaged or forged recording
 *
 * Breaks if a size or alignment from a file reaches the pool unchecked, or if a block is counted twice.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "heapwright/detail/entry_list.h"
#include "tune/pool_replay.h"

enum { POOL_BYTES = 1 << 20 };

static struct hwi_pool_replay replay;

static int begin(void **state)
{
  (void)state;
  return hwi_pool_replay_init(&replay, POOL_BYTES) ? 0 : -1;
}

static int end(void **state)
{
  (void)state;
  assert_true(hw_pool_is_valid(replay.pool, NULL));
  hwi_pool_replay_release(&replay);
  return 0;
}

static void alloc(uint64_t address, uint64_t size, uint8_t alignment_log2, uint8_t entry)
{
  struct hwi_block_event event = {
      .kind = HWI_BLOCK_ALLOC, .address = address, .size = size, .alignment_log2 = alignment_log2, .entry = entry};
  assert_true(hwi_pool_replay_alloc(&replay, &event, 0));
}

static void test_impossible_requests_are_refused(void **state)
{
  (void)state;
  static const uint64_t sizes[] = {UINT64_MAX, UINT64_MAX - 1, (uint64_t)1 << 63, (uint64_t)1 << 46, POOL_BYTES};
  static const uint8_t entries[] = {HW_ENTRY_MALLOC, HW_ENTRY_PVALLOC, HW_ENTRY_VALLOC, UINT8_MAX};
  uint64_t address = 16, requests = 0;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (size_t k = 0; k < sizeof entries; k++, address += 16, requests++)
      alloc(address, sizes[i], 0, entries[k]);
  for (unsigned log2 = 46; log2 <= UINT8_MAX; log2++, address += 16, requests++)
    alloc(address, 1, (uint8_t)log2, HW_ENTRY_MEMALIGN);
  assert_int_equal(replay.figures.refused_count, replay.figures.request_count);
  assert_int_equal(replay.figures.request_count, requests);
  assert_int_equal(replay.figures.used_bytes, 0);
  assert_int_equal(replay.figures.extent_bytes, replay.figures.tables_bytes);
  while (address -= 16)
    hwi_pool_replay_free(&replay, hwi_pool_replay_take(&replay, address));
}

static void test_the_same_address_twice(void **state)
{
  (void)state;
  alloc(16, 100, 0, HW_ENTRY_MALLOC);
  alloc(16, 200, 0, HW_ENTRY_MALLOC);
  assert_int_equal(replay.asked_bytes, 200);
  assert_int_equal(replay.where.count, 1);
  hwi_pool_replay_free(&replay, hwi_pool_replay_take(&replay, 16));
  assert_int_equal(hwi_pool_replay_take(&replay, 16), 0);
  assert_int_equal(replay.asked_bytes + replay.used_bytes, 0);
}

/* A pool of exactly this extent has room for all blocks; one that is a block smaller has not. */
static void test_the_extent_suffices(void **state)
{
  (void)state;
  for (uint64_t address = 16; address <= 16 * 1000; address += 16)
    alloc(address, address / 16, 0, HW_ENTRY_MALLOC);
  uint64_t extent = replay.figures.extent_bytes;
  for (unsigned smaller = 0; smaller < 2; smaller++) {
    struct hwi_pool_replay unlimited = replay;
    assert_true(hwi_pool_replay_init(&replay, extent - 32 * smaller));
    for (uint64_t address = 16; address <= 16 * 1000; address += 16)
      alloc(address, address / 16, 0, HW_ENTRY_MALLOC);
    assert_int_equal(replay.figures.refused_count, smaller);
    hwi_pool_replay_release(&replay);
    replay = unlimited;
  }
}

static void test_a_child_has_its_parents_blocks(void **state)
{
  (void)state;
  struct hwi_pool_replay child;
  for (uint64_t address = 16; address <= 16 * 1000; address += 16)
    alloc(address, 100, 0, HW_ENTRY_MALLOC);
  assert_true(hwi_pool_replay_init(&child, POOL_BYTES));
  assert_true(hwi_pool_replay_inherit(&child, &replay));
  assert_int_equal(child.asked_bytes, replay.asked_bytes);
  assert_int_equal(child.used_bytes, replay.used_bytes);
  assert_int_equal(child.figures.request_count, 0);
  for (uint64_t address = 16; address <= 16 * 1000; address += 16)
    hwi_pool_replay_free(&child, hwi_pool_replay_take(&child, address));
  assert_int_equal(child.used_bytes, 0);
  assert_true(hw_pool_is_valid(child.pool, NULL));
  hwi_pool_replay_release(&child);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_impossible_requests_are_refused, begin, end),
      cmocka_unit_test_setup_teardown(test_the_same_address_twice, begin, end),
      cmocka_unit_test_setup_teardown(test_the_extent_suffices, begin, end),
      cmocka_unit_test_setup_teardown(test_a_child_has_its_parents_blocks, begin, end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
