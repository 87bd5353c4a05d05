/* thread_heaps.c - a program on libheapwright-heap whose threads have heaps of their own: its first argument selects the
 * test, and HEAPS says of which kind the heaps are. Prints "done" if everything succeeded */
#define _GNU_SOURCE
#include <errno.h>
#include <heapwright/heap.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 4, SLOTS = 256, STEPS = 30000, FORKS = 12, SHORT_THREADS = 10000 };

static void expect(bool condition, const char *what)
{
  if (!condition) {
    printf("wrong: %s\n", what);
    exit(1);
  }
}

static struct hw_heap *new_heap(void)
{
  const char *kind = getenv("HEAPS");
  struct hw_heap_config config = {0};
  config.check_all_frees = kind && !strcmp(kind, "checked");
  config.threads = kind && !strcmp(kind, "central") ? HW_HEAP_CENTRAL : HW_HEAP_CACHING;
  if (kind && !strcmp(kind, "without-lock")) {
    config.threads = HW_HEAP_SINGLE;
    config.lock = HW_HEAP_LOCK_NONE;
  }
  struct hw_heap *heap = hw_heap_create(&config, NULL);
  expect(heap, "a heap");
  return heap;
}

static bool is_in(struct hw_heap *heap, void *block)
{
  return block && hw_heap_usable_bytes(heap, block) > 0;
}

static void expect_empty(struct hw_heap *heap)
{
  struct hw_heap_stats stats;
  hw_heap_collect(heap);
  hw_heap_get_stats(heap, &stats);
  expect(hw_heap_check(heap, NULL) == HW_HEAP_OK && stats.used_bytes == 0, "the heap is empty, and right");
}

static void run_thread(void *(*body)(void *), void *argument)
{
  pthread_t thread;
  expect(!pthread_create(&thread, NULL, body, argument) && !pthread_join(thread, NULL), "a thread");
}

/* --- one thread --- */

static void expect_all_in(struct hw_heap *heap, const char *what)
{
  void *aligned = NULL, *blocks[] = {malloc(100),         calloc(10, 1000),         realloc(NULL, 5000),
                                     malloc(100000),      aligned_alloc(4096, 100), malloc(3 << 20),
                                     strdup("some text"), memalign(1 << 17, 10)};
  expect(!posix_memalign(&aligned, 64, 30) && (!heap || is_in(heap, aligned)), what);
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
    expect(blocks[i] && (!heap || is_in(heap, blocks[i])), what);
    blocks[i] = realloc(blocks[i], 70000);
    expect(blocks[i] && (!heap || is_in(heap, blocks[i])), what);
    free(blocks[i]);
  }
  free(aligned);
}

static void *use_own_heap(void *heap)
{
  expect(!hw_heap_of_thread(), "a new thread has no heap set");
  expect(hw_heap_set_for_thread(heap) && hw_heap_of_thread() == heap, "set");
  expect_all_in(heap, "blocks of the thread");
  expect(hw_heap_set_for_thread(NULL) && !hw_heap_of_thread(), "reset");
  void *block = malloc(100);
  expect(!is_in(heap, block), "a block of the process");
  free(block);
  return NULL;
}

/* Without a call of malloc; and its end is noticed. */
static void *use_objects(void *heap)
{
  for (size_t bytes = 1; bytes < 100000; bytes *= 2)
    expect(hw_heap_free(heap, hw_heap_alloc(heap, bytes)) == HW_HEAP_OK, "a block of the heap");
  return NULL;
}

static void set(void)
{
  struct hw_heap *heap = new_heap(), *other = new_heap();
  run_thread(use_objects, other);
  expect_empty(other);
  run_thread(use_own_heap, heap);
  void *block = malloc(100);
  expect(block && !is_in(heap, block), "other threads are not affected");
  free(block);
  const struct hw_heap_config without_caches = {.threads = HW_HEAP_CENTRAL};
  struct hw_heap *central = hw_heap_create(&without_caches, NULL);
  block = hw_heap_alloc(central, 100);
  expect(hw_heap_set_for_thread(central) && hw_heap_of_thread() == central, "a heap without caches is set");
  expect_all_in(central, "blocks of a heap without caches");
  expect(hw_heap_set_for_thread(NULL), "reset");
  expect(block && malloc_usable_size(block) == 112 && (block = realloc(block, 50000)) && !is_in(central, block),
         "moved to the process's heap");
  free(block);
  free(hw_heap_alloc(central, 100));
  expect_empty(central);
  expect(hw_heap_destroy(central), "destroyed");
  expect(hw_heap_set_for_thread(heap) && hw_heap_set_for_thread(other), "set twice");
  expect(hw_heap_destroy(heap), "it is not set any more");
  expect(!hw_heap_destroy(other) && !hw_heap_destroy(other), "it is set");
  expect_all_in(other, "blocks of the main thread");
  hw_heap_set_for_thread(NULL);
  expect_empty(other);
  expect(hw_heap_destroy(other), "destroyed");
  expect(!hw_heap_set_for_thread(other) && !hw_heap_push(other) && hw_heap_pop(), "not set: it was destroyed");
  expect_all_in(NULL, "malloc goes on");
}

static void nest(void)
{
  struct hw_heap *heaps[HW_HEAP_MOST_PUSHED + 1];
  expect(!hw_heap_pop(), "nothing to pop");
  for (int i = 0; i <= HW_HEAP_MOST_PUSHED; i++) {
    heaps[i] = new_heap();
    expect(hw_heap_push(heaps[i]) == (i < HW_HEAP_MOST_PUSHED), "pushed, as far as there is room");
  }
  struct hw_heap *innermost = heaps[HW_HEAP_MOST_PUSHED - 1];
  expect(hw_heap_of_thread() == innermost, "a section without room has the heap around it");
  expect_all_in(innermost, "blocks of the innermost heap");
  expect(hw_heap_pop() && hw_heap_of_thread() == innermost, "out of the section without room");
  for (int i = HW_HEAP_MOST_PUSHED - 1; i >= 0; i--) {
    expect(!hw_heap_destroy(heaps[i]), "it is pushed");
    expect_all_in(heaps[i], "blocks of a section");
    expect(hw_heap_pop() && hw_heap_of_thread() == (i ? heaps[i - 1] : NULL), "popped");
    expect(hw_heap_destroy(heaps[i]), "destroyed");
  }
  hw_heap_destroy(heaps[HW_HEAP_MOST_PUSHED]);
  expect(!hw_heap_pop(), "nothing left to pop");
}

static void mix(void)
{
  struct hw_heap *outer = new_heap(), *inner = new_heap();
  hw_heap_set_for_thread(outer);
  hw_heap_push(inner);
  hw_heap_push(NULL);
  void *block = malloc(100);
  expect(!is_in(outer, block) && !is_in(inner, block), "a section on the process's heap");
  hw_heap_set_for_thread(inner);
  expect_all_in(inner, "set in a section");
  hw_heap_pop();
  char *moved = realloc(strcpy(block, "contents"), 200000);
  expect(is_in(inner, moved) && !strcmp(moved, "contents"), "a block that moves comes to the heap that is set");
  hw_heap_pop();
  expect(hw_heap_of_thread() == outer, "what was set before the sections");
  moved = realloc(moved, 100);
  expect(is_in(outer, moved) && !strcmp(moved, "contents"), "again");
  expect(malloc_usable_size(moved) == hw_heap_usable_bytes(outer, moved), "the sizes of both");
  expect(hw_heap_free(outer, moved) == HW_HEAP_OK, "freed by the heap itself");
  void *of_inner = hw_heap_alloc(inner, 50), *of_outer = hw_heap_alloc(outer, 50);
  free(of_inner);
  free(of_outer);
  expect(hw_heap_free(inner, of_inner) == HW_HEAP_FREED && hw_heap_free(outer, of_outer) == HW_HEAP_FREED,
         "freed by free");
  hw_heap_set_for_thread(NULL);
  expect_empty(outer);
  expect_empty(inner);
  expect(hw_heap_destroy(outer) && hw_heap_destroy(inner), "destroyed");
}

/* --- the end of a thread --- */

static pthread_barrier_t barrier;

static void *end_within_sections(void *heap)
{
  hw_heap_set_for_thread(heap);
  for (int i = 0; i < HW_HEAP_MOST_PUSHED + 3; i++)
    hw_heap_push(i % 3 ? heap : NULL);
  *(void **)malloc(1000) = NULL; /* stays in the heap */
  pthread_barrier_wait(&barrier);
  pthread_barrier_wait(&barrier);
  return NULL;
}

static void end(void)
{
  struct hw_heap *heap = new_heap();
  pthread_t thread;
  pthread_barrier_init(&barrier, NULL, 2);
  pthread_create(&thread, NULL, end_within_sections, heap);
  pthread_barrier_wait(&barrier);
  expect(!hw_heap_destroy(heap), "a thread has it");
  expect(hw_heap_check(heap, NULL) == HW_HEAP_OK, "nothing was done");
  pthread_barrier_wait(&barrier);
  pthread_join(thread, NULL);
  expect(hw_heap_destroy(heap), "the thread has ended");
}

/* --- many threads, whose blocks wander --- */

/* What is in a block: its size, and then bytes that depend on it. */
struct block {
  uint32_t bytes, check;
  unsigned char fill[];
};

static _Atomic(struct block *) slots[SLOTS];
static atomic_bool is_over;

static uint32_t any(uint32_t *seed)
{
  *seed ^= *seed << 13;
  *seed ^= *seed >> 17;
  return *seed ^= *seed << 5;
}

static void check_block(const struct block *block)
{
  expect(block->check == ~block->bytes, "a block was overwritten");
  uint32_t fill_bytes = block->bytes - (uint32_t)sizeof *block;
  for (uint32_t i = 0; i < fill_bytes; i += 1 + fill_bytes / 64)
    expect(block->fill[i] == (unsigned char)block->bytes, "a block was overwritten");
}

static void free_slot(struct block *block)
{
  if (block)
    check_block(block);
  free(block);
}

static struct block *new_block(struct hw_heap *heap, uint32_t what, size_t bytes)
{
  if (what % 8 == 0)
    return hw_heap_alloc(heap, bytes);
  if (what % 8 == 1)
    return aligned_alloc((size_t)16 << what / 8 % 12, bytes);
  if (what % 8 > 2)
    return malloc(bytes);
  unsigned char *block = calloc(1, bytes);
  for (size_t i = 0; block && i < bytes; i++)
    expect(block[i] == 0, "calloc gave what is not zero");
  return (struct block *)block;
}

static struct block *resize_block(struct block *block, size_t bytes)
{
  uint32_t old_bytes = block ? block->bytes : 0;
  if (block)
    check_block(block);
  block = realloc(block, bytes);
  if (block && old_bytes)
    expect(block->bytes == old_bytes &&
               (bytes < old_bytes || block->fill[old_bytes - sizeof *block - 1] == (unsigned char)old_bytes),
           "realloc keeps the contents");
  return block;
}

/* In sections of random depth, blocks are put into slots, and others freed or resized there. */
static void wander(struct hw_heap *heap, uint32_t seed, int steps)
{
  int depth = 0;
  while (steps--) {
    uint32_t what = any(&seed) % 64;
    if (what == 0 && depth < HW_HEAP_MOST_PUSHED + 2) {
      hw_heap_push(any(&seed) % 4 ? heap : NULL);
      depth++;
    } else if (what == 1 && depth) {
      hw_heap_pop();
      depth--;
    }
    size_t bytes = sizeof(struct block) + 1 + any(&seed) % (1u << any(&seed) % (what ? 14 : 22));
    struct block *block = what % 8 ? new_block(heap, any(&seed), bytes)
                                   : resize_block(atomic_exchange(&slots[any(&seed) % SLOTS], NULL), bytes);
    expect(block, "no memory");
    *block = (struct block){(uint32_t)bytes, ~(uint32_t)bytes};
    memset(block->fill, (unsigned char)bytes, bytes - sizeof *block);
    free_slot(atomic_exchange(&slots[any(&seed) % SLOTS], block));
  }
  while (depth--)
    hw_heap_pop();
}

static struct hw_heap *heaps[THREADS];

static void *wander_in_thread(void *number)
{
  struct hw_heap *heap = heaps[(uintptr_t)number];
  hw_heap_set_for_thread(heap);
  wander(heap, (uint32_t)(uintptr_t)number + 1, STEPS);
  return NULL;
}

static void end_wandering(void)
{
  for (int i = 0; i < SLOTS; i++)
    free_slot(atomic_exchange(&slots[i], NULL));
  for (int i = 0; i < THREADS; i++) {
    expect_empty(heaps[i]);
    expect(hw_heap_destroy(heaps[i]), "destroyed");
  }
}

static void start(pthread_t *threads, void *(*body)(void *))
{
  for (uintptr_t i = 0; i < THREADS; i++)
    heaps[i] = new_heap();
  for (uintptr_t i = 0; i < THREADS; i++)
    expect(!pthread_create(&threads[i], NULL, body, (void *)i), "no thread");
}

static void join(pthread_t *threads)
{
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
}

static void run_threads(void)
{
  pthread_t threads[THREADS];
  start(threads, wander_in_thread);
  join(threads);
  end_wandering();
}

/* --- forks --- */

static void *wander_until_over(void *number)
{
  struct hw_heap *heap = heaps[(uintptr_t)number];
  hw_heap_set_for_thread(heap);
  for (uint32_t seed = (uint32_t)(uintptr_t)number + 1; !is_over; seed += THREADS)
    wander(heap, seed, 500);
  return NULL;
}

/* The child has only its own sections, and may destroy the heaps of the threads that it does not have. */
static int be_child(struct hw_heap *own)
{
  alarm(60);
  if (hw_heap_of_thread() != own || hw_heap_destroy(own))
    return 2;
  expect_all_in(own, "blocks of a child");
  for (int i = 0; i < THREADS; i++)
    if (!hw_heap_destroy(heaps[i]))
      return 3;
  wander(own, 7, 200);
  return hw_heap_pop() && hw_heap_destroy(own) ? 0 : 4;
}

static void fork_with_threads(void)
{
  pthread_t threads[THREADS];
  struct hw_heap *own = new_heap();
  start(threads, wander_until_over);
  for (int i = 0; i < FORKS; i++) {
    int status = 0;
    hw_heap_push(own);
    pid_t child = fork();
    if (!child) {
      memset((void *)slots, 0, sizeof slots); /* blocks of threads that this process does not have */
      _exit(be_child(own));
    }
    hw_heap_pop();
    expect(waitpid(child, &status, 0) == child && status == 0, "a child did not come through");
  }
  is_over = true;
  join(threads);
  end_wandering();
  expect_empty(own);
  expect(hw_heap_destroy(own), "destroyed");
}

/* --- forks while threads with heaps of their own are within libc ---
 *
 * A thread that has a stream's lock asks for address space, for which a fork has the lock, or gives back a page, for which it has the
 * heap's. The fork waits for libc's lock of the list of streams, whose holder waits for that of the stream. */

static void use_pages(void)
{
  enum { SMALL = 700, SMALL_BYTES = 200 };
  void *small[SMALL];
  for (int i = 0; i < SMALL; i++)
    small[i] = malloc(SMALL_BYTES);
  for (int i = 0; i < SMALL; i++)
    free(small[i]);
}

static void use_stream(FILE *file)
{
  enum { BLOCKS = 4, BYTES = 3 << 20 };
  flockfile(file);
  use_pages();
  for (int i = 0; i < BLOCKS; i++) {
    void *volatile block = malloc(BYTES + (size_t)i % 2 * BYTES);
    expect(block, "no memory");
    free(block);
  }
  funlockfile(file);
  usleep(100); /* for a thread that waits for the stream */
}

static void *flush_or_use_stream(void *number)
{
  static const struct hw_heap_config configs[] = {
      {.returns = HW_HEAP_RETURNS_AT_ONCE},
      {.threads = HW_HEAP_SINGLE, .lock = HW_HEAP_LOCK_NONE, .returns = HW_HEAP_RETURNS_AT_ONCE}};
  struct hw_heap *heap = hw_heap_create(&configs[(uintptr_t)number / 2 % 2], NULL);
  FILE *file = fopen("/dev/null", "w");
  expect(file && hw_heap_set_for_thread(heap), "set");
  while (!is_over)
    if ((uintptr_t)number % 2)
      use_stream(file);
    else
      fflush(NULL);
  hw_heap_set_for_thread(NULL);
  fclose(file);
  expect_empty(heap);
  expect(hw_heap_destroy(heap), "destroyed");
  return NULL;
}

static void fork_with_streams(void)
{
  enum { MANY_FORKS = 40 };
  pthread_t threads[THREADS];
  for (uintptr_t i = 0; i < THREADS; i++)
    expect(!pthread_create(&threads[i], NULL, flush_or_use_stream, (void *)i), "no thread");
  for (int i = 0; i < MANY_FORKS; i++) {
    int status = 0;
    pid_t child = fork();
    if (!child) {
      alarm(60);
      expect_all_in(NULL, "the process's heap");
      _exit(0);
    }
    expect(waitpid(child, &status, 0) == child && status == 0, "a child did not come through");
  }
  is_over = true;
  join(threads);
}

/* --- sections of code that begin and end while another thread forks --- */

static void process_pages(long *mapped, long *resident);

static atomic_int forks;

static void *fork_until_over(void *unused)
{
  while (!is_over) {
    int status = 0;
    pid_t child = fork();
    if (!child)
      _exit(0);
    expect(waitpid(child, &status, 0) == child && status == 0, "a child did not come through");
    forks++;
  }
  return unused;
}

/* Of the blocks, each is freed in another way; one is left. */
static void use_section(void)
{
  static const size_t sizes[] = {100, 20000, 100000, 3 << 20};
  enum { SIZES = sizeof sizes / sizeof *sizes, WAYS = 4, ROOM = 40000 };
  char *blocks[SIZES][WAYS];
  struct hw_heap *heap = new_heap();
  expect(hw_heap_push(heap), "pushed");
  for (int i = 0; i < SIZES * WAYS; i++) {
    char *block = malloc(sizes[i / WAYS]);
    expect(is_in(heap, block) && malloc_usable_size(block) == hw_heap_usable_bytes(heap, block),
           "a block of the section");
    blocks[i / WAYS][i % WAYS] = memset(block, i, 100);
  }
  hw_heap_pop();
  for (int i = 0; i < SIZES; i++) {
    char *moved = hw_heap_realloc(heap, blocks[i][0], sizes[i] + ROOM);
    expect(is_in(heap, moved) && moved[99] == i * WAYS, "realloc keeps the contents");
    free(moved);
    free(blocks[i][1]);
    expect(hw_heap_free(heap, blocks[i][2]) == HW_HEAP_OK && !is_in(heap, blocks[i][2]), "freed by the heap itself");
    expect(blocks[i][3][99] == i * WAYS + 3, "a block was overwritten");
  }
  expect(hw_heap_destroy(heap), "destroyed");
}

static void fork_with_sections(void)
{
  enum { WARM = 10, LEAST_FORKS = 200, LEAST_SECTIONS = 400, SLACK_PAGES = 64 << 8 };
  long mapped = 0, resident = 0, mapped_after, resident_after;
  pthread_t thread;
  expect(!pthread_create(&thread, NULL, fork_until_over, NULL), "no thread");
  for (int i = 0; i < LEAST_SECTIONS || forks < LEAST_FORKS; i++) {
    if (i == WARM)
      process_pages(&mapped, &resident);
    use_section();
  }
  is_over = true;
  pthread_join(thread, NULL);
  process_pages(&mapped_after, &resident_after);
  expect(mapped_after <= mapped + SLACK_PAGES && resident_after <= resident + SLACK_PAGES, "memory grew");
}

/* --- for long ---
 *
 * Rounds of threads with new heaps, forks meanwhile, and short threads. What a round needs of memory is known after the first ones. */

static void *be_short(void *heap);

static void *wander_in_round(void *number)
{
  static atomic_uint seeds;
  struct hw_heap *heap = heaps[(uintptr_t)number];
  hw_heap_set_for_thread(heap);
  wander(heap, 88172645u + ++seeds, 5000);
  return NULL;
}

static void run_round(void)
{
  pthread_t threads[THREADS];
  start(threads, wander_in_round);
  for (int i = 0; i < 3; i++) {
    int status;
    run_thread(be_short, i ? heaps[i] : NULL);
    pid_t child = fork();
    if (!child) {
      memset((void *)slots, 0, sizeof slots);
      alarm(60);
      wander(heaps[0], (uint32_t)i + 1, 500);
      _exit(0);
    }
    expect(waitpid(child, &status, 0) == child && status == 0, "a child did not come through");
  }
  join(threads);
  end_wandering();
}

static void soak(const char *seconds)
{
  enum { WARM = 5, SLACK_PAGES = 64 << 8 };
  long mapped = 0, resident = 0, mapped_after, resident_after;
  time_t end = time(NULL) + strtol(seconds, NULL, 10);
  for (int round = 0; round <= WARM || time(NULL) < end; round++) {
    run_round();
    if (round == WARM)
      process_pages(&mapped, &resident);
  }
  process_pages(&mapped_after, &resident_after);
  bool has_grown = mapped_after > mapped + SLACK_PAGES || resident_after > resident + SLACK_PAGES;
  if (has_grown)
    printf("mapped pages from %ld to %ld, resident ones from %ld to %ld\n", mapped, mapped_after, resident,
           resident_after);
  expect(!has_grown, "memory grew");
}

/* --- faults --- */

static void do_wrong(const char *what)
{
  struct hw_heap_config config = {.check_all_frees = !strcmp(what, "interior")};
  struct hw_heap *heap = hw_heap_create(&config, NULL);
  hw_heap_push(heap);
  char *volatile block = malloc(100);
  void *other = malloc(100);
  hw_heap_pop();
  if (!strcmp(what, "late")) {
    expect(hw_heap_destroy(heap), "destroyed");
    free(block);
  } else if (!strcmp(what, "interior")) {
    memset(block, 0, 100);
    free(block + 16);
  } else {
    free(block);
    free(block);
  }
  (void)other;
}

/* No memory for the state of the thread in another heap: nothing changes. */
static void without_memory(void)
{
  enum { MOST = 64 };
  struct hw_heap *heap = new_heap();
  struct rlimit limit, low;
  void *blocks[MOST];
  for (int i = 0; i < MOST; i++)
    blocks[i] = malloc(100);
  getrlimit(RLIMIT_AS, &limit);
  low = (struct rlimit){4096, limit.rlim_max};
  setrlimit(RLIMIT_AS, &low);
  bool is_set = hw_heap_set_for_thread(heap), is_pushed = hw_heap_push(heap);
  struct hw_heap *now = hw_heap_of_thread();
  bool is_popped = hw_heap_pop();
  setrlimit(RLIMIT_AS, &limit);
  expect(!is_set && !is_pushed && !now && is_popped, "nothing was set");
  expect_all_in(NULL, "malloc goes on");
  expect(hw_heap_set_for_thread(heap), "now there is memory");
  expect_all_in(heap, "blocks of the heap");
  for (int i = 0; i < MOST; i++)
    free(blocks[i]);
}

/* All of malloc is libc's. */
static void without_effect(void)
{
  struct hw_heap *heap = new_heap();
  expect(hw_heap_set_for_thread(heap) && hw_heap_push(heap) && hw_heap_of_thread() == heap, "set");
  void *block = malloc(100);
  expect(block && !is_in(heap, block), "malloc is libc's");
  free(block);
  expect_all_in(NULL, "malloc goes on");
  run_thread(be_short, heap);
  expect(hw_heap_pop() && !hw_heap_destroy(heap), "it is set");
  expect(hw_heap_set_for_thread(NULL) && hw_heap_destroy(heap), "destroyed");
}

static bool count_block(void *context, void *block, size_t bytes)
{
  (void)block, (void)bytes;
  ++*(size_t *)context;
  return true;
}

static void expect_blocks(struct hw_heap *heap, size_t count)
{
  struct hw_heap_stats stats;
  size_t walked = 0;
  hw_heap_walk(heap, count_block, &walked);
  hw_heap_get_stats(heap, &stats);
  expect(walked == count && (stats.used_bytes == 0) == (count == 0), "the heap has these blocks");
}

/* Malloc may align a block of 8 bytes to 8; the heap does not. */
static void expect_foreign_within(struct hw_heap *heap)
{
  enum { COUNT = 100 };
  char *blocks[COUNT];
  for (int i = 0; i < COUNT; i++) {
    blocks[i] = i % 2 ? hw_heap_alloc(heap, 8) : hw_heap_alloc_zeroed(heap, 8);
    expect((uintptr_t)blocks[i] % HW_HEAP_ALIGN == 0, "blocks are aligned");
    expect(hw_heap_free(heap, blocks[i] + 8) == HW_HEAP_FOREIGN && is_in(heap, blocks[i]), "no block begins there");
  }
  expect_blocks(heap, COUNT);
  for (int i = 0; i < COUNT; i++)
    expect(hw_heap_free(heap, blocks[i]) == HW_HEAP_OK && !is_in(heap, blocks[i]), "it is free");
  expect_blocks(heap, 0);
}

/* Returns a block that realloc has moved out of the heap. */
static char *move_from(struct hw_heap *heap, size_t bytes)
{
  char *block = memset(hw_heap_alloc(heap, 100), 'x', 100);
  char *moved = realloc(block, bytes);
  expect(moved && moved != block && moved[49] == 'x' && !is_in(heap, moved), "realloc moves it out of the heap");
  return moved;
}

static void *free_by_malloc(void *heap)
{
  for (int i = 0; i < STEPS; i++) {
    free(hw_heap_alloc(heap, 1 + i % 300));
    if (i % 100 == 0)
      free(move_from(heap, 500));
  }
  return NULL;
}

/* All of malloc is libc's: the heap does not free again what free and realloc have freed, also while other threads fork. */
static void free_blocks_of_heaps(void)
{
  struct hw_heap *heap = new_heap(), *other = new_heap();
  void *left = hw_heap_alloc(heap, 10), *volatile freed = hw_heap_alloc(heap, 20);
  free(freed);
  expect(!is_in(heap, freed) && hw_heap_free(heap, freed) == HW_HEAP_FOREIGN, "it is free");
  expect_foreign_within(other);
  char *larger = move_from(heap, 50000), *shorter = move_from(other, 50), *volatile libcs = malloc(30);
  expect(!realloc(hw_heap_alloc(other, 40), 0), "realloc to 0 frees");
  free(hw_heap_alloc(other, 100));
  expect(hw_heap_alloc(heap, 100), "perhaps the same address, now in another heap");
  expect(realloc(left, (size_t)PTRDIFF_MAX - 4096) == NULL && is_in(heap, left),
         "a realloc without memory changes nothing");
  expect_blocks(heap, 2);
  expect_blocks(other, 0);
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++)
    expect(!pthread_create(&threads[i], NULL, free_by_malloc, heap), "a thread");
  for (int i = 0; i < FORKS; i++) {
    int status;
    pid_t child = fork();
    if (!child) {
      alarm(60);
      free_by_malloc(other);
      free(left);
      _exit(!hw_heap_destroy(other) || !hw_heap_destroy(heap));
    }
    expect(waitpid(child, &status, 0) == child && status == 0, "a child did not come through");
  }
  join(threads);
  expect_blocks(heap, 2);
  expect(hw_heap_destroy(other) && hw_heap_destroy(heap), "destroyed");
  expect(larger[99] == 'x' && shorter[49] == 'x', "they are no longer in the heaps");
  free(larger);
  free(shorter);
  free(libcs);
}

/* --- nothing grows --- */

static void process_pages(long *mapped, long *resident)
{
  FILE *file = fopen("/proc/self/statm", "r");
  expect(file && fscanf(file, "%ld %ld", mapped, resident) == 2, "statm");
  fclose(file);
}

static void *be_short(void *heap)
{
  void *blocks[18];
  if (heap)
    hw_heap_set_for_thread(heap);
  for (int i = 0; i < 18; i++)
    memset(blocks[i] = malloc((size_t)1 << i), 1, (size_t)1 << i / 2);
  for (int i = 0; i < 18; i++)
    free(blocks[i]);
  return NULL;
}

/* A thousand are enough to reach what is needed. */
static void many_short_threads(void)
{
  enum { WARM = 1000, SLACK_PAGES = 4 << 8 };
  long mapped, resident, mapped_after, resident_after;
  struct hw_heap *heap = new_heap();
  for (int i = 0; i < SHORT_THREADS; i++) {
    if (i == WARM)
      process_pages(&mapped, &resident);
    run_thread(be_short, i % 2 ? heap : NULL);
  }
  process_pages(&mapped_after, &resident_after);
  expect(mapped_after <= mapped + SLACK_PAGES && resident_after <= resident + SLACK_PAGES, "memory grew");
}

static void leave_blocks(void)
{
  struct hw_heap *heap = new_heap();
  hw_heap_set_for_thread(heap);
  for (int i = 0; i < 3; i++)
    expect(malloc(1000), "a block");
  hw_heap_set_for_thread(NULL);
}

static const struct {
  const char *name;
  void (*run)(void);
} cases[] = {{"set", set},
             {"nest", nest},
             {"mix", mix},
             {"end", end},
             {"threads", run_threads},
             {"fork", fork_with_threads},
             {"fork-streams", fork_with_streams},
             {"fork-sections", fork_with_sections},
             {"no-memory", without_memory},
             {"libc", without_effect},
             {"libc-free", free_blocks_of_heaps},
             {"short", many_short_threads},
             {"leave", leave_blocks}};

int main(int argc, char **argv)
{
  const char *what = argc > 1 ? argv[1] : "";
  size_t i = 0;
  while (i < sizeof cases / sizeof *cases && strcmp(what, cases[i].name) != 0)
    i++;
  if (i < sizeof cases / sizeof *cases)
    cases[i].run();
  else if (!strcmp(what, "wrong"))
    do_wrong(argc > 2 ? argv[2] : "");
  else if (!strcmp(what, "soak"))
    soak(argc > 2 ? argv[2] : "1");
  else
    return 2;
  printf("done\n");
  return 0;
}
