/* test_heap_memory.c - the memory that a general heap has from the system: when it goes back, and what its pages are
 *
 * Breaks if memory does not go back when the config says so, or goes back before, if a destroyed heap leaves memory behind, also in
 * what its threads know of it, or if its pages are not as the config wants them.
 */
#include "mappings.h"
#include "new_heap.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* --- when memory goes back --- */

/* Returns how much more is resident, in MiB, after 40 MiB of blocks were freed; *after_collect: and after hw_heap_collect. */
static size_t staying_mib(const struct hw_heap_config *config, size_t *after_collect)
{
  enum { BYTES = 32000, BLOCKS = 40 * MIB / BYTES };
  static void *blocks[BLOCKS];
  struct hw_heap *heap = heap_with(config);
  hw_heap_alloc(heap, BYTES);
  size_t before = resident_bytes();
  for (int i = 0; i < BLOCKS; i++)
    memset(blocks[i] = hw_heap_alloc(heap, BYTES), 1, BYTES);
  assert_true(resident_bytes() >= before + 39 * MIB);
  for (int i = 0; i < BLOCKS; i++)
    hw_heap_free(heap, blocks[i]);
  size_t stays = resident_bytes();
  hw_heap_collect(heap);
  *after_collect = resident_bytes();
  *after_collect = *after_collect > before ? (*after_collect - before) / MIB : 0;
  hw_heap_destroy(heap);
  return stays > before ? (stays - before) / MIB : 0;
}

/* Some of a sanitizer's own memory would be in huge pages, at any moment. */
static int keep_sanitizers_small(void **state)
{
  (void)state;
#ifdef HW_SANITIZED
  prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
#endif
  return 0;
}

static int allow_huge_pages(void **state)
{
  (void)state;
  prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
  return 0;
}

static void memory_goes_back_when_the_config_says(void **state)
{
  (void)state;
#ifdef HW_SANITIZED_THREAD
  skip(); /* its own memory grows with the program's */
#endif
  static const struct {
    struct hw_heap_config config;
    size_t least_mib, most_mib;
  } cases[] = {
      {{.returns = HW_HEAP_RETURNS_AT_ONCE}, 0, 1},
      {{.returns = HW_HEAP_RETURNS_ABOVE, .keep_free_bytes = 10 * MIB}, 9, 11},
      {{.returns = HW_HEAP_RETURNS_ABOVE}, 1, 3},
      {{.returns = HW_HEAP_RETURNS_ON_COLLECT}, 39, 41},
      {{.returns = HW_HEAP_RETURNS_LATER, .return_after_ms = 3600000, .keep_free_bytes = 20 * MIB}, 39, 41},
  };
  for (size_t i = 0; i < COUNT(cases); i++) {
    size_t after_collect, mib = staying_mib(&cases[i].config, &after_collect);
    assert_in_range(mib, cases[i].least_mib, cases[i].most_mib);
    assert_in_range(after_collect, 0, 1);
  }
}

/* The same span is given back again and again; after the time has passed, what was not needed is returned. */
static void memory_goes_back_after_a_time(void **state)
{
  (void)state;
  const struct hw_heap_config config = {.return_after_ms = 1, .keep_free_bytes = MIB};
  struct hw_heap *heap = heap_with(&config);
  void *first = hw_heap_alloc(heap, MIB), *second = hw_heap_alloc(heap, 2 * MIB);
  memset(second, 1, 2 * MIB);
  hw_heap_free(heap, second);
  unsigned char is_resident = 1;
  for (int i = 0; i < 10000 && is_resident & 1; i++) {
    memset(first, 1, MIB);
    hw_heap_free(heap, first);
    usleep(1000);
    first = hw_heap_alloc(heap, MIB);
    assert_int_equal(mincore((void *)((uintptr_t)second + 2 * MIB - 4096), 4096, &is_resident), 0);
  }
  assert_false(is_resident & 1);
  hw_heap_destroy(heap);
}

static void use_heaps(int count)
{
  struct hw_heap *heaps[8];
  for (int i = 0; i < count; i++) {
    heaps[i] = new_heap();
    for (size_t bytes = 1; bytes <= 4 * MIB; bytes *= 2)
      for (int k = 0; k < 10; k++)
        memset(hw_heap_alloc(heaps[i], bytes), 1, bytes);
    expect_right(heaps[i]);
  }
  for (int i = 0; i < count; i++)
    hw_heap_destroy(heaps[i]);
  hw_heap_destroy(NULL);
}

static void a_destroyed_heap_leaves_nothing(void **state)
{
  (void)state;
#ifdef HW_SANITIZED_THREAD
  skip(); /* its own mappings grow */
#endif
  size_t mapped, resident, mapped_after, resident_after;
  enum { SLACK_PAGES = 512, REMEMBERED = 4096 };
  for (int i = 0; i < REMEMBERED; i++) /* address space for each of the heaps that were destroyed last stays, */
    assert_true(hw_heap_destroy(new_heap()));
  for (int i = 0; i < 2; i++)
    use_heaps(8); /* and the table of descriptors */
  process_pages(&mapped, &resident);
  for (int i = 0; i < 5; i++)
    use_heaps(8);
  process_pages(&mapped_after, &resident_after);
  assert_true(mapped_after <= mapped);
  assert_true(resident_after <= resident + SLACK_PAGES);
}

static void free_memory_goes_back(void **state)
{
  (void)state;
#ifdef HW_SANITIZED_THREAD
  skip(); /* its own memory grows with the program's, and stays */
#endif
  enum { BLOCKS = 200000, BYTES = 500, ALL_PAGES = BLOCKS / 4096 * BYTES };
  static void *blocks[BLOCKS];
  struct hw_heap *heap = new_heap();
  size_t mapped, before, full, after;
  process_pages(&mapped, &before);
  for (int i = 0; i < BLOCKS; i++)
    memset(blocks[i] = hw_heap_alloc(heap, BYTES), 1, BYTES);
  process_pages(&mapped, &full);
  for (int i = 0; i < BLOCKS; i++)
    hw_heap_free(heap, blocks[i]);
  hw_heap_collect(heap);
  process_pages(&mapped, &after);
  assert_true(full >= before + ALL_PAGES);
  assert_true(after <= before + ALL_PAGES / 20);
  assert_int_equal(used_bytes(heap), 0);
  hw_heap_destroy(heap);
}

/* --- heaps that come and go --- */

enum { FIRST_HEAPS = 5000, MORE_HEAPS = 20000, PERMANENT = 300, CLOSE_PAGES = 16 };

static void use_and_destroy(int count)
{
  for (int i = 0; i < count; i++) {
    struct hw_heap *heap = new_heap();
    assert_non_null(hw_heap_alloc(heap, 100));
    assert_true(hw_heap_destroy(heap));
  }
}

/* A thread that makes a heap for each request needs no memory for those of earlier requests, and finds itself in the heaps that stay. */
static void what_a_thread_has_of_destroyed_heaps_is_bounded(void **state)
{
  (void)state;
  static struct hw_heap *permanent[PERMANENT];
  size_t before, after, resident;
  for (int i = 0; i < PERMANENT; i++) {
    permanent[i] = new_heap();
    assert_non_null(hw_heap_alloc(permanent[i], 100));
    use_and_destroy(1);
  }
  use_and_destroy(FIRST_HEAPS);
  process_pages(&before, &resident);
  use_and_destroy(MORE_HEAPS);
  process_pages(&after, &resident);
  assert_true(after <= before + CLOSE_PAGES);
  for (int i = 0; i < PERMANENT; i++) {
    assert_non_null(hw_heap_alloc(permanent[i], 100));
    assert_int_equal(stats_of(permanent[i]).thread_count, 1);
    assert_true(hw_heap_destroy(permanent[i]));
  }
}

/* Also what was written of them before, and read after that. */
static void heaps_that_were_destroyed_need_no_memory(void **state)
{
  (void)state;
  enum { REMEMBERED = 4096, AT_A_TIME = 16, ROUNDS = 4, CLOSE_MAPPINGS = 64, SLACK_PAGES = 256 };
  struct hw_heap *heaps[AT_A_TIME];
  size_t mapped = 0, resident = 0, mapped_after, resident_after;
  int count = 0;
  for (int i = 0; i < ROUNDS * REMEMBERED; i += AT_A_TIME) {
    if (i == REMEMBERED) {
      process_pages(&mapped, &resident);
      count = mapping_count();
    }
    for (int k = 0; k < AT_A_TIME; k++)
      assert_non_null(hw_heap_alloc(heaps[k] = new_heap(), 100));
    for (int k = 0; k < AT_A_TIME; k++)
      assert_true(hw_heap_destroy(heaps[k]));
  }
  process_pages(&mapped_after, &resident_after);
  assert_true(mapped_after <= mapped + SLACK_PAGES);
  assert_true(resident_after <= resident + SLACK_PAGES);
  assert_true(mapping_count() <= count + CLOSE_MAPPINGS);
  assert_int_equal(smaps_kib(heaps[0], "Private_Dirty:") + smaps_kib(heaps[0], "Anonymous:"), 0);
  assert_int_equal(hw_heap_check(heaps[0], NULL), HW_HEAP_DESTROYED);
  assert_int_equal(smaps_kib(heaps[0], "Private_Dirty:"), 0);
}

/* --- pages of the system --- */

/* Returns the system's setting, for example "always [madvise] never"; "[never]" if it has none. */
static const char *huge_page_setting(void)
{
  static char text[64];
  FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");
  bool has = file && fgets(text, sizeof text, file);
  if (file)
    fclose(file);
  return has ? text : "[never]";
}

static bool has_huge_pages(void)
{
  return !strstr(huge_page_setting(), "[never]");
}

static void huge_pages_are_asked_for(void **state)
{
  (void)state;
  static const enum hw_heap_pages pages[] = {HW_HEAP_PAGES_TRANSPARENT, HW_HEAP_PAGES_HUGE};
  for (size_t i = 0; i < COUNT(pages); i++) {
    const struct hw_heap_config config = {.pages = pages[i]};
    struct hw_heap *heap = heap_with(&config);
    void *block = hw_heap_alloc(heap, 100), *large = hw_heap_alloc(heap, 5 * MIB);
    memset(block, 1, 100);
    bool is_reserved = smaps_kib(block, "KernelPageSize:") == 2048;
    assert_true(is_reserved || !has_huge_pages() || strstr(flags_of(block), " hg"));
    assert_false(is_reserved && pages[i] == HW_HEAP_PAGES_TRANSPARENT);
    assert_true(!has_huge_pages() || strstr(flags_of(large), " hg"));
    assert_int_equal(hw_heap_usable_bytes(heap, large), 6 * MIB);
    assert_int_equal(hw_heap_good_bytes(heap, 5 * MIB), 6 * MIB);
    hw_heap_destroy(heap);
  }
}

/* Parts of reserved huge pages do not go back, and the kernel may say that they did. */
static void memory_of_reserved_pages_is_written_again(void **state)
{
  (void)state;
  enum { BYTES = 1 * MIB, BLOCKS = 8 };
  static const enum hw_heap_returns returns[] = {HW_HEAP_RETURNS_AT_ONCE, HW_HEAP_RETURNS_ON_COLLECT};
  for (size_t i = 0; i < COUNT(returns); i++) {
    const struct hw_heap_config config = {.pages = HW_HEAP_PAGES_HUGE, .returns = returns[i]};
    struct hw_heap *heap = heap_with(&config);
    unsigned char *blocks[BLOCKS];
    for (int at = 0; at < BLOCKS; at++) {
      assert_non_null(blocks[at] = hw_heap_alloc(heap, BYTES));
      memset(blocks[at], at + 1, BYTES);
    }
    if (smaps_kib(blocks[0], "KernelPageSize:") != 2048) {
      hw_heap_destroy(heap);
      print_message("no huge pages are reserved\n");
      skip();
    }
    for (int at = 0; at < BLOCKS; at += 2)
      assert_int_equal(hw_heap_free(heap, blocks[at]), HW_HEAP_OK);
    hw_heap_collect(heap);
    for (int at = 0; at < BLOCKS; at++) {
      unsigned char *block = at % 2 ? blocks[at] : hw_heap_alloc_zeroed(heap, BYTES);
      const int value = at % 2 ? at + 1 : 0;
      assert_non_null(block);
      for (size_t byte = 0; byte < BYTES; byte++)
        assert_int_equal(block[byte], value);
    }
    hw_heap_destroy(heap);
  }
}

static bool refuses_huge_pages(const void *block)
{
  return strstr(flags_of(block), " nh");
}

static void a_small_heap_refuses_huge_pages(void **state)
{
  (void)state;
  if (!has_huge_pages())
    skip();
  struct hw_heap *heap = new_heap();
  void *large = hw_heap_alloc(heap, 5 * MIB), *last = NULL;
  assert_true(refuses_huge_pages(hw_heap_alloc(heap, 100)));
  assert_true(refuses_huge_pages(large));
  assert_true(refuses_huge_pages(hw_heap_alloc(heap, 7 * MIB)));
  assert_false(refuses_huge_pages(hw_heap_alloc(heap, 8 * MIB)));
  assert_non_null(large = hw_heap_realloc(heap, large, 20 * MIB));
  assert_int_equal(refuses_huge_pages(large), !strstr(huge_page_setting(), "[always]"));
  for (int i = 0; i < 260; i++)
    last = hw_heap_alloc(heap, MIB);
  large = hw_heap_alloc(heap, 5 * MIB);
  assert_false(refuses_huge_pages(last) || strstr(flags_of(last), " hg"));
  assert_false(refuses_huge_pages(large) || strstr(flags_of(large), " hg"));
  hw_heap_destroy(heap);
}

/* Allocates so many bytes in such blocks. Returns whether the last one refuses huge pages. */
static bool refuses_after(struct hw_heap *heap, size_t block_bytes, size_t bytes)
{
  void *last = NULL;
  for (size_t i = 0; i < bytes / block_bytes; i++)
    last = hw_heap_alloc(heap, block_bytes);
  return refuses_huge_pages(last);
}

static void huge_pages_are_for_memory_that_is_used(void **state)
{
  (void)state;
  static const struct {
    size_t block_bytes, mib;
    bool refuses;
  } cases[] = {{100, 3, true}, {100, 8, false}, {4096, 8, false}, {5000, 40, true}, {64 * 1024, 40, true}};
  if (!has_huge_pages())
    skip();
  for (size_t i = 0; i < COUNT(cases); i++) {
    struct hw_heap *heap = new_heap();
    assert_int_equal(refuses_after(heap, cases[i].block_bytes, cases[i].mib * MIB), cases[i].refuses);
    hw_heap_destroy(heap);
  }
}

struct many_classes {
  struct hw_heap *heap;
  size_t largest;
  pthread_barrier_t have_blocks;
};

static void *have_a_block_of_each_class(void *argument)
{
  struct many_classes *test = argument;
  for (size_t bytes = 16; bytes && bytes <= test->largest; bytes = hw_heap_good_bytes(test->heap, bytes + 1))
    hw_heap_alloc(test->heap, bytes);
  pthread_barrier_wait(&test->have_blocks);
  return NULL;
}

/* Returns a heap in which so many threads have a block of each class. */
static struct hw_heap *heap_of_threads(unsigned thread_count, size_t largest)
{
  enum { MOST_THREADS = 64 };
  struct many_classes test = {.heap = new_heap(), .largest = largest};
  pthread_t threads[MOST_THREADS];
  assert_int_equal(pthread_barrier_init(&test.have_blocks, NULL, thread_count), 0);
  for (unsigned i = 0; i < thread_count; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, have_a_block_of_each_class, &test), 0);
  for (unsigned i = 0; i < thread_count; i++)
    assert_int_equal(pthread_join(threads[i], NULL), 0);
  pthread_barrier_destroy(&test.have_blocks);
  return test.heap;
}

/* Eight threads with a block of each of 30 classes have 15 MiB of pages, most of them not touched; 64 with one of all classes have 360. */
static void pages_of_many_threads_are_hardly_used(void **state)
{
  (void)state;
  if (!has_huge_pages())
    skip();
  struct hw_heap *heap = heap_of_threads(8, 4096);
  assert_true(refuses_after(heap, 100, 10 * MIB));
  assert_false(refuses_after(heap, 100, 30 * MIB));
  hw_heap_destroy(heap);
  heap = heap_of_threads(64, HW_HEAP_LARGEST_CLASS_BYTES);
  assert_true(stats_of(heap).mapped_bytes >= 300 * MIB);
  assert_true(refuses_after(heap, MIB, 100 * MIB));
  assert_false(refuses_after(heap, MIB, 200 * MIB));
  hw_heap_destroy(heap);
}

/* The system would give huge pages for what went back, because blocks around it are still there. */
static void what_goes_back_has_small_pages(void **state)
{
  (void)state;
  enum { BLOCKS = 400000, GOES_BACK = 4000 };
  static void *blocks[BLOCKS];
  const struct hw_heap_config config = {.returns = HW_HEAP_RETURNS_AT_ONCE};
  if (!has_huge_pages())
    skip();
  struct hw_heap *heap = heap_with(&config);
  for (int i = 0; i < BLOCKS; i++)
    blocks[i] = hw_heap_alloc(heap, 100);
  assert_false(refuses_huge_pages(blocks[BLOCKS - 1]));
  for (int i = BLOCKS - 2 * GOES_BACK; i < BLOCKS - GOES_BACK; i++)
    hw_heap_free(heap, blocks[i]);
  assert_int_equal(refuses_huge_pages(blocks[BLOCKS - 1]), !!strstr(huge_page_setting(), "[always]"));
  assert_false(refuses_huge_pages(blocks[BLOCKS / 4 * 3]));
  hw_heap_destroy(heap);
}

static void huge_pages_are_refused(void **state)
{
  (void)state;
  const struct hw_heap_config config = {.pages = HW_HEAP_PAGES_SMALL};
  if (!has_huge_pages())
    skip();
  struct hw_heap *heap = heap_with(&config);
  assert_true(refuses_after(heap, 100, 40 * MIB));
  assert_true(refuses_after(heap, MIB, 260 * MIB));
  assert_true(refuses_huge_pages(hw_heap_alloc(heap, 16 * MIB)));
  hw_heap_destroy(heap);
}

/* Returns whether a line of smaps has all bytes of the mapping of the block: that is of the heap, and perhaps of more blocks. */
static bool is_whole(const void *block, const char *line)
{
  return smaps_kib(block, line) == smaps_kib(block, "Size:");
}

static void memory_is_touched_in_advance(void **state)
{
  (void)state;
  const struct hw_heap_config config = {.touch = true};
  struct hw_heap *heap = heap_with(&config);
  unsigned char *block = hw_heap_alloc_zeroed(heap, 100000), *large = hw_heap_alloc(heap, 6 * MIB);
  assert_true(is_whole(block, "Rss:") && is_whole(large, "Rss:"));
  large = hw_heap_realloc(heap, large, 9 * MIB);
  assert_true(is_whole(large, "Rss:"));
  assert_int_equal(block[99999], 0);
  assert_int_equal(hw_heap_free(heap, block), HW_HEAP_OK);
  assert_true(is_whole(block, "Rss:")); /* what is touched in advance does not go back by itself */
  hw_heap_destroy(heap);
}

static void memory_is_locked(void **state)
{
  (void)state;
  const struct hw_heap_config config = {.lock_memory = true};
  struct rlimit limit;
  assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &limit), 0);
  if (limit.rlim_cur < 16 * MIB && geteuid() != 0)
    skip();
  struct hw_heap *heap = heap_with(&config);
  void *block = hw_heap_alloc(heap, 100), *large = hw_heap_alloc(heap, 6 * MIB);
  assert_true(is_whole(block, "Locked:") && is_whole(large, "Locked:"));
  hw_heap_destroy(heap);
}

/* Returns the policy of the mapping of an address, as in numa_maps; "" if the kernel does not say. */
static const char *policy_of(const void *address)
{
  static char line[4096];
  FILE *file = fopen("/proc/self/numa_maps", "r");
  bool is_found = false;
  while (file && !is_found && fgets(line, sizeof line, file))
    is_found = strtoul(line, NULL, 16) == (uintptr_t)address;
  if (file)
    fclose(file);
  return is_found ? line : "";
}

static void memory_is_of_a_node(void **state)
{
  (void)state;
  const struct hw_heap_config config = {.numa_node = HW_HEAP_NODE(0)};
  struct hw_heap *heap = heap_with(&config);
  char *large = hw_heap_alloc(heap, 6 * MIB);
  memset(large, 1, 6 * MIB);
  unsigned long nodes[16] = {1};
  void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  bool may_choose = syscall(SYS_mbind, page, 4096, 1, nodes, 1025, 0) == 0;
  munmap(page, 4096);
  if (may_choose && *policy_of(large))
    assert_non_null(strstr(policy_of(large), "prefer:0"));
  assert_int_equal(hw_heap_free(heap, large), HW_HEAP_OK);
  hw_heap_destroy(heap);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(memory_goes_back_when_the_config_says, keep_sanitizers_small, allow_huge_pages),
      cmocka_unit_test_setup_teardown(a_destroyed_heap_leaves_nothing, keep_sanitizers_small, allow_huge_pages),
      cmocka_unit_test_setup_teardown(free_memory_goes_back, keep_sanitizers_small, allow_huge_pages),
      cmocka_unit_test(memory_goes_back_after_a_time),
      cmocka_unit_test(what_a_thread_has_of_destroyed_heaps_is_bounded),
      cmocka_unit_test(heaps_that_were_destroyed_need_no_memory),
      cmocka_unit_test(huge_pages_are_asked_for),
      cmocka_unit_test(memory_of_reserved_pages_is_written_again),
      cmocka_unit_test(a_small_heap_refuses_huge_pages),
      cmocka_unit_test(huge_pages_are_for_memory_that_is_used),
      cmocka_unit_test(pages_of_many_threads_are_hardly_used),
      cmocka_unit_test(what_goes_back_has_small_pages),
      cmocka_unit_test(huge_pages_are_refused),
      cmocka_unit_test(memory_is_touched_in_advance),
      cmocka_unit_test(memory_is_locked),
      cmocka_unit_test(memory_is_of_a_node),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
