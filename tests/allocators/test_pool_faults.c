/* test_pool_faults.c - a program's errors with its blocks are found and reported, and damage nothing else
 *
 * Breaks if a double free, a pointer that is not a block or a write past a block's end is not found, is taken for
 * another fault, or changes the pool.
 */
#include "heapwright/pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

enum { MEMORY_BYTES = 1 << 16 };

static unsigned char *memory, copy[MEMORY_BYTES];
static struct hw_pool *pool;
static struct {
  enum hw_pool_fault fault;
  void *address;
  int count;
} told;

static void tell(void *context, struct hw_pool *of, enum hw_pool_fault fault, void *address)
{
  assert_ptr_equal(context, &told);
  assert_ptr_equal(of, pool);
  told.fault = fault;
  told.address = address;
  told.count++;
}

static int set_up(void **state)
{
  (void)state;
  memset(memory, 0x5a, MEMORY_BYTES);
  pool = hw_pool_init(memory, MEMORY_BYTES, 0);
  memset(&told, 0, sizeof told);
  hw_pool_on_fault(pool, tell, &told);
  return pool ? 0 : -1;
}

static size_t fault_count(void)
{
  struct hw_pool_stats stats;
  hw_pool_get_stats(pool, &stats);
  return stats.fault_count;
}

/* The fault is reported once, with this address, and only the count has changed. */
static void expect_fault(void *address, enum hw_pool_fault fault)
{
  int count = told.count;
  size_t faults = fault_count();
  memcpy(copy, memory, MEMORY_BYTES);
  assert_int_equal(hw_pool_free(pool, address), fault);
  assert_int_equal(told.fault, fault);
  assert_ptr_equal(told.address, address);
  assert_int_equal(told.count, count + 1);
  assert_int_equal(fault_count(), faults + 1);
  assert_int_equal(hw_pool_usable_bytes(pool, address), 0);
  assert_false(hw_pool_resize(pool, address, 10));
  assert_null(hw_pool_realloc(pool, address, 10));
  size_t different = 0;
  for (size_t i = 0; i < MEMORY_BYTES; i++)
    different += memory[i] != copy[i];
  assert_in_range(different, 1, sizeof(size_t));
}

static void double_free(void **state)
{
  (void)state;
  for (int neighbours = 0; neighbours < 4; neighbours++) {
    void *front = hw_pool_alloc(pool, 100), *block = hw_pool_alloc(pool, 100), *behind = hw_pool_alloc(pool, 100);
    void *last = hw_pool_alloc(pool, 100);
    if (neighbours & 1)
      hw_pool_free(pool, front);
    if (neighbours & 2)
      hw_pool_free(pool, behind);
    assert_int_equal(hw_pool_free(pool, block), HW_POOL_OK);
    expect_fault(block, HW_POOL_FREED);
    if (neighbours & 1)
      expect_fault(front, HW_POOL_FREED);
    else
      hw_pool_free(pool, front);
    if (neighbours & 2)
      expect_fault(behind, HW_POOL_FREED);
    else
      hw_pool_free(pool, behind);
    hw_pool_free(pool, last);
    assert_true(hw_pool_is_valid(pool, NULL));
  }
}

static void wild_pointers(void **state)
{
  (void)state;
  unsigned char *block = hw_pool_alloc(pool, 100);
  static unsigned char elsewhere[64];
  int local;
  expect_fault(elsewhere + 16, HW_POOL_FOREIGN);
  expect_fault(&local, HW_POOL_FOREIGN);
  expect_fault((void *)16, HW_POOL_FOREIGN);
  expect_fault((void *)(UINTPTR_MAX - 15), HW_POOL_FOREIGN);
  expect_fault((void *)0x7ffffffffff0, HW_POOL_FOREIGN);
  expect_fault(memory + MEMORY_BYTES, HW_POOL_FOREIGN); /* the fence */
  expect_fault(memory, HW_POOL_FOREIGN);                /* the pool itself */
  for (int off = 1; off < 16; off++)
    expect_fault(block + off, HW_POOL_FOREIGN);
  assert_int_equal(hw_pool_free(pool, NULL), HW_POOL_OK);
  assert_int_equal(hw_pool_free(pool, block), HW_POOL_OK);
}

/* One in 65,536 contents looks like the header of a freed block. Which one depends on the address: a few may be
 * found. */
static void expect_no_blocks_in(unsigned char *block, size_t bytes)
{
  size_t wrong = 0;
  for (size_t off = 16; off < bytes; off += 16) {
    enum hw_pool_fault fault = hw_pool_free(pool, block + off);
    assert_in_range(fault, HW_POOL_NOT_A_BLOCK, HW_POOL_FREED);
    assert_ptr_equal(told.address, block + off);
    wrong += fault != HW_POOL_NOT_A_BLOCK;
  }
  assert_in_range(wrong, 0, 3);
}

/* Whatever the program stores in its block: zeros, sizes, text, copies of headers. */
static void interior_pointers(void **state)
{
  (void)state;
  enum { BYTES = 4096 };
  unsigned char *block = hw_pool_alloc(pool, BYTES);
  for (int contents = 0; contents < 4; contents++) {
    for (size_t i = 0; i < BYTES; i++)
      block[i] = contents == 0 ? 0 : contents == 1 ? 0xff : contents == 2 ? (unsigned char)(i % 8 ? 0 : 16 + i) : 'a';
    expect_no_blocks_in(block, BYTES);
  }
  for (size_t off = 16; off < BYTES; off += 16)
    memcpy(block + off - sizeof(size_t), block - sizeof(size_t), sizeof(size_t));
  expect_no_blocks_in(block, BYTES);
  assert_int_equal(hw_pool_free(pool, block), HW_POOL_OK);
  assert_true(hw_pool_is_valid(pool, NULL));
}

/* From one byte on, whatever is written, before a used block, a free one and the fence. */
static void overruns(void **state)
{
  (void)state;
  void *last = NULL;
  for (int behind = 0; behind < 3; behind++)
    for (size_t bytes = 1; bytes <= sizeof(size_t); bytes++)
      for (int value = 0; value < 256; value += 51) {
        unsigned char *block = hw_pool_alloc(pool, 88);
        void *next = behind == 0 ? hw_pool_alloc(pool, 100) : NULL;
        if (behind == 2)
          while (hw_pool_alloc(pool, 1))
            last = block;
        size_t usable = hw_pool_usable_bytes(pool, block);
        unsigned char kept[sizeof(size_t)];
        memcpy(kept, block + usable, sizeof kept);
        memset(block + usable, value, bytes);
        if (memcmp(kept, block + usable, sizeof kept) != 0)
          expect_fault(block, HW_POOL_OVERRUN);
        memcpy(block + usable, kept, sizeof kept);
        assert_int_equal(hw_pool_free(pool, block), HW_POOL_OK);
        hw_pool_free(pool, next);
        if (last) {
          set_up(NULL);
          last = NULL;
        }
      }
  assert_true(hw_pool_is_valid(pool, NULL));
}

/* The block whose own header was overwritten is not a block; the one that overwrote it has an overrun. */
static void header_overwritten_from_in_front(void **state)
{
  (void)state;
  unsigned char *block = hw_pool_alloc(pool, 24), *victim = hw_pool_alloc(pool, 24);
  block[24] ^= 1;
  expect_fault(victim, HW_POOL_NOT_A_BLOCK);
  expect_fault(block, HW_POOL_OVERRUN);
}

/* A free block whose header was overwritten is not allocated. */
static void alloc_from_a_damaged_block(void **state)
{
  (void)state;
  unsigned char *block = hw_pool_alloc(pool, 24), *hole = hw_pool_alloc(pool, 1000);
  hw_pool_alloc(pool, 24);
  hw_pool_free(pool, hole);
  block[24] = 'x';
  block[25] = 'y';
  assert_null(hw_pool_alloc(pool, 1000));
  assert_int_equal(told.fault, HW_POOL_WRITTEN_AFTER_FREE);
  assert_ptr_equal(told.address, hole);
  assert_false(hw_pool_resize(pool, block, 500));
  assert_int_equal(told.fault, HW_POOL_OVERRUN);
  struct hw_pool_damage damage;
  assert_false(hw_pool_is_valid(pool, &damage));
  assert_ptr_equal(damage.address, hole);
  assert_non_null(hw_pool_alloc(pool, 2000)); /* undamaged blocks are still allocated */
}

/* Allocating a free block changes a flag in the next block's header: not if that header is damaged. */
static void end_of_a_free_block_is_damaged(void **state)
{
  (void)state;
  unsigned char *hole = hw_pool_alloc(pool, 1000), *behind = hw_pool_alloc(pool, 24);
  hw_pool_free(pool, hole);
  behind[-8] ^= 0x80;
  assert_null(hw_pool_alloc(pool, 1000));
  assert_int_equal(told.fault, HW_POOL_WRITTEN_AFTER_FREE);
  behind[-8] ^= 0x80;
  assert_ptr_equal(hw_pool_alloc(pool, 1000), hole);
}

/* The footer of a free block, when the next block is freed. */
static void footer_written_after_free(void **state)
{
  (void)state;
  unsigned char *front = hw_pool_alloc(pool, 1000), *block = hw_pool_alloc(pool, 24);
  size_t usable = hw_pool_usable_bytes(pool, front);
  hw_pool_alloc(pool, 24);
  hw_pool_free(pool, front);
  memset(front + usable - 8, 0x41, 8);
  assert_int_equal(hw_pool_free(pool, block), HW_POOL_WRITTEN_AFTER_FREE);
  assert_ptr_equal(told.address, block);
  struct hw_pool_damage damage;
  assert_false(hw_pool_is_valid(pool, &damage));
  assert_int_equal(damage.fault, HW_POOL_WRITTEN_AFTER_FREE);
  assert_ptr_equal(damage.address, front);
}

static void damage_is_found_anywhere(void **state)
{
  (void)state;
  void *blocks[40];
  for (size_t i = 0; i < 40; i++)
    blocks[i] = hw_pool_alloc(pool, 40 * i);
  for (size_t i = 0; i < 40; i += 3)
    hw_pool_free(pool, blocks[i]);
  assert_true(hw_pool_is_valid(pool, NULL));
  for (size_t i = 0; i < 40; i++)
    for (unsigned bit = 0; bit < 8 * sizeof(size_t); bit++) {
      unsigned char *at = (unsigned char *)blocks[i] - sizeof(size_t) + bit / 8;
      *at ^= (unsigned char)(1u << bit % 8);
      assert_false(hw_pool_is_valid(pool, NULL));
      *at ^= (unsigned char)(1u << bit % 8);
    }
  assert_true(hw_pool_is_valid(pool, NULL));
}

static void every_fault_has_words(void **state)
{
  (void)state;
  for (int fault = HW_POOL_OK; fault <= HW_POOL_MISCOUNTED; fault++)
    for (int other = fault + 1; other <= HW_POOL_MISCOUNTED + 1; other++)
      assert_string_not_equal(hw_pool_fault_text((enum hw_pool_fault)fault),
                              hw_pool_fault_text((enum hw_pool_fault)other));
}

/* Always at the same address: which damage is not found, one in 65,536, depends on it. */
static int map_memory(void **state)
{
  (void)state;
#ifdef HW_SANITIZED_THREAD
  void *wanted = (void *)0x7ea000000000; /* the sanitizer has the others */
#else
  void *wanted = (void *)0x200000000000;
#endif
  memory = mmap(wanted, MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == wanted ? 0 : -1;
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(double_free, set_up),
      cmocka_unit_test_setup(wild_pointers, set_up),
      cmocka_unit_test_setup(interior_pointers, set_up),
      cmocka_unit_test_setup(overruns, set_up),
      cmocka_unit_test_setup(header_overwritten_from_in_front, set_up),
      cmocka_unit_test_setup(alloc_from_a_damaged_block, set_up),
      cmocka_unit_test_setup(end_of_a_free_block_is_damaged, set_up),
      cmocka_unit_test_setup(footer_written_after_free, set_up),
      cmocka_unit_test_setup(damage_is_found_anywhere, set_up),
      cmocka_unit_test(every_fault_has_words),
  };
  return cmocka_run_group_tests(tests, map_memory, NULL);
}
