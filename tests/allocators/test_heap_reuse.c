/* test_heap_reuse.c - a general heap uses memory again before it touches more, and returns what is too much
 *
 * Breaks if a free block waits while untouched memory is given out, if memory is touched page by page, or
 * always two at once, if a large block that is given out again is damaged or not zeroed, if memory that is much stays after its
 * blocks were freed, or if a program that goes up and down gets its memory from the system each time.
 */
#include "allocators/heap/process_owner.h"
#include "mappings.h"
#include "new_heap.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

#include "platform/os.h"
#include "platform/os_heap.h"

enum { BYTES = 64, OF_SYSTEM_PAGE = 4096 / BYTES, OF_PAGE = 65536 / BYTES };

/* --- before memory is touched --- */

/* Fills one page of a heap, and a 4,096-byte part of the next one, of which the rest is untouched. */
static void fill(struct hw_heap *heap, void **blocks)
{
  for (int i = 0; i < OF_PAGE + OF_SYSTEM_PAGE; i++)
    assert_non_null(blocks[i] = hw_heap_alloc(heap, BYTES));
}

static void *free_blocks(void *argument)
{
  struct hw_heap *heap = ((void **)argument)[0];
  void **blocks = ((void **)argument)[1];
  for (int i = 0; i < OF_PAGE / 4; i++)
    if (hw_heap_free(heap, blocks[i]) != HW_HEAP_OK)
      return NULL;
  return argument;
}

static void run_free_blocks(struct hw_heap *heap, void **blocks)
{
  pthread_t thread;
  void *argument[] = {heap, blocks}, *result;
  assert_int_equal(pthread_create(&thread, NULL, free_blocks, argument), 0);
  assert_int_equal(pthread_join(thread, &result), 0);
  assert_ptr_equal(result, argument);
}

static void free_blocks_come_before_untouched_memory(void **state)
{
  (void)state;
  for (int by_other = 0; by_other < 2; by_other++) {
    void *blocks[OF_PAGE + OF_SYSTEM_PAGE];
    struct hw_heap *heap = new_heap();
    fill(heap, blocks);
    if (by_other)
      run_free_blocks(heap, blocks);
    else
      assert_non_null(free_blocks((void *[]){heap, blocks}));
    for (int i = 0; i < OF_PAGE / 4; i++)
      assert_true((uintptr_t)hw_heap_alloc(heap, BYTES) - (uintptr_t)blocks[0] < OF_PAGE / 4 * BYTES);
    char *next = hw_heap_alloc(heap, BYTES);
    assert_ptr_equal(next, (char *)blocks[OF_PAGE] + OF_SYSTEM_PAGE * BYTES);
    expect_right(heap);
    hw_heap_destroy(heap);
  }
}

/* All blocks that a page of the system has are given out: the next ones are linked at once if its slice was used
 * before, by another class, and no other thread has freed any. */
static void what_was_touched_before_needs_no_slow_call(void **state)
{
  (void)state;
  struct hw_heap *heap = new_heap();
  struct hwi_owner *owner = hwi_heap_owner(heap);
  void *blocks[OF_PAGE + OF_SYSTEM_PAGE], *others[2 * OF_PAGE];
  fill(heap, blocks);
  assert_null(hwi_owner_alloc_own(owner, BYTES));
  for (int i = 0; i < 2 * OF_PAGE; i++)
    others[i] = hw_heap_alloc(heap, 2 * BYTES);
  for (int i = 0; i < 2 * OF_PAGE; i++)
    hw_heap_free(heap, others[i]);
  for (int i = 0; i < OF_PAGE; i++)
    hw_heap_alloc(heap, BYTES); /* the last ones are in a page that the others had */
  for (int i = 0; i < OF_SYSTEM_PAGE; i++)
    assert_non_null(hwi_owner_alloc_own(owner, BYTES));
  run_free_blocks(heap, blocks);
  assert_null(hwi_owner_alloc_own(owner, BYTES));
  assert_true((uintptr_t)hw_heap_alloc(heap, BYTES) - (uintptr_t)blocks[0] < OF_PAGE * BYTES);
  expect_right(heap);
  hw_heap_destroy(heap);
}

/* Returns how many pages of the system are in memory, from that of an address on. */
static int present_from(const void *address)
{
  unsigned char is_present;
  for (int count = 0;; count++) {
    void *page = (void *)(((uintptr_t)address & ~(uintptr_t)4095) + (size_t)count * 4096);
    assert_int_equal(mincore(page, 4096, &is_present), 0);
    if (!(is_present & 1))
      return count;
  }
}

/* Neither an old kernel nor an emulator can. */
static bool can_touch_ahead(void)
{
  if (!hwi_os_page_size_is_usual())
    return false;
  char *pages = hwi_os_map(4096 * 3);
  hwi_os_touch_ahead(pages, 4096 * 2);
  int count = present_from(pages);
  hwi_os_unmap(pages, 4096 * 3);
  return count == 2;
}

/* Not in the first page of each class, and not where programs may hardly write to their blocks. */
static void what_fills_pages_touches_two_of_the_system_at_once(void **state)
{
  (void)state;
  if (!can_touch_ahead())
    skip();
  struct hw_heap *heap = new_heap();
  for (int i = 0; i < OF_PAGE; i++) {
    void *block = hw_heap_alloc(heap, BYTES);
    if (i % OF_SYSTEM_PAGE == 0)
      assert_int_equal(present_from(block), 1);
  }
  assert_int_equal(present_from(hw_heap_alloc(heap, BYTES)), 2);
  for (size_t bytes = 2 * BYTES; bytes <= 1024; bytes *= 2)
    assert_int_equal(present_from(hw_heap_alloc(heap, bytes)), 1);
  for (int i = 1; i < 4 * OF_SYSTEM_PAGE; i++)
    assert_int_equal(present_from(hw_heap_alloc(heap, BYTES)), i / OF_SYSTEM_PAGE % 2 ? 1 : 2);
  for (int i = 0; i < OF_PAGE * BYTES / 3072; i++)
    hw_heap_alloc(heap, 3072);
  for (int i = 0; i < OF_PAGE * BYTES / 3072; i++) { /* some of these reach the next two pages, but none begins there */
    uintptr_t block = (uintptr_t)hw_heap_alloc(heap, 3072), end = (block + 3071) | 8191;
    assert_int_equal(present_from((void *)block), (end - (block & ~(uintptr_t)4095) + 1) / 4096);
  }
  for (int i = 0; i < 4 * OF_PAGE * BYTES / 8192 + 1; i++) /* pages of such blocks are four times as long */
    assert_int_equal(present_from(hw_heap_alloc(heap, 8192)), 1);
  hw_heap_destroy(heap);
}

/* The second arena of a heap of short blocks is the first one that may have huge pages. */
static void it_touches_two_also_where_huge_pages_would_be_good(void **state)
{
  (void)state;
  if (!can_touch_ahead())
    skip();
  struct hw_heap *heap = new_heap();
  uintptr_t first = (uintptr_t)hw_heap_alloc(heap, BYTES);
  void *block = hw_heap_alloc(heap, BYTES);
  while (((uintptr_t)block ^ first) < HWI_UNIT_BYTES)
    block = hw_heap_alloc(heap, BYTES);
  bool are_given = hwi_os_gives_huge_pages(); /* not to this process */
  assert_int_equal(hwi_unit_of(hwi_page_of(block))->huge_pages, are_given ? HWI_GETS_HUGE : HWI_MAY_BECOME_HUGE);
  assert_int_equal(present_from(block), are_given ? 1 : 2);
  hw_heap_destroy(heap);
}

/* Each size is another one that needs one unit of 4 MiB. The mapping is made shorter, longer, and for the last one it stays. */
static void a_free_large_block_is_given_out_for_another_size(void **state)
{
  (void)state;
  static const size_t sizes[] = {3 * MIB + MIB / 2, 2 * MIB + 8192, 4 * MIB - 4096, 3 * MIB + 8192};
  struct hw_heap *heap = new_heap();
  unsigned char *first = NULL;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    unsigned char *block = hw_heap_alloc_zeroed(heap, sizes[i]);
    first = first ? first : block;
    assert_ptr_equal(block, first);
    size_t expected = i < 3 ? sizes[i] : sizes[2];
    assert_int_equal(hw_heap_usable_bytes(heap, block), expected);
    for (size_t k = 0; k < sizes[i]; k++)
      assert_int_equal(block[k], 0);
    memset(block, 1, sizes[i]);
    expect_right(heap);
    assert_int_equal(hw_heap_free(heap, block), HW_HEAP_OK);
  }
  hw_heap_destroy(heap);
}

/* --- back to the system --- */

enum { MOST_BLOCKS = 700000, BLOCK_BYTES = 500 };

static void *blocks[MOST_BLOCKS];

static void allocate_range(struct hw_heap *heap, int first, int end)
{
  for (int i = first; i < end; i++)
    memset(blocks[i] = hw_heap_alloc(heap, BLOCK_BYTES), 1, BLOCK_BYTES);
}

static void free_range(struct hw_heap *heap, int first, int end)
{
  for (int i = first; i < end; i++)
    assert_int_equal(hw_heap_free(heap, blocks[i]), HW_HEAP_OK);
}

static void go_up_and_down(struct hw_heap *heap, int count)
{
  allocate_range(heap, 0, count);
  free_range(heap, 0, count);
}

/* 350 MB are free at the end. */
static void much_free_memory_goes_back_at_once(void **state)
{
  (void)state;
#ifdef HW_SANITIZED_THREAD
  skip(); /* its own memory grows with the program's, and stays */
#endif
  struct hw_heap *heap = new_heap();
  memset(blocks, 1, sizeof blocks);
  size_t before = resident_bytes();
  go_up_and_down(heap, MOST_BLOCKS);
  assert_true(resident_bytes() <= before + 12 * MIB);
  hw_heap_destroy(heap);
}

/* 50 MB stay in use of 350 MB: a tenth of them may stay free. */
static void what_stays_free_is_less_after_much(void **state)
{
  (void)state;
#ifdef HW_SANITIZED_THREAD
  skip();
#endif
  enum { STAYING = MOST_BLOCKS / 7 };
  struct hw_heap *heap = new_heap();
  memset(blocks, 1, sizeof blocks);
  size_t before = resident_bytes();
  allocate_range(heap, 0, STAYING);
  size_t in_use = resident_bytes() - before;
  allocate_range(heap, STAYING, MOST_BLOCKS);
  free_range(heap, STAYING, MOST_BLOCKS);
  assert_in_range(resident_bytes(), before, before + in_use + in_use / 10);
  hw_heap_destroy(heap);
}

static long page_faults(void)
{
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

static double now_s(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Returns for how many of the `cycles` the memory had to come from the system. *longest_s: the longest one, with its pause. */
static double cycles_with_page_faults(int cycles, int count, long pause_ms, double *longest_s)
{
  struct hw_heap *heap = new_heap();
  *longest_s = 0;
  long start = page_faults();
  go_up_and_down(heap, count);
  double first = page_faults() - start;
  assert_true(first > (double)count * BLOCK_BYTES / 4096 / 2);
  for (int i = 1; i < cycles; i++) {
    double begin_s = now_s();
    nanosleep(&(struct timespec){.tv_sec = pause_ms / 1000, .tv_nsec = pause_ms % 1000 * 1000000}, NULL);
    go_up_and_down(heap, count);
    double cycle_s = now_s() - begin_s;
    *longest_s = cycle_s > *longest_s ? cycle_s : *longest_s;
  }
  double all = page_faults() - start;
  hw_heap_destroy(heap);
  return all / first;
}

/* Returns how much more memory is in use after 50 MB were allocated and, after a pause, freed. */
static size_t kept_after(size_t return_after_ms, long pause_ms)
{
  const struct hw_heap_config config = {.return_after_ms = return_after_ms};
  struct hw_heap *heap = hw_heap_create(&config, NULL);
  memset(blocks, 1, sizeof blocks);
  size_t before = resident_bytes();
  allocate_range(heap, 0, MOST_BLOCKS / 7);
  nanosleep(&(struct timespec){.tv_nsec = pause_ms * 1000000}, NULL);
  free_range(heap, 0, MOST_BLOCKS / 7);
  size_t after = resident_bytes();
  hw_heap_destroy(heap);
  return after > before ? after - before : 0;
}

static void what_was_needed_a_moment_ago_is_kept(void **state)
{
  (void)state;
#ifdef HW_SANITIZED_THREAD
  skip();
#endif
  assert_true(kept_after(60000, 0) > 45 * MIB);
  assert_true(kept_after(1, 20) < 14 * MIB); /* the heap's clock has ticks of up to 10 ms */
}

/* 50 MB, and 350 MB: more than is kept without need. Each page is touched in the first cycle and after one mistake, and
 * hardly any page in the others. */
static void what_is_taken_again_soon_is_kept(void **state)
{
  (void)state;
  static const struct {
    int cycles, count;
    long pause_ms;
  } cases[] = {{20, MOST_BLOCKS / 7, 0}, {20, MOST_BLOCKS / 7, 60}, {6, MOST_BLOCKS, 0}};
  bool was_too_slow = false;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    double longest_s, cycles = cycles_with_page_faults(cases[i].cycles, cases[i].count, cases[i].pause_ms, &longest_s);
    bool is_too_slow = cycles >= 2.4 && longest_s > 0.8; /* of the second that is soon */
    assert_true(cycles < 2.4 || is_too_slow);
    was_too_slow |= is_too_slow;
  }
  if (was_too_slow)
    skip();
}

/* To return 350 MB and take them again costs so much that what is taken again after more than a second is soon, too. */
static void what_is_much_and_taken_again_later_is_kept(void **state)
{
  (void)state;
  double longest_s, cycles = cycles_with_page_faults(8, MOST_BLOCKS, 1100, &longest_s);
  if (cycles >= 2.4 && longest_s > 4) /* of 5.6 s, since 16 s for each GB are soon */
    skip();
  assert_true(cycles < 2.4);
}

/* Page faults are counted: each is to be of 4,096 bytes, also where the system gives huge pages by itself. */
static int without_huge_pages(void **state)
{
  (void)state;
  return prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(free_blocks_come_before_untouched_memory),
      cmocka_unit_test(what_was_touched_before_needs_no_slow_call),
      cmocka_unit_test(what_fills_pages_touches_two_of_the_system_at_once),
      cmocka_unit_test(it_touches_two_also_where_huge_pages_would_be_good),
      cmocka_unit_test(a_free_large_block_is_given_out_for_another_size),
      cmocka_unit_test(much_free_memory_goes_back_at_once),
      cmocka_unit_test(what_stays_free_is_less_after_much),
      cmocka_unit_test(what_was_needed_a_moment_ago_is_kept),
      cmocka_unit_test(what_is_taken_again_soon_is_kept),
      cmocka_unit_test(what_is_much_and_taken_again_later_is_kept),
  };
  return cmocka_run_group_tests(tests, without_huge_pages, NULL);
}
