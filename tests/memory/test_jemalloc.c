/* test_jemalloc.c - a small heap of jemalloc: its blocks, and whatever is damaged in it is named
 *
 * Breaks if a structure is believed without a check, or if a result of malloc is not checked.
 */
#include "small_heap.h"
#include "small_jemalloc.h"

static struct small_jemalloc small;

static void find(struct hwi_core_heap *heap)
{
  struct hwi_error error = {0};
  assert_int_equal(hwi_core_heap_find(heap, &small.memory, &error), 0);
  assert_string_equal(heap->allocator, "jemalloc");
}

static void assert_sound(const struct hwi_core_heap *heap)
{
  assert_int_equal(heap->damage_count, 0);
  assert_int_equal(heap->part_count, 2);
  assert_string_equal(heap->parts[0].name, "jemalloc arena 0");
  assert_int_equal(heap->parts[0].system_bytes, SMALL_JEMALLOC_RETAINED - SMALL_JEMALLOC_HEAP);
  assert_int_equal(heap->parts[0].understood_bytes, SMALL_JEMALLOC_RETAINED - SMALL_JEMALLOC_HEAP);
  assert_int_equal(heap->parts[1].system_bytes, 2 * SMALL_JEMALLOC_BASE_SYSTEM_BYTES);
  assert_sum(heap, HWI_CORE_BLOCK_LIVE, 3, 2 * 64 + 16384);
  assert_sum(heap, HWI_CORE_BLOCK_CACHED, 1, 64);
  assert_sum(heap, HWI_CORE_BLOCK_FREE, 61 + 7 + 1, 61 * 64 + 7 * 512 + 2 * SMALL_JEMALLOC_PAGE);
  assert_sum(heap, HWI_CORE_BLOCK_OWN, 3, 512 + SMALL_JEMALLOC_BASE_BYTES + SMALL_JEMALLOC_NODES_BYTES);
  assert_sum(heap, HWI_CORE_BLOCK_TOP, 2,
             2 * SMALL_JEMALLOC_BASE_SYSTEM_BYTES - SMALL_JEMALLOC_BASE_BYTES - SMALL_JEMALLOC_NODES_BYTES);
}

static void test_whole(void **state)
{
  (void)state;
  for (int is_long = 0; is_long <= 1; is_long++) {
    struct hwi_core_heap heap;
    small_jemalloc_make(&small, is_long);
    find(&heap);
    assert_sound(&heap);
    hwi_core_heap_release(&heap);
  }
}

/* A word that is overwritten, and the address of the damage. */
struct harm {
  uint64_t at, word, damage;
  const char *text;
  uint64_t lost; /* bytes that are not understood then */
};

enum {
  LARGE_DESCRIPTION = SMALL_JEMALLOC_DESCRIPTION + 2 * SMALL_JEMALLOC_DESCRIPTION_BYTES,
  STACKS_ENTRY = SMALL_JEMALLOC_LEAF + SMALL_JEMALLOC_STACKS / SMALL_JEMALLOC_PAGE * 8,
};

static const struct harm harms[] = {
    {SMALL_JEMALLOC_DESCRIPTION + 64, ~UINT64_C(15), SMALL_JEMALLOC_SLAB,
     "the slab here has size class 4 and 61 free blocks, which its map at 0x200000c0 contradicts", 4096},
    {LARGE_DESCRIPTION, UINT64_C(44) << 20, SMALL_JEMALLOC_LARGE_PAGE,
     "the page here belongs to no sound extent of jemalloc", 4096 + 5 * 4096},
    {LARGE_DESCRIPTION + 8, 0x4141414141414141, SMALL_JEMALLOC_LARGE_PAGE,
     "the page here belongs to no sound extent of jemalloc", 8192},
    {STACKS_ENTRY, 0x4141414141414141, SMALL_JEMALLOC_STACKS, "the page here belongs to no sound extent of jemalloc",
     4096},
    {SMALL_JEMALLOC_STACK, SMALL_JEMALLOC_SLAB + 8, SMALL_JEMALLOC_SLAB + 8,
     "the cache of a thread has this address, where no block in use begins", 0},
    {SMALL_JEMALLOC_STACK, SMALL_JEMALLOC_SLAB + 192, SMALL_JEMALLOC_SLAB + 192,
     "the cache of a thread has this address, where no block in use begins", 0},
};

static uint64_t lost_bytes(const struct hwi_core_heap *heap)
{
  uint64_t lost = 0;
  for (size_t part = 0; part < heap->part_count; part++)
    lost += heap->parts[part].system_bytes - heap->parts[part].understood_bytes;
  return lost;
}

static void test_damage(void **state)
{
  (void)state;
  for (size_t i = 0; i < sizeof harms / sizeof *harms; i++) {
    struct hwi_core_heap heap;
    small_jemalloc_make(&small, false);
    small_jemalloc_put(&small, harms[i].at, harms[i].word);
    find(&heap);
    assert_true(heap.damage_count >= 1);
    assert_int_equal(heap.damages[0].address, harms[i].damage);
    assert_string_equal(heap.damages[0].text, harms[i].text);
    assert_int_equal(lost_bytes(&heap), harms[i].lost);
    hwi_core_heap_release(&heap);
  }
}

/* A thread was changing that: its code is jemalloc's, or what jemalloc called, at once or through a frame. The thread that crashed is
 * not one. */
static void test_thread_inside(void **state)
{
  (void)state;
  struct hwi_memory_thread threads[] = {
      {.program_counter = SMALL_JEMALLOC_DATA},
      {.program_counter = 1, .stack_pointer = SMALL_JEMALLOC_RETAINED},
      {.program_counter = 1, .stack_pointer = SMALL_JEMALLOC_RETAINED + 8},
      {.program_counter = 1, .stack_pointer = SMALL_JEMALLOC_RETAINED + 0x108},
  };
  enum { THREADS = sizeof threads / sizeof *threads, OUTSIDE = THREADS - 1 };
  for (size_t i = 0; i < THREADS * (sizeof harms / sizeof *harms); i++) {
    const struct harm *harm = &harms[i / THREADS];
    for (int has_crashed = 0; has_crashed <= 1; has_crashed++) {
      struct hwi_core_heap heap;
      small_jemalloc_make(&small, false);
      small_jemalloc_put(&small, SMALL_JEMALLOC_RETAINED, SMALL_JEMALLOC_DATA + 8);
      small_jemalloc_put(&small, SMALL_JEMALLOC_RETAINED + 0x100, SMALL_JEMALLOC_DATA + 8);
      small_jemalloc_put(&small, harm->at, harm->word);
      small.regions[SMALL_JEMALLOC_REGIONS - 1].is_executable = true;
      small.memory.threads = &threads[i % THREADS];
      small.memory.thread_count = 1;
      small.memory.signal = has_crashed;
      find(&heap);
      const bool is_changing = i % THREADS != OUTSIDE && !has_crashed;
      assert_int_equal(heap.damage_count == 0, is_changing);
      assert_int_equal(lost_bytes(&heap),
                       is_changing && harm == harms ? 0 : harm->lost); /* of a slab, the map counts */
      hwi_core_heap_release(&heap);
    }
  }
}

static void test_freed_twice(void **state)
{
  (void)state;
  struct hwi_core_heap heap;
  small_jemalloc_make(&small, false);
  small_jemalloc_put(&small, SMALL_JEMALLOC_STACK - 8, SMALL_JEMALLOC_SLAB + 128);
  small_jemalloc_put(&small, SMALL_JEMALLOC_BIN, SMALL_JEMALLOC_STACK - 8);
  find(&heap);
  assert_int_equal(heap.damage_count, 1);
  assert_int_equal(heap.damages[0].address, SMALL_JEMALLOC_SLAB + 128);
  assert_string_equal(heap.damages[0].text, "the block here is twice in the caches of threads: it was freed twice");
  assert_sum(&heap, HWI_CORE_BLOCK_CACHED, 1, 64);
  hwi_core_heap_release(&heap);
}

/* What a thread left when it ended. */
static void test_ended_thread(void **state)
{
  (void)state;
  struct hwi_core_heap heap;
  small_jemalloc_make(&small, false);
  small_jemalloc_put(&small, SMALL_JEMALLOC_SLOW + 40, 0);
  find(&heap);
  assert_int_equal(heap.damage_count, 0);
  assert_sum(&heap, HWI_CORE_BLOCK_CACHED, 0, 0);
  assert_sum(&heap, HWI_CORE_BLOCK_LIVE, 5, 3 * 64 + 512 + 16384);
  hwi_core_heap_release(&heap);
}

static void test_unknown_version(void **state)
{
  (void)state;
  struct hwi_core_heap heap;
  struct hwi_error error = {0};
  small_jemalloc_make(&small, false);
  for (unsigned i = 0; i < small.extents; i++)
    small_jemalloc_put(&small, SMALL_JEMALLOC_DESCRIPTION + i * SMALL_JEMALLOC_DESCRIPTION_BYTES + 8, 0);
  assert_int_equal(hwi_core_heap_find(&heap, &small.memory, &error), HW_ERR_USAGE);
  assert_string_equal(error.text,
                      "no heap was found: jemalloc is there, but not version 5.3 with pages of 4096 bytes, the only "
                      "one that is read; another malloc is read only with libheapwright-annotate.so");
}

static void test_no_memory(void **state)
{
  (void)state;
  small_jemalloc_make(&small, false);
  expect_errors_without_memory(&small.memory, assert_sound, 4);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_whole),         cmocka_unit_test(test_damage),          cmocka_unit_test(test_freed_twice),
      cmocka_unit_test(test_ended_thread),  cmocka_unit_test(test_unknown_version), cmocka_unit_test(test_no_memory),
      cmocka_unit_test(test_thread_inside),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
