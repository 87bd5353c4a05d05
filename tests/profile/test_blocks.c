/* test_blocks.c - the live blocks for the totals, compared with a plain array
 *
 * Breaks if removal, which moves other blocks, or growth is wrong; if addresses that all begin at one place, or blocks
 * within one granule, are confused; or if a block's data are lost.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "profile/blocks/blocks.h"

enum { BLOCKS = 1200, STEPS = 60000, MANY = 200000 };

static struct hwi_blocks blocks;
static uint64_t random_state = 1;

static uint32_t below(uint32_t limit)
{
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(random_state >> 33) % limit;
}

/* Returns how many blocks the page has, or SIZE_MAX if that is not the number in its region. */
static size_t count_page(const struct hwi_block_region *region, size_t page)
{
  size_t count = 0;
  for (size_t i = 0; region->pages[page] && i < HWI_BLOCK_PAGE_GRANULES; i++) {
    uint64_t address = region->number << HWI_REGION_BITS | page << HWI_BLOCK_PAGE_BITS | i << HWI_GRANULE_BITS;
    if (!region->pages[page]->kinds[i])
      continue;
    count++;
    if (!hwi_blocks_has(&blocks, address))
      return SIZE_MAX;
  }
  return count == region->counts[page] && (count > 0) == (region->pages[page] != NULL) ? count : SIZE_MAX;
}

static bool is_valid(void)
{
  size_t total = blocks.odd.count;
  for (size_t r = 0; r < blocks.region_count; r++) {
    for (size_t page = 0; page < HWI_REGION_PAGES; page++) {
      size_t count = count_page(&blocks.regions[r], page);
      if (count == SIZE_MAX)
        return false;
      total += count;
    }
  }
  for (const union hwi_block_page *page = blocks.free_pages; page; page = page->next)
    for (size_t i = sizeof page->next / sizeof *page->kinds; i < HWI_BLOCK_PAGE_GRANULES; i++)
      if (page->kinds[i])
        return false;
  return total == blocks.count;
}

/* One region has adjacent blocks, one has few blocks in each of its pages, one has all within few granules, and the
 * rest are far apart. */
static uint64_t choose_address(uint32_t i)
{
  static const uint64_t region = UINT64_C(1) << HWI_REGION_BITS;
  switch (i % 4) {
  case 0:
    return UINT64_C(0x7fff00000000) + i / 4 * 16;
  case 1:
    return UINT64_C(0x555500000000) + ((i / 4) << HWI_BLOCK_PAGE_BITS) % region + i / 64 * 16;
  case 2:
    return UINT64_C(0x10000) + i / 4;
  default:
    return i * (region * 0x10001 + 8);
  }
}

static bool is_same(const struct hwi_block *left, const struct hwi_block *right)
{
  return left->size == right->size && left->thread == right->thread;
}

static void check_put(uint64_t address, struct hwi_block *live, bool *is_live)
{
  struct hwi_block block = {below(40) ? below(30) : UINT64_C(1) << below(64), below(20), 1};
  const struct hwi_block *replaced;
  assert_true(hwi_blocks_put(&blocks, address, &block, &replaced));
  assert_int_equal(replaced != NULL, *is_live);
  assert_true(!replaced || is_same(replaced, live));
  *live = block;
  *is_live = true;
}

static void test_against_an_array(void **state)
{
  (void)state;
  static struct hwi_block live[BLOCKS];
  static bool is_live[BLOCKS];
  for (uint32_t step = 1; step < STEPS; step++) {
    uint32_t i = below(step < STEPS / 2 ? 200 : BLOCKS); /* tables grow half-way */
    uint64_t address = choose_address(i);
    assert_int_equal(hwi_blocks_has(&blocks, address), is_live[i]);
    if (below(2)) {
      check_put(address, &live[i], &is_live[i]);
    } else {
      const struct hwi_block *taken = hwi_blocks_take(&blocks, address);
      assert_int_equal(taken != NULL, is_live[i]);
      assert_true(!taken || is_same(taken, &live[i]));
      is_live[i] = false;
    }
    if (step % 100 == 0)
      assert_true(is_valid());
  }
  hwi_blocks_release(&blocks);
}

/* Every byte of some regions is the address of a block. No allocator would do that. */
static void test_a_block_at_every_byte(void **state)
{
  (void)state;
  const struct hwi_block *replaced;
  for (uint32_t i = 0; i < MANY; i++) {
    assert_true(hwi_blocks_put(&blocks, 0x70000000 + i, &(struct hwi_block){.size = i}, &replaced));
    assert_null(replaced);
  }
  assert_int_equal(blocks.count, MANY);
  assert_true(is_valid());
  for (uint32_t i = 0; i < MANY; i++) {
    const struct hwi_block *taken = hwi_blocks_take(&blocks, 0x70000000 + i);
    assert_non_null(taken);
    assert_int_equal(taken->size, i);
  }
  assert_int_equal(blocks.count, 0);
  assert_true(is_valid());
  hwi_blocks_release(&blocks);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_against_an_array),
      cmocka_unit_test(test_a_block_at_every_byte),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
