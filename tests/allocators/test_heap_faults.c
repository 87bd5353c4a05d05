/* test_heap_faults.c - a general heap and wrong calls, and where there is no memory: faults are found, and requests that fail
 * change nothing
 *
 * Breaks if a wrong address is freed, if a damaged record is not found, or if a request that fails damages the heap.
 */
#include "mappings.h"
#include "new_heap.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- faults --- */

struct seen {
  int count;
  enum hw_heap_fault fault;
  void *address;
};

static void see_fault(void *context, struct hw_heap *heap, enum hw_heap_fault fault, void *address)
{
  (void)heap;
  struct seen *seen = context;
  *seen = (struct seen){seen->count + 1, fault, address};
}

static void expect_fault(struct hw_heap *heap, struct seen *seen, void *address, enum hw_heap_fault fault)
{
  int before = seen->count;
  assert_int_equal(hw_heap_free(heap, address), fault);
  assert_int_equal(seen->count, before + 1);
  assert_int_equal(seen->fault, fault);
  assert_ptr_equal(seen->address, address);
  assert_true(strlen(hw_heap_fault_text(fault)) > 0);
}

static void faults_are_found_and_change_nothing(void **state)
{
  (void)state;
  struct seen seen = {0};
  const struct hw_heap_config config = {.check_all_frees = true, .on_fault = see_fault, .fault_context = &seen};
  struct hw_heap *heap = hw_heap_create(&config, NULL), *other = new_heap();
  static const size_t sizes[] = {1, 16, 40, 5000, LARGEST, 100000, 5 * MIB};
  char on_stack[64];
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    char *block = hw_heap_alloc(heap, sizes[i]), *others = hw_heap_alloc(other, sizes[i]);
    memset(block, 0, sizes[i]);
    expect_fault(heap, &seen, block + 8, HW_HEAP_NOT_A_BLOCK);
    if (sizes[i] > 16)
      expect_fault(heap, &seen, block + 16, HW_HEAP_NOT_A_BLOCK);
    if (sizes[i] > 70000)
      expect_fault(heap, &seen, block + 65536, HW_HEAP_NOT_A_BLOCK);
    expect_fault(heap, &seen, others, HW_HEAP_FOREIGN);
    int before = seen.count;
    assert_int_equal(hw_heap_usable_bytes(heap, block + 8), 0);
    assert_null(hw_heap_realloc(heap, block + 8, 1));
    assert_int_equal(seen.count, before + 2);
    assert_int_equal(hw_heap_free(heap, block), HW_HEAP_OK);
    expect_fault(heap, &seen, block, sizes[i] <= LARGEST ? HW_HEAP_FREED : HW_HEAP_NOT_A_BLOCK);
    if (sizes[i] <= LARGEST && sizes[i] >= 16) {
      memset(block + 8, 0, 8);
      expect_fault(heap, &seen, block, HW_HEAP_FREED);
    }
    assert_int_equal(hw_heap_free(other, others), HW_HEAP_OK);
  }
  static void *const wild[] = {(void *)8, (void *)0x1234567890, (void *)-16, (void *)0xdeadbeefdeadbee0};
  for (size_t i = 0; i < sizeof wild / sizeof *wild; i++)
    expect_fault(heap, &seen, wild[i], HW_HEAP_FOREIGN);
  expect_fault(heap, &seen, on_stack, HW_HEAP_FOREIGN);
  assert_int_equal(hw_heap_free(heap, NULL), HW_HEAP_OK);
  expect_right(heap);
  hw_heap_destroy(heap);
  hw_heap_destroy(other);
}

enum { BLOCK_BYTES = 112, NEVER_GIVEN_OUT = 500 * BLOCK_BYTES }; /* from the first block of a page */

struct first_block {
  struct hw_heap *heap;
  char *block;
};

static struct first_block first_block_of(const struct hw_heap_config *config)
{
  struct hw_heap *heap = heap_with(config);
  return (struct first_block){heap, hw_heap_alloc(heap, BLOCK_BYTES)};
}

/* Returns `of` if both addresses were found to be no blocks. */
static void *free_what_is_no_block(void *of)
{
  const struct first_block *first = of;
  bool is_found = hw_heap_free(first->heap, first->block + HW_HEAP_ALIGN) == HW_HEAP_NOT_A_BLOCK &&
                  hw_heap_free(first->heap, first->block + NEVER_GIVEN_OUT) == HW_HEAP_NOT_A_BLOCK;
  return is_found ? of : NULL;
}

/* As the header says: of the thread's own page only if each free is checked, and of another thread's always. */
static void what_was_never_given_out_is_no_block(void **state)
{
  (void)state;
  static const struct hw_heap_config configs[] = {{.check_all_frees = true}, {.check_all_frees = false}};
  struct first_block checked = first_block_of(&configs[0]), others = first_block_of(&configs[1]);
  void *result;
  pthread_t thread;
  assert_non_null(free_what_is_no_block(&checked));
  assert_int_equal(pthread_create(&thread, NULL, free_what_is_no_block, &others), 0);
  pthread_join(thread, &result);
  assert_non_null(result);
  expect_right(checked.heap);
  expect_right(others.heap);
  hw_heap_destroy(checked.heap);
  hw_heap_destroy(others.heap);
}

/* The check by default: a word that looks as in a free block is not taken for one. */
static void a_block_freed_twice_is_found_by_default(void **state)
{
  (void)state;
  struct hw_heap *heap = new_heap();
  uintptr_t *block = hw_heap_alloc(heap, 64), *another = hw_heap_alloc(heap, 64);
  assert_int_equal(hw_heap_free(heap, block), HW_HEAP_OK);
  assert_int_equal(hw_heap_free(heap, block), HW_HEAP_FREED);
  another[1] = block[1];
  assert_int_equal(hw_heap_free(heap, another), HW_HEAP_OK);
  expect_right(heap);
  hw_heap_destroy(heap);
}

/* So a second free of it is found for some time, if each free is checked: others that are free are given out before. */
static void a_checked_block_is_not_given_out_again_at_once(void **state)
{
  (void)state;
  static const size_t sizes[] = {64, 8192};
  enum { BLOCKS = 20, OTHERS = BLOCKS - 1 };
  const struct hw_heap_config config = {.check_all_frees = true};
  for (size_t i = 0; i < COUNT(sizes); i++) {
    struct hw_heap *heap = heap_with(&config);
    void *blocks[BLOCKS];
    for (int k = 0; k < BLOCKS; k++)
      blocks[k] = hw_heap_alloc(heap, sizes[i]);
    for (int k = 0; k < BLOCKS; k++)
      assert_int_equal(hw_heap_free(heap, blocks[k]), HW_HEAP_OK);
    void *block = hw_heap_alloc(heap, sizes[i]);
    assert_int_equal(hw_heap_free(heap, block), HW_HEAP_OK);
    for (int k = 0; k < OTHERS; k++)
      assert_ptr_not_equal(hw_heap_alloc(heap, sizes[i]), block);
    assert_int_equal(hw_heap_free(heap, block), HW_HEAP_FREED);
    expect_right(heap);
    hw_heap_destroy(heap);
  }
}

/* --- each free is checked: also of several threads, and if the program has written to what is free --- */

enum { SAME_BLOCKS = 2000, FREEING_THREADS = 4 };

struct same_blocks {
  struct hw_heap *heap;
  pthread_barrier_t begin;
  void *blocks[SAME_BLOCKS];
  unsigned freed_count;
};

static void *free_same_blocks(void *argument)
{
  struct same_blocks *same = argument;
  pthread_barrier_wait(&same->begin);
  for (int i = 0; i < SAME_BLOCKS; i++) {
    enum hw_heap_fault fault = hw_heap_free(same->heap, same->blocks[i]);
    if (fault == HW_HEAP_OK)
      __atomic_fetch_add(&same->freed_count, 1, __ATOMIC_RELAXED);
    else if (fault != HW_HEAP_FREED)
      return same->blocks[i];
  }
  return NULL;
}

/* Of several threads that free the same block, one does. None allocates meanwhile, so that no block is given out again. */
static void each_block_is_freed_once(struct hw_heap *heap, size_t bytes)
{
  static struct same_blocks same;
  pthread_t threads[FREEING_THREADS];
  same = (struct same_blocks){.heap = heap};
  for (int i = 0; i < SAME_BLOCKS; i++)
    same.blocks[i] = hw_heap_alloc(heap, bytes);
  assert_int_equal(pthread_barrier_init(&same.begin, NULL, FREEING_THREADS), 0);
  for (int i = 0; i < FREEING_THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, free_same_blocks, &same), 0);
  for (int i = 0; i < FREEING_THREADS; i++) {
    void *wrong;
    assert_int_equal(pthread_join(threads[i], &wrong), 0);
    assert_null(wrong);
  }
  pthread_barrier_destroy(&same.begin);
  assert_int_equal(same.freed_count, SAME_BLOCKS);
  for (int i = 0; i < SAME_BLOCKS; i++)
    assert_int_equal(hw_heap_usable_bytes(heap, same.blocks[i]), 0);
}

struct overwritten {
  struct hw_heap *heap;
  char *block;
  size_t bytes;
};

static void *free_again(void *argument)
{
  const struct overwritten *test = argument;
  return (void *)(uintptr_t)hw_heap_free(test->heap, test->block);
}

static enum hw_heap_fault free_in_a_thread(struct overwritten *test)
{
  pthread_t thread;
  void *fault;
  assert_int_equal(pthread_create(&thread, NULL, free_again, test), 0);
  assert_int_equal(pthread_join(thread, &fault), 0);
  return (enum hw_heap_fault)(uintptr_t)fault;
}

/* Freed by this thread or by another one, and then by either. */
static void an_overwritten_block_is_free(struct hw_heap *heap, size_t bytes)
{
  for (int order = 0; order < 4; order++) {
    struct overwritten test = {heap, hw_heap_alloc(heap, bytes), bytes};
    void *others[] = {hw_heap_alloc(heap, bytes), hw_heap_alloc(heap, bytes)}; /* its page stays */
    assert_int_equal(order & 1 ? free_in_a_thread(&test) : hw_heap_free(heap, test.block), HW_HEAP_OK);
    char link_and_mark[16];
    memcpy(link_and_mark, test.block, sizeof link_and_mark);
    memset(test.block, 0, bytes);
    assert_int_equal(order & 2 ? free_in_a_thread(&test) : hw_heap_free(heap, test.block), HW_HEAP_FREED);
    assert_int_equal(hw_heap_usable_bytes(heap, test.block), 0);
    assert_null(hw_heap_realloc(heap, test.block, 2 * bytes));
    memcpy(test.block, link_and_mark, sizeof link_and_mark);
    for (size_t i = 0; i < COUNT(others); i++)
      assert_int_equal(hw_heap_free(heap, others[i]), HW_HEAP_OK);
  }
}

/* So is the next block of a page, of which the memory is part, but which was never given out. */
static void a_block_that_was_never_given_out_is_free(struct hw_heap *heap)
{
  char *block = hw_heap_alloc(heap, 1000), *next = block + hw_heap_usable_bytes(heap, block);
  memset(next, 0, 16);
  assert_int_equal(hw_heap_free(heap, next), HW_HEAP_FREED);
}

static void each_free_is_checked(void **state)
{
  (void)state;
  static const size_t sizes[] = {16, 100, 4096, 8192, 32768};
  const struct hw_heap_config config = {.check_all_frees = true};
  for (size_t i = 0; i < COUNT(sizes); i++) {
    struct hw_heap *heap = heap_with(&config);
    an_overwritten_block_is_free(heap, sizes[i]);
    expect_right(heap);
    each_block_is_freed_once(heap, sizes[i]);
    expect_right(heap);
    hw_heap_destroy(heap);
  }
  struct hw_heap *heap = heap_with(&config);
  a_block_that_was_never_given_out_is_free(heap);
  hw_heap_destroy(heap);
}

static void expect_no_block(struct hw_heap *heap, struct seen *seen, void *address, enum hw_heap_fault fault)
{
  int before = seen->count;
  assert_int_equal(hw_heap_usable_bytes(heap, address), 0);
  assert_int_equal(seen->fault, fault);
  assert_null(hw_heap_realloc(heap, address, 10));
  assert_null(hw_heap_realloc(heap, address, 100000));
  assert_int_equal(seen->fault, fault);
  assert_int_equal(seen->count, before + 3);
}

/* A block that is free is not resized, also not to its own size: it would have two owners. */
static void a_free_block_is_not_resized(void **state)
{
  (void)state;
  static const size_t sizes[] = {1, 40, 5000, LARGEST, 100000, 5 * MIB};
  for (int checks = 0; checks < 2; checks++) {
    struct seen seen = {0};
    const struct hw_heap_config config = {.check_all_frees = checks, .on_fault = see_fault, .fault_context = &seen};
    struct hw_heap *heap = hw_heap_create(&config, NULL);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
      void *kept = hw_heap_alloc(heap, sizes[i]), *block = hw_heap_alloc(heap, sizes[i]);
      assert_true(hw_heap_usable_bytes(heap, block) >= sizes[i]);
      assert_int_equal(hw_heap_free(heap, block), HW_HEAP_OK);
      expect_no_block(heap, &seen, block, sizes[i] <= LARGEST ? HW_HEAP_FREED : HW_HEAP_NOT_A_BLOCK);
      assert_int_equal(hw_heap_free(heap, kept), HW_HEAP_OK);
    }
    expect_right(heap);
    assert_int_equal(used_bytes(heap), 0);
    hw_heap_destroy(heap);
  }
}

static void the_check_finds_a_write_to_a_free_block(void **state)
{
  (void)state;
  struct hw_heap *heap = new_heap();
  uintptr_t *blocks[3];
  for (int i = 0; i < 3; i++)
    blocks[i] = hw_heap_alloc(heap, 48);
  for (int i = 0; i < 3; i++)
    hw_heap_free(heap, blocks[i]);
  expect_right(heap);
  uintptr_t next = blocks[2][0];
  void *where;
  static const uintptr_t wrong[] = {1, 0x1234567890, UINTPTR_MAX};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    blocks[2][0] = wrong[i];
    assert_int_equal(hw_heap_check(heap, &where), HW_HEAP_DAMAGED);
    assert_true((uintptr_t)blocks[2] - (uintptr_t)where < 65536);
  }
  blocks[2][0] = (uintptr_t)blocks[2]; /* a cycle */
  assert_int_equal(hw_heap_check(heap, NULL), HW_HEAP_DAMAGED);
  blocks[2][0] = next;
  expect_right(heap);
  hw_heap_destroy(heap);
}

struct others {
  struct hw_heap *heap;
  uintptr_t *blocks[20];
};

static void *free_all(void *argument)
{
  struct others *others = argument;
  for (size_t i = 0; i < COUNT(others->blocks); i++)
    hw_heap_free(others->heap, others->blocks[i]);
  return NULL;
}

/* The links end before all blocks that another thread has freed were seen. */
static void the_check_finds_that_blocks_are_missing(void **state)
{
  (void)state;
  struct others others = {.heap = new_heap()};
  pthread_t thread;
  for (size_t i = 0; i < COUNT(others.blocks); i++)
    others.blocks[i] = hw_heap_alloc(others.heap, 1000);
  assert_int_equal(pthread_create(&thread, NULL, free_all, &others), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
  expect_right(others.heap);
  size_t links = 0;
  for (size_t i = 0; i < COUNT(others.blocks); i++) {
    uintptr_t next = others.blocks[i][0];
    others.blocks[i][0] = 0;
    links += next != 0;
    assert_int_equal(hw_heap_check(others.heap, NULL), next ? HW_HEAP_DAMAGED : HW_HEAP_OK);
    others.blocks[i][0] = next;
  }
  assert_int_equal(links, COUNT(others.blocks) - 1);
  expect_right(others.heap);
  hw_heap_destroy(others.heap);
}

/* --- no memory ---
 *
 * The limit of the address space is raised step by step, so that each mapping in turn is the first one that fails. */

static void *any_block(struct hw_heap *heap, int i)
{
  static const size_t sizes[] = {24, 3000, 30000, 200000, 1500000, 5000000};
  size_t bytes = sizes[i % 6];
  void *block = i % 5 == 4 ? hw_heap_alloc_aligned(heap, 8 * MIB, bytes) : hw_heap_alloc(heap, bytes);
  if (block && i % 3 == 2) {
    void *moved = hw_heap_realloc(heap, block, 3 * bytes);
    block = moved ? moved : block;
  }
  return block;
}

/* Returns whether all requests were met. Ends the process if the heap is not as it should be. */
static bool use_within_limit(const struct hw_heap_config *config, size_t limit)
{
  enum { BLOCKS = 60 };
  void *blocks[BLOCKS];
  size_t mapped, resident, failed = 0;
  process_pages(&mapped, &resident);
  struct rlimit old, new = {mapped * 4096 + limit, RLIM_INFINITY};
  assert_int_equal(getrlimit(RLIMIT_AS, &old), 0);
  assert_int_equal(setrlimit(RLIMIT_AS, &new), 0);
  struct hw_heap_error error = {"none", 0, NULL};
  struct hw_heap *heap = hw_heap_create(config, &error);
  if (!heap && (error.field || !error.rule))
    _exit(2);
  for (int i = 0; heap && i < BLOCKS; i++) {
    blocks[i] = any_block(heap, i);
    failed += !blocks[i];
    if (hw_heap_check(heap, NULL) != HW_HEAP_OK)
      _exit(3);
  }
  setrlimit(RLIMIT_AS, &old);
  if (!heap)
    return false;
  for (int i = 0; i < BLOCKS; i++)
    if (hw_heap_free(heap, blocks[i]) != HW_HEAP_OK || !(blocks[i] = any_block(heap, i)))
      _exit(4);
  if (hw_heap_check(heap, NULL) != HW_HEAP_OK)
    _exit(5);
  hw_heap_destroy(heap);
  return failed == 0;
}

/* Returns how many limits were too low. `step` is the first one. */
static int raise_limit(const struct hw_heap_config *config, size_t step)
{
  int failed = 0;
  bool is_enough = false;
  for (size_t limit = 0; !is_enough; limit += limit < 256 << 10 ? step : limit / 8) {
    int status;
    pid_t child = fork(); /* in each one, the first mapping is still to come */
    if (!child)
      _exit(use_within_limit(config, limit) ? 0 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_true(WEXITSTATUS(status) <= 1);
    is_enough = WEXITSTATUS(status) == 0;
    failed += !is_enough;
  }
  return failed;
}

static void without_memory_nothing_changes(void **state)
{
  (void)state;
  static const struct hw_heap_config another = {
      .threads = HW_HEAP_CENTRAL, .arena_bytes = 16 * MIB, .pages = HW_HEAP_PAGES_HUGE};
  assert_true(raise_limit(NULL, 4096) > 20);
  assert_true(raise_limit(&another, 64 << 10) > 20);
}

/* --- what the system refuses --- */

/* From now on, these calls fail with EPERM. */
static void refuse_calls(void)
{
  static struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mbind, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mlock, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
  };
  static const struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
    _exit(2);
}

static bool use_with_refusals(const struct hw_heap_config *config)
{
  enum { BLOCKS = 12 };
  void *blocks[BLOCKS];
  struct hw_heap *heap = hw_heap_create(config, NULL);
  for (int round = 0; heap && round < 2; round++) {
    for (int i = 0; i < BLOCKS; i++)
      if (!(blocks[i] = any_block(heap, i)))
        return false;
    for (int i = 0; i < BLOCKS; i++)
      if (hw_heap_free(heap, blocks[i]) != HW_HEAP_OK)
        return false;
    hw_heap_collect(heap);
  }
  bool is_right = heap && hw_heap_check(heap, NULL) == HW_HEAP_OK;
  hw_heap_destroy(heap);
  return is_right;
}

static void what_the_system_refuses_is_left_out(void **state)
{
  (void)state;
  static const struct hw_heap_config configs[] = {
      {.numa_node = HW_HEAP_NODE(0)},
      {.lock_memory = true},
      {.touch = true, .returns = HW_HEAP_RETURNS_AT_ONCE},
      {.pages = HW_HEAP_PAGES_TRANSPARENT, .returns = HW_HEAP_RETURNS_ABOVE},
  };
  for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
    int status;
    pid_t child = fork();
    if (!child) {
      refuse_calls();
      _exit(use_with_refusals(&configs[i]) ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
  }
}

/* Two heaps keep some 50 MiB that are free, 12 of them in large blocks, the rest in pages; there is address space for 40 MiB more. */
static bool use_what_is_free(void)
{
  enum { BLOCKS = 10, SMALL = 40000 };
  static void *large[BLOCKS], *small[SMALL];
  const struct hw_heap_config config = {.returns = HW_HEAP_RETURNS_ON_COLLECT};
  struct hw_heap *heap = hw_heap_create(&config, NULL), *other = hw_heap_create(&config, NULL);
  for (int i = 0; i < BLOCKS; i++)
    large[i] = hw_heap_alloc(heap, 3 * MIB);
  for (int i = 0; i < SMALL; i++)
    small[i] = hw_heap_alloc(other, 1000);
  for (int i = 0; i < BLOCKS; i++)
    hw_heap_free(heap, large[i]);
  for (int i = 0; i < SMALL; i++)
    hw_heap_free(other, small[i]);
  size_t mapped, resident;
  process_pages(&mapped, &resident);
  const struct rlimit limit = {mapped * 4096 + 40 * MIB, RLIM_INFINITY};
  setrlimit(RLIMIT_AS, &limit);
  char *block = hw_heap_alloc(heap, 64 * MIB);
  return block && memset(block, 1, 64 * MIB) && hw_heap_check(heap, NULL) == HW_HEAP_OK &&
         hw_heap_check(other, NULL) == HW_HEAP_OK && hw_heap_alloc(other, 1000) && !hw_heap_alloc(heap, 64 * MIB);
}

/* In a child, since the limits stay. The sanitizers need more address space. */
static void expect_in_child(bool (*is_right)(void))
{
#if defined HW_SANITIZED_ADDRESS || defined HW_SANITIZED_THREAD
  skip();
#endif
  int status;
  pid_t child = fork();
  if (!child)
    _exit(is_right() ? 0 : 1);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

static void what_is_free_goes_back_before_a_request_fails(void **state)
{
  (void)state;
  expect_in_child(use_what_is_free);
}

enum { KEPT_BYTES = 20 * MIB, REQUEST_BYTES = 64 * MIB };

static struct hw_heap *heap_without_lock(void)
{
  const struct hw_heap_config config = {
      .threads = HW_HEAP_SINGLE, .lock = HW_HEAP_LOCK_NONE, .returns = HW_HEAP_RETURNS_ON_COLLECT};
  struct hw_heap *heap = hw_heap_create(&config, NULL);
  void *blocks[KEPT_BYTES / MIB];
  for (size_t i = 0; i < COUNT(blocks); i++)
    blocks[i] = hw_heap_alloc(heap, MIB);
  for (size_t i = 0; i < COUNT(blocks); i++)
    hw_heap_free(heap, blocks[i]);
  return heap;
}

static void *ask_for_much(void *heap)
{
  return hw_heap_alloc(heap, REQUEST_BYTES);
}

/* What is free in a heap without a lock goes back for its own requests only. */
static bool keep_what_other_threads_have(void)
{
  pthread_t thread;
  pthread_attr_t attributes;
  void *block = NULL;
  size_t mapped, resident;
  struct hw_heap *heap = heap_without_lock(), *other = heap_without_lock(), *usual = hw_heap_create(NULL, NULL);
  process_pages(&mapped, &resident);
  const struct rlimit limit = {mapped * 4096 + 10 * MIB, RLIM_INFINITY};
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, MIB);
  if (setrlimit(RLIMIT_AS, &limit) || pthread_create(&thread, &attributes, ask_for_much, usual) ||
      pthread_join(thread, &block) || block)
    return false;
  bool is_kept = stats_of(heap).mapped_bytes >= KEPT_BYTES;
  block = ask_for_much(heap);
  return is_kept && !block && stats_of(heap).mapped_bytes < MIB && stats_of(other).mapped_bytes >= KEPT_BYTES;
}

static void other_threads_do_not_return_memory_of_a_heap_without_a_lock(void **state)
{
  (void)state;
  expect_in_child(keep_what_other_threads_have);
}

/* There is address space for arena_bytes, but not for as much as the heap would take now. */
static bool take_less_than_wanted(void)
{
  const struct hw_heap_config config = {.arena_bytes = 8 * MIB, .arena_growth_percent = 100};
  struct hw_heap *heap = hw_heap_create(&config, NULL);
  while (stats_of(heap).mapped_bytes < (8 + 16 + 32) * MIB)
    hw_heap_alloc(heap, 2 * MIB);
  size_t before = stats_of(heap).mapped_bytes, mapped, resident;
  process_pages(&mapped, &resident);
  const struct rlimit limit = {mapped * 4096 + 14 * MIB, RLIM_INFINITY};
  setrlimit(RLIMIT_AS, &limit);
  while (stats_of(heap).mapped_bytes == before)
    if (!hw_heap_alloc(heap, 2 * MIB))
      return false;
  bool has_arena_bytes = stats_of(heap).mapped_bytes == before + 8 * MIB;
  while (hw_heap_alloc(heap, 2 * MIB))
    ;
  return has_arena_bytes && stats_of(heap).mapped_bytes == before + 12 * MIB && hw_heap_check(heap, NULL) == HW_HEAP_OK;
}

static void a_smaller_arena_is_taken_before_a_request_fails(void **state)
{
  (void)state;
  expect_in_child(take_less_than_wanted);
}

/* There is room for the block, but not for more than it needs now. */
static bool grow_into_the_last_room(void)
{
  struct hw_heap *heap = hw_heap_create(NULL, NULL);
  char *block = hw_heap_alloc(heap, 200 << 10), *between = hw_heap_alloc(heap, 64 << 10),
       *room = hw_heap_alloc(heap, 384 << 10);
  size_t mapped, resident;
  process_pages(&mapped, &resident);
  const struct rlimit limit = {mapped * 4096, RLIM_INFINITY};
  setrlimit(RLIMIT_AS, &limit);
  while (hw_heap_alloc(heap, 64 << 10))
    ;
  memset(block, 7, 200 << 10);
  hw_heap_free(heap, room);
  char *grown = hw_heap_realloc(heap, block, 300 << 10);
  return between && grown && grown[0] == 7 && grown[(200 << 10) - 1] == 7 &&
         hw_heap_usable_bytes(heap, grown) < 384 << 10 && hw_heap_check(heap, NULL) == HW_HEAP_OK;
}

static void a_block_that_grows_needs_no_more_than_it_asks_for(void **state)
{
  (void)state;
  expect_in_child(grow_into_the_last_room);
}

/* It used to cost what all heaps kept. */
static void an_impossible_request_gives_nothing_back(void **state)
{
  (void)state;
  enum { BLOCKS = 4 };
  static const size_t sizes[] = {SIZE_MAX, SIZE_MAX / 2 + 2, SIZE_MAX / 2, SIZE_MAX / 2 - 4095};
  const struct hw_heap_config config = {.returns = HW_HEAP_RETURNS_ON_COLLECT};
  struct hw_heap *heap = hw_heap_create(&config, NULL), *other = hw_heap_create(&config, NULL);
  void *blocks[BLOCKS], *block = hw_heap_alloc(heap, 3 * MIB);
  for (int i = 0; i < BLOCKS; i++)
    blocks[i] = hw_heap_alloc(other, 3 * MIB);
  for (int i = 0; i < BLOCKS; i++)
    hw_heap_free(other, blocks[i]);
  size_t kept = stats_of(other).mapped_bytes;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    assert_null(hw_heap_alloc(heap, sizes[i]));
    assert_null(hw_heap_alloc_zeroed(heap, sizes[i]));
    assert_null(hw_heap_alloc_aligned(heap, 4096, sizes[i]));
    assert_null(hw_heap_realloc(heap, block, sizes[i]));
  }
  if (sizeof(size_t) == 8)
    assert_null(hw_heap_alloc(heap, (size_t)(UINT64_C(1) << 43))); /* more than all heaps of a process can have */
  assert_int_equal(stats_of(other).mapped_bytes, kept);
  hw_heap_collect(other);
  assert_true(stats_of(other).mapped_bytes < kept); /* else nothing was kept */
  hw_heap_destroy(heap);
  hw_heap_destroy(other);
}

/* What realloc leaves over goes back to the system, or to the heap. */
static void a_large_block_becomes_shorter(void **state)
{
  (void)state;
  struct hw_heap *heap = new_heap();
  char *block = hw_heap_alloc(heap, 64 * MIB);
  memset(block, 7, 64 * MIB);
  block = hw_heap_realloc(heap, block, 40 * MIB);
  assert_in_range(hw_heap_usable_bytes(heap, block), 40 * MIB, 45 * MIB);
  assert_true(hw_heap_resize_in_place(heap, block, 10));
  assert_in_range(hw_heap_usable_bytes(heap, block), 2 * MIB, 3 * MIB);
  assert_int_equal(block[0] + block[2 * MIB - 1], 14);
  block = hw_heap_realloc(heap, block, 3 * MIB / 2);
  assert_int_equal(block[3 * MIB / 2 - 1], 7);
  block = hw_heap_realloc(heap, block, MIB - 100);
  assert_in_range(hw_heap_usable_bytes(heap, block), MIB - 100, 9 * MIB / 8);
  expect_right(heap);
  assert_int_equal(hw_heap_free(heap, block), HW_HEAP_OK);
  hw_heap_destroy(heap);
}

/* A buffer that grows step by step is rarely copied: what it has more than was asked for stays, but not if it is asked for much less. */
static void a_grown_block_keeps_its_room(void **state)
{
  enum { KIB = 1024 };
  (void)state;
  struct hw_heap *heap = new_heap();
  char *block = hw_heap_alloc(heap, 250 * KIB), *behind = hw_heap_alloc(heap, 250 * KIB);
  assert_non_null(block);
  assert_non_null(behind);
  block = hw_heap_realloc(heap, block, 300 * KIB);
  assert_int_equal(hw_heap_usable_bytes(heap, block), 512 * KIB);
  for (size_t bytes = 310 * KIB; bytes <= 512 * KIB; bytes += 10 * KIB)
    assert_ptr_equal(hw_heap_realloc(heap, block, bytes), block);
  assert_ptr_equal(hw_heap_realloc(heap, block, 300 * KIB), block);
  assert_int_equal(hw_heap_usable_bytes(heap, block), 512 * KIB);
  assert_ptr_equal(hw_heap_realloc(heap, block, 200 * KIB), block);
  assert_in_range(hw_heap_usable_bytes(heap, block), 200 * KIB, 256 * KIB);
  char *asked = hw_heap_alloc(heap, 512 * KIB); /* what was asked for is no room */
  assert_ptr_equal(hw_heap_realloc(heap, asked, 300 * KIB), asked);
  assert_in_range(hw_heap_usable_bytes(heap, asked), 300 * KIB, 320 * KIB);
  expect_right(heap);
  hw_heap_destroy(heap);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(without_memory_nothing_changes), /* first: the process has no heap yet */
      cmocka_unit_test(what_the_system_refuses_is_left_out),
      cmocka_unit_test(a_block_that_grows_needs_no_more_than_it_asks_for),
      cmocka_unit_test(what_is_free_goes_back_before_a_request_fails),
      cmocka_unit_test(a_smaller_arena_is_taken_before_a_request_fails),
      cmocka_unit_test(other_threads_do_not_return_memory_of_a_heap_without_a_lock),
      cmocka_unit_test(an_impossible_request_gives_nothing_back),
      cmocka_unit_test(a_large_block_becomes_shorter),
      cmocka_unit_test(a_grown_block_keeps_its_room),
      cmocka_unit_test(faults_are_found_and_change_nothing),
      cmocka_unit_test(what_was_never_given_out_is_no_block),
      cmocka_unit_test(a_block_freed_twice_is_found_by_default),
      cmocka_unit_test(a_checked_block_is_not_given_out_again_at_once),
      cmocka_unit_test(each_free_is_checked),
      cmocka_unit_test(a_free_block_is_not_resized),
      cmocka_unit_test(the_check_finds_a_write_to_a_free_block),
      cmocka_unit_test(the_check_finds_that_blocks_are_missing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
