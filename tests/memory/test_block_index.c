/* test_block_index.c - each address leads to the block that it is in
 *
 * Breaks if an address in a block is not found, or one outside is; if blocks far from each other, or at odd addresses, confuse
 * the index; or if it takes more memory than the gaps between blocks allow.
 */
#include "made_memory.h"

static uint32_t find(const struct hwi_block_index *index, uint64_t address)
{
  const struct hwi_index_span *span = NULL;
  return hwi_block_index_find(index, &span, address);
}

/* Compares the answer for each address with a search through all blocks. */
static void compare(const struct made *made, const struct hwi_block_index *index, uint64_t begin, uint64_t end)
{
  const struct hwi_index_span *span = NULL;
  for (uint64_t at = begin; at < end; at++) {
    uint32_t expected = HWI_NO_BLOCK;
    for (uint32_t i = 0; i < made->heap.block_count; i++)
      if (at - made->heap.blocks[i].address < hwi_core_block_bytes(&made->heap.blocks[i]))
        expected = i;
    assert_int_equal(hwi_block_index_find(index, &span, at), expected);
    const struct hwi_cell *cell = hwi_block_index_cell(index, &span, at);
    const bool is_start = expected != HWI_NO_BLOCK && made->heap.blocks[expected].address == at;
    if (cell)
      assert_int_equal(hwi_block_index_start(index, cell, at), is_start ? expected : HWI_NO_BLOCK);
    else
      assert_false(is_start);
  }
}

static void test_each_address(void **state)
{
  (void)state;
  struct made made;
  struct hwi_block_index index;
  made_init(&made, PAGE);
  for (int i = 0; i < 20; i++)
    made_live(&made, (uint64_t)(16 + i % 5 * 304));
  assert_int_equal(hwi_block_index_init(&index, &made.heap, &made.error), 0);
  assert_int_equal(index.granule_shift, 4);
  compare(&made, &index, HEAP - 2 * PAGE, made.next + 2 * PAGE);
  hwi_block_index_release(&index);
  made_release(&made);
}

static void test_odd_addresses(void **state)
{
  (void)state;
  struct made made;
  struct hwi_block_index index;
  made_init(&made, PAGE);
  made_block_at(&made, HEAP + 1, 3, HWI_CORE_BLOCK_LIVE);
  made_block_at(&made, HEAP + 4, 1, HWI_CORE_BLOCK_LIVE);
  made_block_at(&made, HEAP + 60, 70, HWI_CORE_BLOCK_LIVE);
  made_block_at(&made, HEAP + 191, 1000, HWI_CORE_BLOCK_LIVE);
  assert_int_equal(hwi_block_index_init(&index, &made.heap, &made.error), 0);
  compare(&made, &index, HEAP - 100, HEAP + 1500);
  hwi_block_index_release(&index);
  made_release(&made);
}

static void test_far_apart(void **state)
{
  (void)state;
  struct made made;
  struct hwi_block_index index;
  made_init(&made, PAGE);
  const uint64_t places[] = {HEAP + 16, (uint64_t)1 << 40, ((uint64_t)1 << 40) + 65600, (uint64_t)1 << 46,
                             UINT64_MAX - 4095};
  for (size_t i = 0; i < sizeof places / sizeof *places; i++)
    made_block_at(&made, places[i], 48, HWI_CORE_BLOCK_LIVE);
  assert_int_equal(hwi_block_index_init(&index, &made.heap, &made.error), 0);
  assert_true(index.cell_count < 200);
  for (uint32_t i = 0; i < sizeof places / sizeof *places; i++) {
    assert_int_equal(find(&index, places[i]), i);
    assert_int_equal(find(&index, places[i] + 47), i);
    assert_int_equal(find(&index, places[i] + 48), HWI_NO_BLOCK);
    assert_int_equal(find(&index, places[i] - 1), HWI_NO_BLOCK);
  }
  assert_int_equal(find(&index, 0), HWI_NO_BLOCK);
  assert_int_equal(find(&index, UINT64_MAX), HWI_NO_BLOCK);
  hwi_block_index_release(&index);
  made_release(&made);
}

/* Blocks in whole pages have large granules. */
static void test_pages(void **state)
{
  (void)state;
  struct made made;
  struct hwi_block_index index;
  made_init(&made, PAGE);
  uint64_t at = (uint64_t)1 << 30;
  for (uint64_t i = 0; i < 40; i++, at += i * PAGE * 3)
    made_block_at(&made, at, i % 3 ? PAGE : i * PAGE * 2, HWI_CORE_BLOCK_LIVE);
  assert_int_equal(hwi_block_index_init(&index, &made.heap, &made.error), 0);
  for (uint32_t i = 1; i < 40; i++) {
    const uint64_t address = made.heap.blocks[i].address, bytes = hwi_core_block_bytes(&made.heap.blocks[i]);
    assert_int_equal(find(&index, address), i);
    assert_int_equal(find(&index, address + bytes - 1), i);
    assert_int_equal(find(&index, address + bytes), HWI_NO_BLOCK);
    assert_int_equal(find(&index, address - 1), HWI_NO_BLOCK);
  }
  hwi_block_index_release(&index);
  made_release(&made);
}

static void test_no_blocks(void **state)
{
  (void)state;
  struct made made;
  struct hwi_block_index index;
  made_init(&made, PAGE);
  assert_int_equal(hwi_block_index_init(&index, &made.heap, &made.error), 0);
  assert_int_equal(find(&index, 0), HWI_NO_BLOCK);
  assert_int_equal(find(&index, HEAP), HWI_NO_BLOCK);
  hwi_block_index_release(&index);
  made_release(&made);
}

/* Only a damaged heap has blocks that overlap, or one block twice: no answer is right, but each must be a block. */
static void test_overlapping(void **state)
{
  (void)state;
  struct made made;
  struct hwi_block_index index;
  made_init(&made, PAGE);
  made_block_at(&made, HEAP, 4000, HWI_CORE_BLOCK_LIVE);
  made_block_at(&made, HEAP, 32, HWI_CORE_BLOCK_LIVE);
  made_block_at(&made, HEAP + 16, UINT64_MAX >> HWI_CORE_BLOCK_STATE_BITS, HWI_CORE_BLOCK_LIVE);
  assert_true(hwi_block_index_init(&index, &made.heap, &made.error) <= 0);
  for (uint64_t at = HEAP - 100; index.cells && at < HEAP + 5000; at++) {
    const uint32_t block = find(&index, at);
    assert_true(block == HWI_NO_BLOCK || block < made.heap.block_count);
  }
  hwi_block_index_release(&index);
  made_release(&made);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_each_address), cmocka_unit_test(test_odd_addresses), cmocka_unit_test(test_far_apart),
      cmocka_unit_test(test_pages),        cmocka_unit_test(test_no_blocks),     cmocka_unit_test(test_overlapping),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
