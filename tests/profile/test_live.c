/* test_live.c - the table of live blocks, compared with a plain array
 *
 * Breaks if removal, which moves other blocks, is wrong, or growth, also of large tables; if addresses that all begin
 * at one place are confused; or if adjacent blocks have distant slots, so that each event of a large heap is a cache
 * miss.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "profile/blocks/live.h"

enum { BLOCKS = 700, STEPS = 60000, SPREAD = 64 };

static struct hwi_live live;
static uint64_t random_state = 1;

static uint32_t below(uint32_t limit)
{
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(random_state >> 33) % limit;
}

/* Addresses whose home slots are close together, across the table's end. */
static void choose_addresses(uint64_t addresses[BLOCKS])
{
  uint64_t address = 0;
  for (int i = 0; i < BLOCKS; i++) {
    do
      address += 16;
    while (((hwi_live_home(&live, address) + SPREAD / 2) & live.mask) >= SPREAD * 2);
    addresses[i] = address;
  }
}

static bool is_valid(void)
{
  size_t count = 0;
  for (size_t i = 0; i <= live.mask; i++) {
    if (!live.slots[i].address)
      continue;
    count++;
    for (size_t at = hwi_live_home(&live, live.slots[i].address); at != i; at = (at + 1) & live.mask)
      if (!live.slots[at].address)
        return false;
  }
  return count == live.count && count * 4 <= (live.mask + 1) * 3;
}

static void test_against_an_array(void **state)
{
  (void)state;
  static uint64_t addresses[BLOCKS];
  static uint32_t numbers[BLOCKS]; /* 0: not live */
  assert_true(hwi_live_init(&live));
  choose_addresses(addresses);
  for (uint32_t step = 1; step < STEPS; step++) {
    uint32_t limit = step < STEPS / 2 ? 200 : BLOCKS; /* the table grows half-way */
    uint32_t i = below(limit);
    struct hwi_live_slot *slot = hwi_live_slot(&live, addresses[i]);
    assert_int_equal(slot->address, numbers[i] ? addresses[i] : 0);
    assert_int_equal(slot->address ? slot->number : 0, numbers[i]);
    if (numbers[i]) {
      hwi_live_remove(&live, slot);
      numbers[i] = 0;
    } else {
      assert_true(hwi_live_grow(&live));
      numbers[i] = step;
      *hwi_live_slot(&live, addresses[i]) = (struct hwi_live_slot){addresses[i], step, 1};
      live.count++;
    }
    if (step % 50 == 0)
      assert_true(is_valid());
  }
  hwi_live_release(&live);
}

/* A large table grows at the place of its blocks. */
static void test_growth_of_a_large_table(void **state)
{
  (void)state;
  enum { MANY_BLOCKS = 600000, APART = 48 };
  assert_true(hwi_live_init(&live));
  for (uint32_t i = 1; i <= MANY_BLOCKS; i++) {
    uint64_t address = (uint64_t)i * APART;
    assert_true(hwi_live_grow(&live));
    *hwi_live_slot(&live, address) = (struct hwi_live_slot){address, i, 1};
    live.count++;
  }
  assert_true(is_valid());
  for (uint32_t i = 1; i <= MANY_BLOCKS; i++) {
    const struct hwi_live_slot *slot = hwi_live_slot(&live, (uint64_t)i * APART);
    if (slot->address != (uint64_t)i * APART || slot->number != i)
      fail_msg("block %u", i);
  }
  hwi_live_release(&live);
}

/* The blocks of a group have adjacent slots, in the order of their addresses. */
static void test_neighbours(void **state)
{
  (void)state;
  enum { GROUP_BYTES = HWI_LIVE_GROUP << HWI_LIVE_STEP_BITS, GROUPS = 50 };
  assert_true(hwi_live_init(&live));
  for (uint64_t first = GROUP_BYTES; first < GROUPS * GROUP_BYTES; first += GROUP_BYTES)
    for (size_t i = 1; i < HWI_LIVE_GROUP; i++)
      assert_int_equal(hwi_live_home(&live, first + (i << HWI_LIVE_STEP_BITS)), hwi_live_home(&live, first) + i);
  hwi_live_release(&live);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_against_an_array),
      cmocka_unit_test(test_growth_of_a_large_table),
      cmocka_unit_test(test_neighbours),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
