/* test_heap_threads.c - a general heap used by many threads: frees by other threads, ended threads, forks
 *
 * Breaks if a block that another thread frees is lost or given out twice, if the memory of ended threads is not used
 * again, if short threads make a heap grow, or if a child of a fork has a damaged heap.
 */
#include "new_heap.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 6 };

#ifdef HW_SANITIZED_THREAD
/* In a child of a fork, its parent's threads have not been joined. */
const char *__tsan_default_options(void);

const char *__tsan_default_options(void)
{
  return "report_thread_leaks=0";
}
#endif

/* Everything was freed, and all threads have ended. */
static void expect_empty(struct hw_heap *heap)
{
  hw_heap_collect(heap);
  assert_int_equal(hw_heap_check(heap, NULL), HW_HEAP_OK);
  assert_int_equal(stats_of(heap).used_bytes, 0);
}

static void run_thread(void *(*body)(void *), void *argument, void *expected)
{
  pthread_t thread;
  void *result;
  assert_int_equal(pthread_create(&thread, NULL, body, argument), 0);
  assert_int_equal(pthread_join(thread, &result), 0);
  assert_ptr_equal(result, expected);
}

/* --- figures --- */

static void *allocate_and_free(void *heap)
{
  enum { BLOCKS = 3000, BYTES = 5000 };
#ifdef HW_SANITIZED_THREAD
  enum { ROUNDS = 2 };
#else
  enum { ROUNDS = 60 };
#endif
  static __thread void *blocks[BLOCKS];
  for (int round = 0; round < ROUNDS; round++) {
    for (int i = 0; i < BLOCKS; i++)
      blocks[i] = hw_heap_alloc(heap, 1 + (size_t)i * 37 % BYTES);
    for (int i = 0; i < BLOCKS; i++)
      hw_heap_free(heap, blocks[i]);
    hw_heap_collect(heap); /* pages come and go */
  }
  return heap;
}

/* They are those of a moment ago, also of pages that are just being made. */
static void figures_while_threads_allocate(void **state)
{
  (void)state;
  enum { ALLOCATING = 3 };
  struct hw_heap *heap = new_heap();
  pthread_t threads[ALLOCATING];
  for (int i = 0; i < ALLOCATING; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, allocate_and_free, heap), 0);
  for (int i = 0; i < ALLOCATING; i++)
    while (pthread_tryjoin_np(threads[i], NULL) == EBUSY) {
      struct hw_heap_stats stats = stats_of(heap);
      assert_in_range(stats.used_bytes, 0, stats.peak_mapped_bytes);
    }
  expect_empty(heap);
  assert_true(hw_heap_destroy(heap));
}

/* --- all at once --- */

static atomic_bool is_over;
static struct hw_heap *central_heap;

static void *churn(void *heap)
{
  static atomic_uint seeds;
  struct model *model = calloc(1, sizeof *model);
  model->heap = heap;
  model->seed = 88172645463325252u + ++seeds;
  bool is_right = true;
  for (int i = 0; i < 30000 && is_right; i++)
    is_right = model_step(model, 16);
  is_right = is_right && model_free_all(model);
  free(model);
  return is_right ? heap : NULL;
}

static void threads_do_not_disturb_each_other(void **state)
{
  (void)state;
  struct hw_heap *heap = new_heap();
  pthread_t threads[THREADS];
  void *result;
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, churn, heap), 0);
  for (int i = 0; i < THREADS; i++) {
    pthread_join(threads[i], &result);
    assert_ptr_equal(result, heap);
  }
  expect_empty(heap);
  hw_heap_destroy(heap);
}

/* --- frees by other threads ---
 *
 * Each thread puts blocks into slots that all threads share, and frees what it finds there. */

enum { SLOTS = 512 };

struct exchange {
  struct hw_heap *heap;
  int round_count;
  _Atomic(uint32_t *) slots[SLOTS];
  atomic_uint seeds;
};

static bool free_slot(struct exchange *exchange, uint32_t *block)
{
  return !block || (block[1] == ~block[0] && hw_heap_free(exchange->heap, block) == HW_HEAP_OK);
}

static void *exchange_blocks(void *argument)
{
  struct exchange *exchange = argument;
  uint32_t seed = 2463534242u + ++exchange->seeds;
  for (int i = 0; i < exchange->round_count; i++) {
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    size_t bytes = 16 + seed % (1u << seed % 15);
    uint32_t *block = hw_heap_alloc(exchange->heap, i % 500 ? bytes : 100 * bytes);
    if (!block)
      return NULL;
    block[0] = seed;
    block[1] = ~seed;
    if (!free_slot(exchange, atomic_exchange(&exchange->slots[seed % SLOTS], block)))
      return NULL;
  }
  return argument;
}

static void free_slots_and_destroy(struct exchange *exchange)
{
  for (int i = 0; i < SLOTS; i++)
    assert_true(free_slot(exchange, atomic_exchange(&exchange->slots[i], NULL)));
  expect_empty(exchange->heap);
  hw_heap_destroy(exchange->heap);
}

static void blocks_are_freed_by_other_threads(void **state)
{
  (void)state;
  static struct exchange exchange;
  exchange.heap = new_heap();
  exchange.round_count = 60000;
  pthread_t threads[THREADS];
  void *result;
  for (int round = 0; round < 2; round++) { /* the second one begins with the memory of ended threads */
    for (int i = 0; i < THREADS; i++)
      assert_int_equal(pthread_create(&threads[i], NULL, exchange_blocks, &exchange), 0);
    for (int i = 0; i < THREADS; i++) {
      pthread_join(threads[i], &result);
      assert_ptr_equal(result, &exchange);
    }
    assert_int_equal(hw_heap_check(exchange.heap, NULL), HW_HEAP_OK);
  }
  free_slots_and_destroy(&exchange);
}

/* `block` is of `bytes` bytes. */
static void ask_all(struct hw_heap *heap, void *block, size_t bytes, int fd)
{
  struct hw_heap_class_stats rows[HW_HEAP_MOST_CLASSES + 1];
  struct hw_heap_stats stats = stats_of(heap);
  size_t count = hw_heap_get_class_stats(heap, rows, COUNT(rows));
  assert_in_range(stats.used_bytes, 0, stats.peak_mapped_bytes);
  for (size_t i = 0; i < count; i++)
    assert_in_range(rows[i].used_count, 0, rows[i].block_count);
  hw_heap_print_stats(heap, fd);
  assert_int_equal(hw_heap_usable_bytes(heap, block), hw_heap_good_bytes(heap, bytes));
  hw_heap_collect(heap);
}

/* The thread sanitizer reported races: the lists of free blocks were read while their threads changed them. */
static void figures_while_threads_free_each_others_blocks(void **state)
{
  (void)state;
  enum { EXCHANGING = 4, BYTES = 100 };
  static const struct hw_heap_config configs[] = {{0}, {.threads = HW_HEAP_CENTRAL}, {.check_all_frees = true}};
  int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
  for (size_t i = 0; i < COUNT(configs); i++) {
    static struct exchange exchange;
    pthread_t threads[EXCHANGING];
    void *result;
    exchange.heap = heap_with(&configs[i]);
    exchange.round_count = 5000;
    void *block = hw_heap_alloc(exchange.heap, BYTES);
    for (int j = 0; j < EXCHANGING; j++)
      assert_int_equal(pthread_create(&threads[j], NULL, exchange_blocks, &exchange), 0);
    for (int j = 0; j < EXCHANGING; j++) {
      while (pthread_tryjoin_np(threads[j], &result) == EBUSY)
        ask_all(exchange.heap, block, BYTES, fd);
      assert_ptr_equal(result, &exchange);
    }
    assert_int_equal(hw_heap_free(exchange.heap, block), HW_HEAP_OK);
    free_slots_and_destroy(&exchange);
  }
  close(fd);
}

/* A page gets back what its thread frees, and what another thread frees, whichever is more. `own` and `others` are parts of its blocks. */
struct part {
  struct hw_heap *heap;
  void **blocks;
  int count;
};

static void *free_part(void *argument)
{
  const struct part *part = argument;
  for (int i = 0; i < part->count; i++)
    if (hw_heap_free(part->heap, part->blocks[i]) != HW_HEAP_OK)
      return NULL;
  return argument;
}

static int compare_addresses(const void *a, const void *b)
{
  uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;
  return (x > y) - (x < y);
}

static void expect_page_gets_back(int own, int others)
{
  enum { OF_PAGE = 512, ALL = 2 * OF_PAGE, BYTES = 128 };
  struct hw_heap *heap = new_heap();
  static void *blocks[ALL], *again[ALL];
  for (int i = 0; i < ALL; i++) /* the thread now allocates from the second page */
    blocks[i] = hw_heap_alloc(heap, BYTES);
  struct part by_thread = {heap, blocks, own}, by_other = {heap, blocks + own, others};
  assert_ptr_equal(free_part(&by_thread), &by_thread);
  run_thread(free_part, &by_other, &by_other);
  assert_int_equal(used_bytes(heap), (ALL - own - others) * BYTES);
  hw_heap_collect(heap); /* both are there when they are joined */
  expect_right(heap);
  assert_int_equal(used_bytes(heap), (ALL - own - others) * BYTES);
  for (int i = 0; i < own + others; i++)
    again[i] = hw_heap_alloc(heap, BYTES);
  qsort(blocks, (size_t)(own + others), sizeof *blocks, compare_addresses);
  qsort(again, (size_t)(own + others), sizeof *again, compare_addresses);
  assert_memory_equal(again, blocks, (size_t)(own + others) * sizeof *blocks);
  expect_right(heap);
  for (int i = 0; i < ALL; i++)
    assert_int_equal(hw_heap_free(heap, blocks[i]), HW_HEAP_OK);
  expect_empty(heap);
  hw_heap_destroy(heap);
}

static void own_and_others_frees_come_together(void **state)
{
  (void)state;
  for (int own = 0; own <= 500; own += 100)
    for (int others = 0; own + others <= 512; others += 128)
      expect_page_gets_back(own, others);
}

/* --- ended threads --- */

enum { BLOCKS = 20000, BLOCK_BYTES = 100 };

struct left {
  struct hw_heap *heap;
  void *blocks[BLOCKS];
};

static void *allocate_blocks(void *argument)
{
  struct left *left = argument;
  for (int i = 0; i < BLOCKS; i++)
    memset(left->blocks[i] = hw_heap_alloc(left->heap, BLOCK_BYTES), i, BLOCK_BYTES);
  return argument;
}

static void free_every(struct left *left, int step)
{
  for (int i = 0; i < BLOCKS; i += step)
    if (left->blocks[i]) {
      assert_int_equal(((unsigned char *)left->blocks[i])[BLOCK_BYTES - 1], (unsigned char)i);
      assert_int_equal(hw_heap_free(left->heap, left->blocks[i]), HW_HEAP_OK);
      left->blocks[i] = NULL;
    }
}

/* The main thread frees half of the blocks of an ended thread, and then needs no new memory for as many. */
static void the_memory_of_an_ended_thread_is_used_again(void **state)
{
  (void)state;
  static struct left left;
  left.heap = new_heap();
  void *own = hw_heap_alloc(left.heap, 1000); /* the main thread has an owner of its own, and does not take the other */
  run_thread(allocate_blocks, &left, &left);
  size_t before = stats_of(left.heap).mapped_bytes;
  free_every(&left, 2);
  for (int i = 0; i < BLOCKS; i += 2)
    memset(left.blocks[i] = hw_heap_alloc(left.heap, BLOCK_BYTES), i, BLOCK_BYTES);
  assert_int_equal(stats_of(left.heap).mapped_bytes, before);
  assert_int_equal(hw_heap_check(left.heap, NULL), HW_HEAP_OK);
  free_every(&left, 1);
  hw_heap_free(left.heap, own);
  expect_empty(left.heap);
  hw_heap_destroy(left.heap);
}

static void *allocate_pages(void *argument)
{
  struct left *left = argument;
  for (int i = 0; i < 6000; i++) /* 16 of a page */
    memset(left->blocks[i] = hw_heap_alloc(left->heap, 4096), 0, 4096);
  return argument;
}

/* In a block of another thread, an address that is none is found. */
static void *see_other_owner(void *argument)
{
  struct left *left = argument;
  void *own = hw_heap_alloc(left->heap, 1);
  bool is_others = hw_heap_free(left->heap, (char *)left->blocks[0] + 16) == HW_HEAP_NOT_A_BLOCK;
  return hw_heap_free(left->heap, own) == HW_HEAP_OK && is_others ? argument : NULL;
}

/* A thread would have to write to all of these pages before its first block. */
static void a_new_thread_does_not_take_over_very_many_pages(void **state)
{
  (void)state;
  static struct left left;
  left.heap = new_heap();
  run_thread(allocate_pages, &left, &left);
  run_thread(see_other_owner, &left, &left);
  for (int i = 0; i < 6000; i++)
    assert_int_equal(hw_heap_free(left.heap, left.blocks[i]), HW_HEAP_OK);
  expect_empty(left.heap);
  hw_heap_destroy(left.heap);
}

enum { MANY_THREADS = 40, PART = BLOCKS / MANY_THREADS, PART_BYTES = 1000 };

static pthread_barrier_t all_have_blocks;
static struct left parts;

static void *allocate_part(void *first)
{
  for (int i = 0; i < PART; i++)
    memset(((void **)first)[i] = hw_heap_alloc(parts.heap, PART_BYTES), (int)((void **)first - parts.blocks) + i,
           PART_BYTES);
  pthread_barrier_wait(&all_have_blocks);
  return first;
}

/* Each search for a page looks at a few ended threads only, but all have their turn. */
static void the_memory_of_many_ended_threads_is_used_again(void **state)
{
  (void)state;
  pthread_t threads[MANY_THREADS];
  void *result;
  parts.heap = new_heap();
  void *own = hw_heap_alloc(parts.heap, 1);
  pthread_barrier_init(&all_have_blocks, NULL, MANY_THREADS);
  for (int i = 0; i < MANY_THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, allocate_part, parts.blocks + i * PART), 0);
  for (int i = 0; i < MANY_THREADS; i++) {
    pthread_join(threads[i], &result);
    assert_ptr_equal(result, parts.blocks + i * PART);
  }
  size_t before = stats_of(parts.heap).peak_mapped_bytes;
  for (int round = 0; round < 3; round++) {
    free_every(&parts, 2);
    for (int i = 0; i < BLOCKS; i += 2)
      memset(parts.blocks[i] = hw_heap_alloc(parts.heap, PART_BYTES), i, PART_BYTES);
  }
  assert_int_equal(stats_of(parts.heap).peak_mapped_bytes, before);
  free_every(&parts, 1);
  hw_heap_free(parts.heap, own);
  expect_empty(parts.heap);
  hw_heap_destroy(parts.heap);
}

/* The main thread frees the first block while its thread lives, and keeps it; the second one when that has ended, and takes its page; and
 * another short thread frees the third one. */
struct three {
  struct hw_heap *heap;
  void *blocks[3];
  pthread_barrier_t has_allocated, may_end;
};

static void *allocate_three(void *argument)
{
  struct three *three = argument;
  for (int i = 0; i < 3; i++)
    three->blocks[i] = hw_heap_alloc(three->heap, BLOCK_BYTES);
  pthread_barrier_wait(&three->has_allocated);
  pthread_barrier_wait(&three->may_end);
  return argument;
}

static void *free_third(void *argument)
{
  struct three *three = argument;
  return hw_heap_free(three->heap, three->blocks[2]) == HW_HEAP_OK ? argument : NULL;
}

static void a_thread_that_only_frees_keeps_few_pages(void **state)
{
  (void)state;
  enum { SHORT_THREADS = 2000, MOST_PAGES = 200 };
  struct hw_heap_class_stats stats[HW_HEAP_MOST_CLASSES + 1];
  struct three three = {.heap = new_heap()};
  pthread_barrier_init(&three.has_allocated, NULL, 2);
  pthread_barrier_init(&three.may_end, NULL, 2);
  for (int i = 0; i < SHORT_THREADS; i++) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, allocate_three, &three), 0);
    pthread_barrier_wait(&three.has_allocated);
    assert_int_equal(hw_heap_free(three.heap, three.blocks[0]), HW_HEAP_OK);
    pthread_barrier_wait(&three.may_end);
    pthread_join(thread, NULL);
    assert_int_equal(hw_heap_free(three.heap, three.blocks[1]), HW_HEAP_OK);
    run_thread(free_third, &three, &three);
  }
  size_t pages = 0, rows = hw_heap_get_class_stats(three.heap, stats, COUNT(stats));
  for (size_t i = 0; i < rows; i++)
    pages += stats[i].page_count;
  assert_in_range(pages, 1, MOST_PAGES);
  expect_empty(three.heap);
  pthread_barrier_destroy(&three.has_allocated);
  pthread_barrier_destroy(&three.may_end);
  hw_heap_destroy(three.heap);
}

static void *use_briefly(void *heap)
{
  void *blocks[20];
  for (size_t i = 0; i < 20; i++)
    blocks[i] = hw_heap_alloc(heap, (size_t)1 << i);
  for (size_t i = 0; i < 20; i++)
    if (!blocks[i] || hw_heap_free(heap, blocks[i]) != HW_HEAP_OK)
      return NULL;
  return heap;
}

static void short_threads_do_not_make_a_heap_grow(void **state)
{
  (void)state;
  struct hw_heap *heap = new_heap();
  size_t after_some = 0;
  for (int i = 0; i < 10000; i++) {
    run_thread(use_briefly, heap, heap);
    if (i == 100)
      after_some = stats_of(heap).peak_mapped_bytes;
  }
  assert_int_equal(stats_of(heap).peak_mapped_bytes, after_some);
  expect_empty(heap);
  hw_heap_destroy(heap);
}

static void *use_and_destroy(void *argument)
{
  (void)argument;
  for (int i = 0; i < 200; i++) {
    struct hw_heap *heap = hw_heap_create(NULL, NULL);
    if (!heap || use_briefly(heap) != heap)
      return NULL;
    hw_heap_destroy(heap);
  }
  return argument;
}

/* Threads end while other heaps are made and destroyed. */
static void heaps_come_and_go_in_many_threads(void **state)
{
  (void)state;
  pthread_t threads[THREADS];
  void *result;
  struct hw_heap *heap = new_heap();
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, use_and_destroy, heap), 0);
  for (int i = 0; i < 100; i++)
    run_thread(use_briefly, heap, heap);
  for (int i = 0; i < THREADS; i++) {
    pthread_join(threads[i], &result);
    assert_ptr_equal(result, heap);
  }
  expect_empty(heap);
  hw_heap_destroy(heap);
}

/* An address inside a block of another thread is a fault, and so is a block that another thread freed. */
static void faults_in_blocks_of_other_threads(void **state)
{
  (void)state;
  static struct left left;
  left.heap = new_heap();
  run_thread(allocate_blocks, &left, &left);
  char *block = left.blocks[7];
  assert_int_equal(hw_heap_free(left.heap, block + 16), HW_HEAP_NOT_A_BLOCK);
  assert_int_equal(hw_heap_free(left.heap, block), HW_HEAP_OK);
  assert_int_equal(hw_heap_free(left.heap, block), HW_HEAP_FREED);
  left.blocks[7] = NULL;
  free_every(&left, 1);
  expect_empty(left.heap);
  hw_heap_destroy(left.heap);
}

/* Blocks on the lists of a central heap, one of which may contain the address that is asked for as soon as it is given out. */
enum { IN_LIST = 500 };

static void *point_to(void *block)
{
  while (!is_over) {
    static void **blocks[IN_LIST];
    for (int i = 0; i < IN_LIST; i++) {
      blocks[i] = hw_heap_alloc(central_heap, 32);
      *blocks[i] = block;
    }
    for (int i = 0; i < IN_LIST; i++)
      hw_heap_free(central_heap, blocks[i]);
  }
  return block;
}

static void sizes_in_a_central_heap_that_others_use(void **state)
{
  (void)state;
  const struct hw_heap_config config = {.threads = HW_HEAP_CENTRAL, .check_all_frees = true};
  central_heap = heap_with(&config);
  void *block = hw_heap_alloc(central_heap, 32), *result;
  pthread_t thread;
  is_over = false;
  assert_int_equal(pthread_create(&thread, NULL, point_to, block), 0);
  for (int i = 0; i < 20000; i++)
    assert_int_equal(hw_heap_usable_bytes(central_heap, block), 32);
  is_over = true;
  pthread_join(thread, &result);
  hw_heap_free(central_heap, block);
  expect_empty(central_heap);
  hw_heap_destroy(central_heap);
}

/* --- one heap and another --- */

static bool use_pages(struct hw_heap *heap)
{
  enum { PAGE_BLOCKS = 200, BYTES = 4096 };
  void *blocks[PAGE_BLOCKS];
  bool is_right = true;
  for (int i = 0; i < PAGE_BLOCKS; i++)
    is_right &= (blocks[i] = hw_heap_alloc(heap, BYTES)) != NULL;
  is_right &= hw_heap_check(heap, NULL) == HW_HEAP_OK && used_bytes(heap) >= PAGE_BLOCKS * BYTES;
  for (int i = 0; i < PAGE_BLOCKS; i++)
    is_right &= hw_heap_free(heap, blocks[i]) == HW_HEAP_OK;
  return is_right;
}

static bool use_large(struct hw_heap *heap, size_t bytes)
{
  void *block = hw_heap_alloc(heap, bytes), *resized = block ? hw_heap_realloc(heap, block, 10 * bytes) : NULL;
  return resized && hw_heap_free(heap, resized) == HW_HEAP_OK;
}

/* Everything for which a thread needs a lock. Returns the heap if all is right. */
static void *use_all(void *argument)
{
  struct hw_heap *heap = argument, *other = hw_heap_create(NULL, NULL);
  bool is_right = other && use_pages(heap) && use_large(heap, 100 << 10) && use_large(heap, 5 * MIB);
  hw_heap_collect(heap);
  return is_right && hw_heap_alloc(other, 1) && hw_heap_destroy(other) ? heap : NULL;
}

struct other_thread {
  pthread_t thread;
  int error;
  void *result;
};

/* Called with the lock of another heap. */
static bool wait_for_thread(void *context, void *block, size_t bytes)
{
  (void)block, (void)bytes;
  enum { PATIENCE_S = 60 };
  struct other_thread *other = context;
  struct timespec end;
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += PATIENCE_S;
  other->error = pthread_timedjoin_np(other->thread, &other->result, &end);
  return false;
}

static void a_heap_does_not_wait_for_another_one(void **state)
{
  (void)state;
  static const struct hw_heap_config configs[] = {{0},
                                                  {.threads = HW_HEAP_SINGLE},
                                                  {.threads = HW_HEAP_SINGLE, .lock = HW_HEAP_LOCK_NONE},
                                                  {.threads = HW_HEAP_CENTRAL},
                                                  {.lock = HW_HEAP_LOCK_SPINNING},
                                                  {.touch = true}};
  struct hw_heap *walked = new_heap();
  assert_non_null(hw_heap_alloc(walked, 1));
  for (size_t i = 0; i < COUNT(configs); i++) {
    struct hw_heap *heap = heap_with(&configs[i]);
    struct other_thread other;
    assert_int_equal(pthread_create(&other.thread, NULL, use_all, heap), 0);
    hw_heap_walk(walked, wait_for_thread, &other);
    assert_int_equal(other.error, 0);
    assert_ptr_equal(other.result, heap);
    assert_true(hw_heap_destroy(heap));
  }
  assert_true(hw_heap_destroy(walked));
}

/* --- forks --- */

static void *churn_until_over(void *heap)
{
  while (!is_over)
    if (churn(heap) != heap)
      return NULL;
  return heap;
}

/* Only functions that a child may call. */
static void use_in_child(struct left *left)
{
  static struct model model;
  alarm(120);
  for (int i = 0; i < BLOCKS; i++)
    if (((unsigned char *)left->blocks[i])[0] != (unsigned char)i ||
        hw_heap_free(left->heap, left->blocks[i]) != HW_HEAP_OK)
      _exit(1);
  model = (struct model){.heap = left->heap, .seed = 88172645463325252u};
  for (int i = 0; i < 2000; i++)
    if (!model_step(&model, 14))
      _exit(2);
  _exit(model_free_all(&model) ? 0 : 3);
}

/* The child frees blocks of its own thread, and of one that has ended. */
static void fork_while(struct hw_heap *heap, int count)
{
  static struct left left;
  left.heap = heap;
  allocate_blocks(&left);
  for (int i = 0; i < count; i++) {
    int status;
    pid_t child = fork();
    if (!child)
      use_in_child(&left);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
  }
  free_every(&left, 1);
}

static void *fork_here(void *heap)
{
  fork_while(heap, 5);
  return heap;
}

static void forks(void **state)
{
  (void)state;
  struct hw_heap *heap = new_heap();
  fork_while(heap, 3);
  pthread_t threads[3];
  void *result;
  for (int i = 0; i < 3; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, churn_until_over, heap), 0);
  fork_while(heap, 10);
  run_thread(fork_here, heap, heap);
  is_over = true;
  for (int i = 0; i < 3; i++) {
    pthread_join(threads[i], &result);
    assert_ptr_equal(result, heap);
  }
  expect_empty(heap);
  hw_heap_destroy(heap);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(figures_while_threads_allocate),
      cmocka_unit_test(threads_do_not_disturb_each_other),
      cmocka_unit_test(blocks_are_freed_by_other_threads),
      cmocka_unit_test(figures_while_threads_free_each_others_blocks),
      cmocka_unit_test(own_and_others_frees_come_together),
      cmocka_unit_test(the_memory_of_an_ended_thread_is_used_again),
      cmocka_unit_test(a_new_thread_does_not_take_over_very_many_pages),
      cmocka_unit_test(the_memory_of_many_ended_threads_is_used_again),
      cmocka_unit_test(a_thread_that_only_frees_keeps_few_pages),
      cmocka_unit_test(short_threads_do_not_make_a_heap_grow),
      cmocka_unit_test(heaps_come_and_go_in_many_threads),
      cmocka_unit_test(faults_in_blocks_of_other_threads),
      cmocka_unit_test(sizes_in_a_central_heap_that_others_use),
      cmocka_unit_test(a_heap_does_not_wait_for_another_one),
      cmocka_unit_test(forks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
