/* test_heap_config.c - the config of a general heap: each wrong member is named, and each policy does what it says
 *
 * Breaks if a wrong config is accepted, if the wrong member is named, or if a policy has no effect or damages the heap.
 */
#include "new_heap.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "allocators/heap/layout.h"

/* --- errors --- */

static void errors_name_the_member(void **state)
{
  (void)state;
  static const size_t not_16[] = {16, 40, LARGEST}, zero[] = {0, LARGEST}, falling[] = {64, 32, LARGEST},
                      twice[] = {32, 32, LARGEST}, short_of_it[] = {16, 64}, beyond[] = {16, LARGEST, 2 * LARGEST};
  static const size_t three[] = {16, 64, LARGEST}, no_slices[] = {65536, 65537, 65536}, too_long[] = {4 * MIB},
                      none[] = {0}, many_pages[] = {1, 1, 1025}, too_many[] = {1025};
  static size_t many[HW_HEAP_MOST_CLASSES + 1];
  static const struct {
    struct hw_heap_config config;
    const char *field;
    size_t index;
  } cases[] = {
      {{.class_count = 3}, "class_count", 0},
      {{.class_bytes = not_16}, "class_count", 0},
      {{.class_bytes = many, .class_count = HW_HEAP_MOST_CLASSES + 1}, "class_count", 0},
      {{.class_bytes = not_16, .class_count = 3}, "class_bytes", 1},
      {{.class_bytes = zero, .class_count = 2}, "class_bytes", 0},
      {{.class_bytes = falling, .class_count = 3}, "class_bytes", 1},
      {{.class_bytes = twice, .class_count = 3}, "class_bytes", 1},
      {{.class_bytes = short_of_it, .class_count = 2}, "class_bytes", 1},
      {{.class_bytes = beyond, .class_count = 3}, "class_bytes", 1},
      {{.page_bytes_count = 1}, "page_bytes_count", 0},
      {{.page_bytes = no_slices}, "page_bytes_count", 0},
      {{.page_bytes = no_slices, .page_bytes_count = 3}, "page_bytes_count", 0},
      {{.class_bytes = three, .class_count = 3, .page_bytes = no_slices, .page_bytes_count = 2}, "page_bytes_count", 0},
      {{.class_bytes = three, .class_count = 3, .page_bytes = no_slices, .page_bytes_count = 3}, "page_bytes", 1},
      {{.page_bytes = too_long, .page_bytes_count = 1}, "page_bytes", 0},
      {{.page_bytes = none, .page_bytes_count = 1}, "page_bytes", 0},
      {{.thread_pages_count = 1}, "thread_pages_count", 0},
      {{.thread_pages = many_pages, .thread_pages_count = 3}, "thread_pages_count", 0},
      {{.thread_pages = too_many, .thread_pages_count = 1}, "thread_pages", 0},
      {{.class_bytes = three, .class_count = 3, .thread_pages = many_pages, .thread_pages_count = 3},
       "thread_pages",
       2},
      {{.arena_bytes = 1}, "arena_bytes", 0},
      {{.arena_bytes = 6 * MIB}, "arena_bytes", 0},
      {{.arena_bytes = (size_t)2 << 30}, "arena_bytes", 0},
      {{.arena_align_bytes = 2 * MIB}, "arena_align_bytes", 0},
      {{.arena_align_bytes = 12 * MIB}, "arena_align_bytes", 0},
      {{.arena_align_bytes = (size_t)2 << 30}, "arena_align_bytes", 0},
      {{.arena_growth_percent = 101}, "arena_growth_percent", 0},
      {{.threads = (enum hw_heap_threads)3}, "threads", 0},
      {{.threads = (enum hw_heap_threads) - 1}, "threads", 0},
      {{.lock = (enum hw_heap_lock)3}, "lock", 0},
      {{.lock = HW_HEAP_LOCK_NONE}, "lock", 0},
      {{.lock = HW_HEAP_LOCK_NONE, .threads = HW_HEAP_CENTRAL}, "lock", 0},
      {{.returns = (enum hw_heap_returns)5}, "returns", 0},
      {{.returns = HW_HEAP_RETURNS_AT_ONCE, .keep_free_bytes = 1}, "keep_free_bytes", 0},
      {{.touch = true, .keep_free_bytes = MIB}, "keep_free_bytes", 0},
      {{.returns = HW_HEAP_RETURNS_ABOVE, .return_after_ms = 1}, "return_after_ms", 0},
      {{.return_after_ms = 3600001}, "return_after_ms", 0},
      {{.pages = (enum hw_heap_pages)4}, "pages", 0},
      {{.numa_node = HW_HEAP_NODE(1024)}, "numa_node", 0},
  };
  for (size_t i = 0; i < COUNT(cases); i++) {
    struct hw_heap_error error = {0};
    assert_null(hw_heap_create(&cases[i].config, &error));
    assert_string_equal(error.field, cases[i].field);
    assert_int_equal(error.index, cases[i].index);
    assert_non_null(error.rule);
    assert_null(hw_heap_create(&cases[i].config, NULL));
  }
}

/* --- any config --- */

static const size_t few_classes[] = {16, 48, 1008, 4096, 20000, LARGEST},
                    any_pages[] = {65536, 2 * MIB, 65536, 262144, 131072, 983040}, any_spares[] = {1, 3, 0, 2, 0, 5},
                    one_page[] = {MIB}, two[] = {2};

static const struct hw_heap_config pages_of_any_size = {.class_bytes = few_classes,
                                                        .class_count = 6,
                                                        .page_bytes = any_pages,
                                                        .page_bytes_count = 6,
                                                        .thread_pages = any_spares,
                                                        .thread_pages_count = 6};

static const struct hw_heap_config configs[] = {
    {.threads = HW_HEAP_SINGLE},
    {.threads = HW_HEAP_SINGLE, .lock = HW_HEAP_LOCK_NONE, .returns = HW_HEAP_RETURNS_AT_ONCE},
    {.threads = HW_HEAP_SINGLE, .lock = HW_HEAP_LOCK_NONE, .touch = true, .arena_bytes = 8 * MIB},
    {.threads = HW_HEAP_CENTRAL, .lock = HW_HEAP_LOCK_SPINNING},
    {.class_bytes = few_classes,
     .class_count = 6,
     .page_bytes = any_pages,
     .page_bytes_count = 6,
     .thread_pages = any_spares,
     .thread_pages_count = 6},
    {.page_bytes = one_page,
     .page_bytes_count = 1,
     .thread_pages = two,
     .thread_pages_count = 1,
     .returns = HW_HEAP_RETURNS_AT_ONCE},
    {.arena_bytes = 64 * MIB, .returns = HW_HEAP_RETURNS_ABOVE, .keep_free_bytes = 3 * MIB, .check_all_frees = true},
    {.arena_align_bytes = 16 * MIB, .arena_growth_percent = 50, .returns = HW_HEAP_RETURNS_AT_ONCE},
    {.returns = HW_HEAP_RETURNS_LATER, .return_after_ms = 1, .keep_free_bytes = 1, .pages = HW_HEAP_PAGES_TRANSPARENT},
    {.pages = HW_HEAP_PAGES_SMALL},
    {.pages = HW_HEAP_PAGES_HUGE, .touch = true, .numa_node = HW_HEAP_NODE(0)},
    {.lock_memory = true, .returns = HW_HEAP_RETURNS_AT_ONCE, .threads = HW_HEAP_CENTRAL},
};

static void random_steps_in_any_config(void **state)
{
  (void)state;
  enum { STEPS = 6000, CHECK_STEPS = 1000 };
  static struct model model;
  for (size_t i = 0; i < COUNT(configs); i++) {
    model = (struct model){.heap = heap_with(&configs[i]), .seed = 88172645463325252u + i};
    for (int step = 1; step <= STEPS; step++) {
      assert_true(model_step(&model, step % 1000 ? 12 : 22));
      if (step % CHECK_STEPS == 0)
        expect_right(model.heap);
    }
    assert_true(model_free_all(&model));
    assert_int_equal(used_bytes(model.heap), 0);
    hw_heap_collect(model.heap);
    expect_right(model.heap);
    hw_heap_destroy(model.heap);
  }
}

/* Each thread frees what another one allocated. */
enum { THREADS = 4, SLOTS = 64 };

struct work {
  struct hw_heap *heap;
  unsigned char *slots[SLOTS];
  unsigned seed;
};

static void *work_in_thread(void *argument)
{
  enum { ROUNDS = 8000, BYTES = 3000 };
  struct work *work = argument;
  unsigned seed = __atomic_add_fetch(&work->seed, 12345, __ATOMIC_RELAXED);
  for (int i = 0; i < ROUNDS; i++) {
    seed = seed * 1103515245 + 12345;
    size_t bytes = 2 + (seed >> 8) % (i % 100 ? BYTES : 100 * BYTES);
    unsigned char *block = hw_heap_alloc(work->heap, bytes);
    if (!block)
      return NULL;
    block[0] = block[bytes - 1] = (unsigned char)seed;
    block[1] = bytes == 2 ? block[1] : 0;
    unsigned char *other = __atomic_exchange_n(&work->slots[seed >> 24 & (SLOTS - 1)], block, __ATOMIC_ACQ_REL);
    if (other && hw_heap_free(work->heap, other) != HW_HEAP_OK)
      return NULL;
  }
  return work;
}

static void threads_in_any_config(void **state)
{
  (void)state;
  for (size_t i = 0; i < COUNT(configs); i++) {
    if (configs[i].threads == HW_HEAP_SINGLE)
      continue;
    struct work work = {.heap = heap_with(&configs[i]), .seed = 1};
    pthread_t threads[THREADS];
    void *result;
    for (int k = 0; k < THREADS; k++)
      assert_int_equal(pthread_create(&threads[k], NULL, work_in_thread, &work), 0);
    for (int k = 0; k < THREADS; k++) {
      assert_int_equal(pthread_join(threads[k], &result), 0);
      assert_ptr_equal(result, &work);
    }
    for (int k = 0; k < SLOTS; k++)
      assert_int_equal(hw_heap_free(work.heap, work.slots[k]), HW_HEAP_OK);
    expect_right(work.heap);
    assert_int_equal(used_bytes(work.heap), 0);
    hw_heap_destroy(work.heap);
  }
}

/* --- forks --- */

static bool is_over;

static void *work_until_over(void *argument)
{
  void *result = argument;
  while (result && !__atomic_load_n(&is_over, __ATOMIC_ACQUIRE))
    result = work_in_thread(argument);
  return result;
}

/* The child has all of the heap, although other threads were in it at that moment. */
static bool use_in_child(struct hw_heap *heap, void *own)
{
  void *blocks[2000];
  for (size_t i = 0; i < COUNT(blocks); i++)
    if (!(blocks[i] = hw_heap_alloc(heap, 50 * i)))
      return false;
  for (size_t i = 0; i < COUNT(blocks); i++)
    if (hw_heap_free(heap, blocks[i]) != HW_HEAP_OK)
      return false;
  return hw_heap_free(heap, own) == HW_HEAP_OK && hw_heap_check(heap, NULL) == HW_HEAP_OK;
}

static void forks_of_heaps_without_caches(void **state)
{
  (void)state;
  enum { FORKS = 5 };
  for (size_t i = 0; i < COUNT(configs); i++) {
    if (configs[i].threads == HW_HEAP_CACHING)
      continue;
    struct work work = {.heap = heap_with(&configs[i]), .seed = 1};
    int thread_count = configs[i].threads == HW_HEAP_SINGLE ? 0 : 2;
    pthread_t threads[2];
    void *result, *own = hw_heap_alloc(work.heap, 100);
    is_over = false;
    for (int k = 0; k < thread_count; k++)
      assert_int_equal(pthread_create(&threads[k], NULL, work_until_over, &work), 0);
    for (int k = 0; k < FORKS; k++) {
      int status;
      pid_t child = fork();
      if (!child) {
        alarm(60);
        _exit(use_in_child(work.heap, own) ? 0 : 1);
      }
      assert_int_equal(waitpid(child, &status, 0), child);
      assert_int_equal(status, 0);
    }
    __atomic_store_n(&is_over, true, __ATOMIC_RELEASE);
    for (int k = 0; k < thread_count; k++) {
      assert_int_equal(pthread_join(threads[k], &result), 0);
      assert_ptr_equal(result, &work);
    }
    expect_right(work.heap);
    hw_heap_destroy(work.heap);
  }
}

/* --- classes and pages --- */

static struct hw_heap_class_stats class_stats(struct hw_heap *heap, size_t class_bytes)
{
  struct hw_heap_class_stats all[HW_HEAP_MOST_CLASSES + 1];
  size_t count = hw_heap_get_class_stats(heap, all, COUNT(all));
  assert_true(count <= COUNT(all));
  for (size_t i = 0; i < count; i++)
    if (all[i].block_bytes == class_bytes)
      return all[i];
  fail_msg("there is no class of %zu", class_bytes);
  return all[0];
}

static void figures_of_classes(void **state)
{
  (void)state;
  struct hw_heap *heap = new_heap();
  void *blocks[5000];
  for (size_t i = 0; i < COUNT(blocks); i++)
    blocks[i] = hw_heap_alloc(heap, 60);
  void *large = hw_heap_alloc(heap, 5 * MIB), *span = hw_heap_alloc(heap, 100000);
  struct hw_heap_class_stats of_64 = class_stats(heap, 64), larger = class_stats(heap, 0);
  assert_int_equal(of_64.page_count, 5);
  assert_int_equal(of_64.page_bytes, 5 * 65536);
  assert_int_equal(of_64.block_count, 5 * 1024);
  assert_int_equal(of_64.used_count, 5000);
  assert_int_equal(of_64.used_bytes, 5000 * 64);
  assert_int_equal(larger.page_count, 2);
  assert_int_equal(larger.used_bytes, 5 * MIB + 131072);
  assert_int_equal(larger.peak_used_count, 2);
  assert_int_equal(of_64.peak_used_count, 0);
  assert_int_equal(class_stats(heap, 80).page_count, 0);
  for (size_t i = 0; i < COUNT(blocks); i++)
    hw_heap_free(heap, blocks[i]);
  hw_heap_free(heap, large);
  hw_heap_free(heap, span);
  hw_heap_collect(heap);
  of_64 = class_stats(heap, 64);
  assert_int_equal(of_64.page_count, 0);
  assert_int_equal(of_64.peak_page_count, 5);
  assert_int_equal(of_64.taken_page_count, 5);
  assert_int_equal(of_64.used_count, 0);
  assert_int_equal(class_stats(heap, 0).peak_page_count, 2);
  assert_int_equal(class_stats(heap, 0).page_count, 0);
  hw_heap_free(heap, hw_heap_alloc(heap, 64));
  assert_int_equal(class_stats(heap, 64).taken_page_count, 6);
  hw_heap_free(heap, hw_heap_alloc(heap, 131072));
  assert_int_equal(class_stats(heap, 0).taken_page_count, 3);
  struct hw_heap_stats all;
  hw_heap_get_stats(heap, &all);
  assert_int_equal(all.thread_count, 1);
  assert_in_range(all.table_bytes, 1, 1 << 30);
  hw_heap_destroy(heap);
}

enum { PEAK_THREADS = 4, PEAK_BLOCKS = 700 };

struct at_peak {
  struct hw_heap *heap;
  pthread_barrier_t barrier;
};

/* All threads have the most blocks in the second round. One of them is freed twice. */
static void *have_blocks(void *argument)
{
  struct at_peak *peak = (struct at_peak *)argument;
  void *blocks[PEAK_BLOCKS];
  for (int round = 0; round < 3; round++) {
    int count = round == 1 ? PEAK_BLOCKS : PEAK_BLOCKS / 2;
    for (int i = 0; i < count; i++)
      blocks[i] = hw_heap_alloc(peak->heap, 60);
    pthread_barrier_wait(&peak->barrier);
    for (int i = 0; i < count; i++)
      hw_heap_free(peak->heap, blocks[i]);
    hw_heap_free(peak->heap, blocks[0]);
    pthread_barrier_wait(&peak->barrier);
  }
  return NULL;
}

static void the_most_blocks_at_a_time(void **state)
{
  (void)state;
  static const enum hw_heap_threads threads[] = {HW_HEAP_CACHING, HW_HEAP_CENTRAL};
  for (size_t i = 0; i < COUNT(threads); i++) {
    const struct hw_heap_config config = {.threads = threads[i], .check_all_frees = true};
    struct at_peak peak = {.heap = heap_with(&config)};
    pthread_t others[PEAK_THREADS];
    pthread_barrier_init(&peak.barrier, NULL, PEAK_THREADS);
    for (int j = 0; j < PEAK_THREADS; j++)
      assert_int_equal(pthread_create(&others[j], NULL, have_blocks, &peak), 0);
    for (int j = 0; j < PEAK_THREADS; j++)
      pthread_join(others[j], NULL);
    assert_int_equal(class_stats(peak.heap, 64).peak_used_count, PEAK_THREADS * PEAK_BLOCKS);
    assert_int_equal(class_stats(peak.heap, 80).peak_used_count, 0);
    pthread_barrier_destroy(&peak.barrier);
    hw_heap_destroy(peak.heap);
  }
}

/* With its bits, such a page has room for one block. */
static void pages_of_single_blocks_go_back(void **state)
{
  (void)state;
  enum { BLOCKS = 200 };
  static const size_t page_bytes[] = {65536};
  void *blocks[BLOCKS];
  struct hw_heap *heap =
      heap_with(&(struct hw_heap_config){.page_bytes = page_bytes, .page_bytes_count = 1, .check_all_frees = true});
  for (int i = 0; i < BLOCKS; i++)
    blocks[i] = hw_heap_alloc(heap, LARGEST);
  assert_int_equal(class_stats(heap, LARGEST).page_count, BLOCKS);
  for (int i = 0; i < BLOCKS; i++)
    assert_int_equal(hw_heap_free(heap, blocks[i]), HW_HEAP_OK);
  assert_int_equal(class_stats(heap, LARGEST).page_count, 1);
  assert_int_equal(hw_heap_check(heap, NULL), HW_HEAP_OK);
  hw_heap_destroy(heap);
}

/* In any order, and with new ones in between. */
static void heaps_come_and_go(void **state)
{
  (void)state;
  enum { HEAPS = 50, STEPS = 2000 };
  struct hw_heap *heaps[HEAPS] = {NULL};
  uint32_t seed = 1;
  for (int step = 0; step < STEPS; step++) {
    size_t i = (seed = seed * 1664525 + 1013904223) >> 16 & 0xffff;
    assert_true(hw_heap_destroy(heaps[i % HEAPS]));
    heaps[i % HEAPS] = new_heap();
    assert_non_null(hw_heap_alloc(heaps[i % HEAPS], 100));
  }
  for (int i = 0; i < HEAPS; i++)
    assert_true(hw_heap_destroy(heaps[i]));
  assert_null(hwi_heaps);
}

static void pages_have_the_size_of_their_class(void **state)
{
  (void)state;
  struct hw_heap *heap = heap_with(&pages_of_any_size);
  for (size_t i = 0; i < COUNT(few_classes); i++) {
    hw_heap_alloc(heap, few_classes[i]);
    struct hw_heap_class_stats stats = class_stats(heap, few_classes[i]);
    assert_int_equal(stats.page_count, 1);
    assert_int_equal(stats.page_bytes, any_pages[i]);
    assert_int_equal(stats.block_count, any_pages[i] / few_classes[i]);
  }
  hw_heap_destroy(heap);
}

/* Returns how many pages the thread keeps after all blocks of ten pages were freed. NULL: by default. */
static size_t kept_pages(const size_t *thread_pages)
{
  enum { BYTES = 1024, BLOCKS = 10 * 64 };
  const struct hw_heap_config config = {.thread_pages = thread_pages, .thread_pages_count = thread_pages ? 1 : 0};
  struct hw_heap *heap = heap_with(&config);
  void *blocks[BLOCKS];
  size_t kept = 0;
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < BLOCKS; i++)
      blocks[i] = hw_heap_alloc(heap, BYTES);
    assert_int_equal(class_stats(heap, BYTES).page_count, 10);
    for (int i = 0; i < BLOCKS; i++)
      hw_heap_free(heap, blocks[i * 7 % BLOCKS]);
    size_t now = class_stats(heap, BYTES).page_count;
    assert_true(round == 0 || now == kept);
    kept = now;
    expect_right(heap);
  }
  hw_heap_collect(heap);
  assert_int_equal(class_stats(heap, BYTES).page_count, 0);
  hw_heap_destroy(heap);
  return kept;
}

static void a_thread_keeps_as_many_free_pages_as_it_may(void **state)
{
  (void)state;
  assert_int_equal(kept_pages(NULL), 1);
  assert_int_equal(kept_pages(&(size_t){0}), 1); /* that from which blocks come */
  assert_int_equal(kept_pages(&(size_t){1}), 1);
  assert_int_equal(kept_pages(&(size_t){4}), 4);
  assert_int_equal(kept_pages(&(size_t){1000}), 10);
}

static size_t all_pages(struct hw_heap *heap, const size_t *sizes, size_t count)
{
  size_t pages = 0;
  for (size_t i = 0; i < count; i++)
    pages += class_stats(heap, sizes[i]).page_count;
  return pages;
}

/* Allocates and frees all blocks of a page. */
static void use_a_page(struct hw_heap *heap, size_t bytes)
{
  void *blocks[64];
  size_t count = 0;
  blocks[count++] = hw_heap_alloc(heap, bytes);
  while (count < class_stats(heap, bytes).block_count)
    blocks[count++] = hw_heap_alloc(heap, bytes);
  assert_int_equal(class_stats(heap, bytes).page_count, 1);
  while (count)
    assert_int_equal(hw_heap_free(heap, blocks[--count]), HW_HEAP_OK);
  assert_int_equal(class_stats(heap, bytes).page_count, 1);
  expect_right(heap);
}

static const size_t shared_sizes[] = {4608, 5120, 6144, 8192, 9216, 16384, 32768};
enum { SHARED_SIZES = COUNT(shared_sizes) };

/* Above 4 KiB, a thread keeps free pages by how much of them was used: half a MiB, of all classes together. */
static void classes_share_a_limit(void **state)
{
  (void)state;
  enum { USED = 2, ALL_OF_PAGE = 256 << 10, MOST = 512 << 10 };
  struct hw_heap *heap = heap_with(NULL);
  for (int round = 0; round < 3; round++) {
    for (size_t i = 0; i < SHARED_SIZES; i++)
      assert_int_equal(hw_heap_free(heap, hw_heap_alloc(heap, shared_sizes[i])), HW_HEAP_OK);
    assert_int_equal(all_pages(heap, shared_sizes, SHARED_SIZES), SHARED_SIZES);
    void *block = hw_heap_alloc(heap, shared_sizes[USED]);
    for (size_t i = 0; i < SHARED_SIZES; i++)
      if (i != USED)
        use_a_page(heap, shared_sizes[i]);
    assert_int_equal(class_stats(heap, shared_sizes[USED]).page_count, 1);
    assert_int_equal(all_pages(heap, shared_sizes, SHARED_SIZES), 1 + MOST / ALL_OF_PAGE);
    assert_int_equal(hw_heap_free(heap, block), HW_HEAP_OK);
    assert_int_equal(class_stats(heap, shared_sizes[USED]).page_count, 1);
    assert_int_equal(all_pages(heap, shared_sizes, SHARED_SIZES), MOST / ALL_OF_PAGE);
    hw_heap_collect(heap);
    assert_int_equal(all_pages(heap, shared_sizes, SHARED_SIZES), 0);
  }
  hw_heap_destroy(heap);
}

/* The page that became free last stays, also if it is larger than the limit. */
static void a_large_page_is_kept_alone(void **state)
{
  (void)state;
  static const size_t page_bytes = 2 * MIB, bytes = 32768;
  enum { BLOCKS = 40 };
  const struct hw_heap_config config = {.page_bytes = &page_bytes, .page_bytes_count = 1};
  struct hw_heap *heap = heap_with(&config);
  void *blocks[BLOCKS];
  for (int round = 0; round < 3; round++) {
    assert_int_equal(hw_heap_free(heap, hw_heap_alloc(heap, shared_sizes[0])), HW_HEAP_OK);
    for (int i = 0; i < BLOCKS; i++)
      blocks[i] = hw_heap_alloc(heap, bytes);
    for (int i = 0; i < BLOCKS; i++)
      assert_int_equal(hw_heap_free(heap, blocks[i]), HW_HEAP_OK);
    assert_int_equal(class_stats(heap, bytes).page_count, 1);
    assert_int_equal(all_pages(heap, shared_sizes, SHARED_SIZES), 1);
  }
  hw_heap_destroy(heap);
}

/* A block that is counted when it is freed needs no list that lasts for a while. */
static void a_free_block_comes_before_untouched_memory(void **state)
{
  (void)state;
  enum { BLOCKS = 17 };
  struct hw_heap *heap = heap_with(NULL);
  void *blocks[BLOCKS];
  for (int i = 0; i < BLOCKS; i++)
    blocks[i] = hw_heap_alloc(heap, 8192);
  assert_int_equal(hw_heap_free(heap, blocks[3]), HW_HEAP_OK);
  assert_ptr_equal(hw_heap_alloc(heap, 8192), blocks[3]);
  hw_heap_destroy(heap);
}

static void arenas_are_taken_together(void **state)
{
  (void)state;
  const struct hw_heap_config config = {.arena_bytes = 32 * MIB};
  struct hw_heap *heap = heap_with(&config);
  char *block = hw_heap_alloc(heap, 2 * MIB);
  size_t mapped = stats_of(heap).mapped_bytes;
  assert_true(mapped >= 32 * MIB && mapped < 33 * MIB);
  for (int i = 1; i < 16; i++)
    assert_non_null(hw_heap_alloc(heap, 2 * MIB));
  assert_int_equal(stats_of(heap).mapped_bytes, mapped);
  assert_non_null(hw_heap_alloc(heap, 2 * MIB));
  assert_int_equal(stats_of(heap).mapped_bytes, mapped + 32 * MIB);
  assert_int_equal(hw_heap_free(heap, block), HW_HEAP_OK);
  hw_heap_collect(heap);
  assert_int_equal(stats_of(heap).mapped_bytes, mapped + 32 * MIB); /* what is free now was taken together */
  hw_heap_destroy(heap);
}

/* Returns how much the heap takes for the next block that needs an arena. */
static size_t taken_next(struct hw_heap *heap)
{
  size_t mapped, before = stats_of(heap).mapped_bytes;
  do {
    assert_non_null(hw_heap_alloc(heap, 2 * MIB));
    mapped = stats_of(heap).mapped_bytes;
  } while (mapped == before);
  return mapped - before;
}

static void expect_takes(const struct hw_heap_config *config, const size_t *takes)
{
  struct hw_heap *heap = heap_with(config);
  void *first = hw_heap_alloc(heap, 2 * MIB);
  assert_in_range(stats_of(heap).mapped_bytes, takes[0] * MIB, (takes[0] + 1) * MIB);
  for (int i = 1; takes[i]; i++)
    assert_int_equal(taken_next(heap), takes[i] * MIB);
  expect_right(heap);
  assert_int_equal(hw_heap_free(heap, first), HW_HEAP_OK);
  hw_heap_destroy(heap);
}

static void arenas_grow_as_the_config_says(void **state)
{
  (void)state;
  expect_takes(&(struct hw_heap_config){.arena_growth_percent = 100}, (const size_t[]){4, 8, 16, 32, 64, 0});
  expect_takes(&(struct hw_heap_config){.arena_growth_percent = 50}, (const size_t[]){4, 8, 12, 20, 32, 48, 0});
  expect_takes(&(struct hw_heap_config){.arena_growth_percent = 1, .arena_bytes = 12 * MIB},
               (const size_t[]){12, 16, 20, 0});
  expect_takes(&(struct hw_heap_config){.arena_growth_percent = 100, .arena_bytes = 8 * MIB, .touch = true},
               (const size_t[]){8, 16, 32, 0});
  expect_takes(&(struct hw_heap_config){.arena_growth_percent = 0}, (const size_t[]){4, 4, 4, 0});
  if (sizeof(void *) == 8)
    expect_takes(&(struct hw_heap_config){.arena_growth_percent = 75, .arena_bytes = 768 * (size_t)MIB},
                 (const size_t[]){768, 1024, 1024, 0});
}

/* All blocks but the first `staying_count` are freed. */
static void expect_takes_after_frees(size_t staying_count, size_t bytes)
{
  const struct hw_heap_config config = {.arena_growth_percent = 100};
  struct hw_heap *heap = heap_with(&config);
  void *blocks[6];
  for (size_t i = 0; i < COUNT(blocks); i++)
    blocks[i] = hw_heap_alloc(heap, 2 * MIB);
  for (size_t i = staying_count; i < COUNT(blocks); i++)
    assert_int_equal(hw_heap_free(heap, blocks[i]), HW_HEAP_OK);
  hw_heap_collect(heap);
  assert_int_equal(taken_next(heap), bytes);
  for (size_t i = 0; i < staying_count; i++)
    assert_int_equal(hw_heap_free(heap, blocks[i]), HW_HEAP_OK);
  hw_heap_destroy(heap);
}

static void growth_begins_again_when_no_arena_is_in_use(void **state)
{
  (void)state;
  expect_takes_after_frees(1, 16 * MIB);
  expect_takes_after_frees(0, 4 * MIB);
}

/* --- threads --- */

static void *alloc_in_thread(void *heap)
{
  return hw_heap_alloc(heap, 1000);
}

/* Returns how many pages two threads use for a block each of one class. */
static size_t pages_of_two_threads(enum hw_heap_threads threads)
{
  const struct hw_heap_config config = {.threads = threads};
  struct hw_heap *heap = heap_with(&config);
  pthread_t thread;
  void *block, *own = hw_heap_alloc(heap, 1000);
  assert_non_null(own);
  assert_int_equal(pthread_create(&thread, NULL, alloc_in_thread, heap), 0);
  assert_int_equal(pthread_join(thread, &block), 0);
  assert_non_null(block);
  size_t pages = class_stats(heap, 1024).page_count;
  assert_int_equal(hw_heap_free(heap, block), HW_HEAP_OK);
  assert_int_not_equal(hw_heap_free(heap, block), HW_HEAP_OK);
  assert_int_equal(hw_heap_free(heap, own), HW_HEAP_OK);
  assert_int_equal(used_bytes(heap), 0);
  hw_heap_destroy(heap);
  return pages;
}

static void only_a_caching_heap_has_pages_for_each_thread(void **state)
{
  (void)state;
  assert_int_equal(pages_of_two_threads(HW_HEAP_CACHING), 2);
  assert_int_equal(pages_of_two_threads(HW_HEAP_CENTRAL), 1);
  assert_int_equal(pages_of_two_threads(HW_HEAP_SINGLE), 1);
}

/* --- the lock --- */

struct waiter {
  struct hw_heap *heap;
  pid_t tid;
};

static void *wait_for_lock(void *argument)
{
  struct waiter *waiter = argument;
  __atomic_store_n(&waiter->tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
  return hw_heap_alloc(waiter->heap, MIB);
}

/* Returns the state of a thread, and its processor time in ticks. */
static char state_of(pid_t tid, unsigned long *ticks)
{
  char path[64], state = 0;
  unsigned long user, system;
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  assert_int_equal(
      fscanf(file, "%*d (%*[^)]) %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &state, &user, &system), 3);
  fclose(file);
  *ticks = user + system;
  return state;
}

struct holder {
  struct waiter *waiter;
  pthread_t thread;
  bool spins, did_sleep;
};

/* Called with the lock. Waits until the other thread sleeps, or has used the processor for a while. */
static bool hold_lock(void *context, void *block, size_t bytes)
{
  (void)block, (void)bytes;
  enum { MOST_TICKS = 5 };
  struct holder *holder = context;
  unsigned long ticks = 0;
  assert_int_equal(pthread_create(&holder->thread, NULL, wait_for_lock, holder->waiter), 0);
  for (;;) {
    usleep(1000);
    pid_t tid = __atomic_load_n(&holder->waiter->tid, __ATOMIC_ACQUIRE);
    char state = tid ? state_of(tid, &ticks) : 0;
    holder->did_sleep |= state == 'S' && (ticks > 0 || !holder->spins);
    if (ticks >= MOST_TICKS || (holder->did_sleep && !holder->spins))
      break;
  }
  return false;
}

static void a_spinning_thread_does_not_sleep(void **state)
{
  (void)state;
  for (int spins = 0; spins < 2; spins++) {
    const struct hw_heap_config config = {.lock = spins ? HW_HEAP_LOCK_SPINNING : HW_HEAP_LOCK_ADAPTIVE};
    struct waiter waiter = {.heap = heap_with(&config)};
    struct holder holder = {.waiter = &waiter, .spins = spins};
    void *block = NULL;
    assert_non_null(hw_heap_alloc(waiter.heap, 1));
    hw_heap_walk(waiter.heap, hold_lock, &holder);
    assert_int_equal(pthread_join(holder.thread, &block), 0);
    assert_non_null(block);
    assert_int_equal(holder.did_sleep, !spins);
    hw_heap_destroy(waiter.heap);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(errors_name_the_member),
      cmocka_unit_test(random_steps_in_any_config),
      cmocka_unit_test(threads_in_any_config),
      cmocka_unit_test(forks_of_heaps_without_caches),
      cmocka_unit_test(figures_of_classes),
      cmocka_unit_test(the_most_blocks_at_a_time),
      cmocka_unit_test(pages_of_single_blocks_go_back),
      cmocka_unit_test(heaps_come_and_go),
      cmocka_unit_test(pages_have_the_size_of_their_class),
      cmocka_unit_test(a_thread_keeps_as_many_free_pages_as_it_may),
      cmocka_unit_test(classes_share_a_limit),
      cmocka_unit_test(a_large_page_is_kept_alone),
      cmocka_unit_test(a_free_block_comes_before_untouched_memory),
      cmocka_unit_test(arenas_are_taken_together),
      cmocka_unit_test(arenas_grow_as_the_config_says),
      cmocka_unit_test(growth_begins_again_when_no_arena_is_in_use),
      cmocka_unit_test(only_a_caching_heap_has_pages_for_each_thread),
      cmocka_unit_test(a_spinning_thread_does_not_sleep),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
