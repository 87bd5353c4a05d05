/* test_tcmalloc.c - a small heap of tcmalloc: its blocks, and whatever is damaged in it is named
 *
 * Breaks if a structure is believed without a check, or if a result of malloc is not checked.
 */
#include "small_heap.h"
#include "small_tcmalloc.h"

static struct small_tcmalloc small;

static void find(struct hwi_core_heap *heap)
{
  struct hwi_error error = {0};
  assert_int_equal(hwi_core_heap_find(heap, &small.memory, &error), 0);
  assert_string_equal(heap->allocator, "tcmalloc");
  assert_int_equal(heap->part_count, 1);
}

static void assert_sound(const struct hwi_core_heap *heap)
{
  assert_int_equal(heap->damage_count, 0);
  assert_int_equal(heap->parts[0].system_bytes, SMALL_TCMALLOC_RETURNED - SMALL_TCMALLOC_HEAP);
  assert_int_equal(heap->parts[0].understood_bytes, SMALL_TCMALLOC_RETURNED - SMALL_TCMALLOC_HEAP);
  assert_sum(heap, HWI_CORE_BLOCK_LIVE, 3, 2 * 64 + 2 * SMALL_TCMALLOC_PAGE);
  assert_sum(heap, HWI_CORE_BLOCK_CACHED, 2, 2 * 64);
  assert_sum(heap, HWI_CORE_BLOCK_FREE, SMALL_TCMALLOC_BLOCKS - 4 + 1,
             (SMALL_TCMALLOC_BLOCKS - 4) * 64 + SMALL_TCMALLOC_PAGE);
}

static void test_whole(void **state)
{
  (void)state;
  struct hwi_core_heap heap;
  small_tcmalloc_make(&small);
  find(&heap);
  assert_sound(&heap);
  hwi_core_heap_release(&heap);
}

/* A word that is overwritten, and the address of the damage. */
struct harm {
  uint64_t at, word, damage;
  const char *text;
  uint64_t lost; /* bytes that are not understood then */
};

static void test_damage(void **state)
{
  (void)state;
  const uint64_t large = SMALL_TCMALLOC_SPAN + SMALL_TCMALLOC_SPAN_BYTES;
  const struct harm harms[] = {
      {SMALL_TCMALLOC_FREE_BLOCK, SMALL_TCMALLOC_FREE_BLOCK, SMALL_TCMALLOC_HEAP,
       "the list of free blocks of the span here leads to 0x100100", SMALL_TCMALLOC_PAGE},
      {SMALL_TCMALLOC_FREE_BLOCK, 0x4141414141414141, SMALL_TCMALLOC_HEAP,
       "the list of free blocks of the span here leads to 0x4141414141414141", SMALL_TCMALLOC_PAGE},
      {SMALL_TCMALLOC_FREE_BLOCK, 0, SMALL_TCMALLOC_HEAP,
       "of the 128 blocks of the span here, 4 are used, and 1 are free", SMALL_TCMALLOC_PAGE},
      {large, 0x4141414141414141, SMALL_TCMALLOC_LARGE, "the page here belongs to no sound span of tcmalloc",
       2 * SMALL_TCMALLOC_PAGE},
      {SMALL_TCMALLOC_LISTS + SMALL_TCMALLOC_CLASS * 32, SMALL_TCMALLOC_OF_CENTRAL, SMALL_TCMALLOC_OF_CENTRAL,
       "the block here is twice in the caches of threads: it was freed twice", 0},
      {SMALL_TCMALLOC_LISTS + SMALL_TCMALLOC_CLASS * 32, SMALL_TCMALLOC_OF_THREAD + 8, SMALL_TCMALLOC_OF_THREAD + 8,
       "the cache of a thread has this address, where no block in use begins", 0},
  };
  for (size_t i = 0; i < sizeof harms / sizeof *harms; i++) {
    struct hwi_core_heap heap;
    small_tcmalloc_make(&small);
    small_tcmalloc_put(&small, harms[i].at, harms[i].word);
    find(&heap);
    assert_true(heap.damage_count >= 1);
    assert_int_equal(heap.damages[0].address, harms[i].damage);
    assert_string_equal(heap.damages[0].text, harms[i].text);
    assert_int_equal(heap.parts[0].system_bytes - heap.parts[0].understood_bytes, harms[i].lost);
    hwi_core_heap_release(&heap);
  }
}

static void test_unknown_version(void **state)
{
  (void)state;
  static const uint64_t missing[] = {SMALL_TCMALLOC_ROOT, SMALL_TCMALLOC_CENTRAL + SMALL_TCMALLOC_CENTRAL_BYTES + 8};
  for (size_t i = 0; i < sizeof missing / sizeof *missing; i++) {
    struct hwi_core_heap heap;
    struct hwi_error error = {0};
    small_tcmalloc_make(&small);
    small_tcmalloc_put(&small, missing[i], 0);
    assert_int_equal(hwi_core_heap_find(&heap, &small.memory, &error), HW_ERR_USAGE);
    assert_string_equal(error.text,
                        "no heap was found: tcmalloc is there, but not like that of gperftools 2.10, the only version "
                        "that is read; another malloc is read only with libheapwright-annotate.so");
  }
}

/* A block with an object of the library's own is none of the program's; one that refers to other data of the library is. */
static void test_own_object(void **state)
{
  (void)state;
  const struct {
    uint64_t block, table;
    unsigned own;
  } cases[] = {{SMALL_TCMALLOC_TABLE, SMALL_TCMALLOC_CODE + 16, 1},
               {SMALL_TCMALLOC_TABLE, SMALL_TCMALLOC_TABLE, 0},
               {SMALL_TCMALLOC_CODE, SMALL_TCMALLOC_CODE + 16, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct hwi_core_heap heap;
    small_tcmalloc_make(&small);
    small_tcmalloc_put(&small, SMALL_TCMALLOC_HEAP, cases[i].block);
    small_tcmalloc_put(&small, SMALL_TCMALLOC_TABLE, cases[i].table);
    find(&heap);
    assert_sum(&heap, HWI_CORE_BLOCK_OWN, cases[i].own, cases[i].own * 64);
    assert_sum(&heap, HWI_CORE_BLOCK_LIVE, 3 - cases[i].own, (2 - cases[i].own) * 64 + 2 * SMALL_TCMALLOC_PAGE);
    hwi_core_heap_release(&heap);
  }
}

static void test_debug_library(void **state)
{
  (void)state;
  struct hwi_core_heap heap;
  struct hwi_error error = {0};
  small_tcmalloc_make(&small);
  small.regions[2].file = "/lib/libtcmalloc_minimal_debug.so.4";
  assert_int_equal(hwi_core_heap_find(&heap, &small.memory, &error), HW_ERR_USAGE);
  assert_non_null(strstr(error.text, "it puts headers around blocks, which are not read"));
}

static void test_no_memory(void **state)
{
  (void)state;
  small_tcmalloc_make(&small);
  expect_errors_without_memory(&small.memory, assert_sound, 3);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_whole),      cmocka_unit_test(test_damage),        cmocka_unit_test(test_unknown_version),
      cmocka_unit_test(test_own_object), cmocka_unit_test(test_debug_library), cmocka_unit_test(test_no_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
