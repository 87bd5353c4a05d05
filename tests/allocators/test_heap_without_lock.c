/* test_heap_without_lock.c - a heap without a lock, of which other threads know nothing
 *
 * Breaks if such a heap takes a lock, or if a fork by one thread disturbs the heap of another one.
 */
#include "new_heap.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "allocators/heap/heap_lock.h"
#include "allocators/heap/layout.h"

static const struct hw_heap_config without_lock = {.threads = HW_HEAP_SINGLE, .lock = HW_HEAP_LOCK_NONE};

/* Everything for which another heap takes its lock. */
static bool use(struct hw_heap *heap)
{
  enum { BLOCKS = 300 };
  void *blocks[BLOCKS];
  for (size_t i = 0; i < BLOCKS; i++)
    if (!(blocks[i] = hw_heap_alloc(heap, 1 + i % 100 * 300 + (i % 50 == 0) * i * 20000)))
      return false;
  bool is_right = hw_heap_check(heap, NULL) == HW_HEAP_OK && visited_bytes(heap) == used_bytes(heap);
  void *large = hw_heap_alloc(heap, 5 * MIB), *longer = hw_heap_realloc(heap, large, 6 * MIB);
  is_right &= longer && hw_heap_free(heap, longer) == HW_HEAP_OK;
  for (size_t i = 0; i < BLOCKS; i++)
    is_right &= hw_heap_free(heap, blocks[i]) == HW_HEAP_OK && hw_heap_free(heap, blocks[i]) != HW_HEAP_OK;
  hw_heap_collect(heap);
  return is_right && used_bytes(heap) == 0;
}

/* A thread that took the lock would wait for the thread 1 of this process, which is not one. */
static void no_lock_is_taken(void **state)
{
  (void)state;
  static const enum hw_heap_returns returns[] = {HW_HEAP_RETURNS_DEFAULT, HW_HEAP_RETURNS_AT_ONCE,
                                                 HW_HEAP_RETURNS_ON_COLLECT};
  for (size_t i = 0; i < COUNT(returns); i++) {
    struct hw_heap_config config = without_lock;
    config.returns = returns[i];
    struct hw_heap *heap = heap_with(&config);
    heap->lock.word = 1;
    assert_true(use(heap));
    assert_int_equal(heap->lock.word, 1);
    assert_null(hwi_heap_lock_of_thread);
    assert_true(hw_heap_destroy(heap));
  }
}

/* --- forks --- */

enum { THREADS = 3, FORKS = 30, PATIENCE_S = 60 };

static volatile bool is_over;

/* In each round, memory is taken and goes back. */
static void *use_until_over(void *heap)
{
  while (!is_over)
    if (!use(heap))
      return NULL;
  return heap;
}

/* The child has the heaps of its own thread, and can use all that threads share. */
static void *fork_and_use(void *own)
{
  for (int i = 0; i < FORKS; i++) {
    int status;
    pid_t child = fork();
    if (!child) {
      alarm(PATIENCE_S);
      struct hw_heap *other = hw_heap_create(NULL, NULL);
      bool is_right = use(own) && other && use(other);
      hwi_heaps_return_all(NULL); /* as if there were no memory */
      _exit(is_right && hw_heap_destroy(own) && hw_heap_destroy(other) ? 0 : 1);
    }
    if (waitpid(child, &status, 0) != child || status)
      return NULL;
  }
  return own;
}

static void forks_while_other_threads_use_theirs(void **state)
{
  (void)state;
#ifdef HW_SANITIZED_THREAD
  skip(); /* lists are followed while they change, link by link */
#endif
  struct hw_heap *heaps[THREADS], *own = heap_with(&without_lock);
  pthread_t threads[THREADS];
  void *result, *left = hw_heap_alloc(own, 1000);
  is_over = false;
  for (int i = 0; i < THREADS; i++) {
    struct hw_heap_config config = without_lock;
    config.returns = i ? HW_HEAP_RETURNS_AT_ONCE : HW_HEAP_RETURNS_DEFAULT;
    heaps[i] = heap_with(&config);
    assert_int_equal(pthread_create(&threads[i], NULL, use_until_over, heaps[i]), 0);
  }
  assert_int_equal(hw_heap_free(own, left), HW_HEAP_OK);
  assert_ptr_equal(fork_and_use(own), own);
  is_over = true;
  for (int i = 0; i < THREADS; i++) {
    assert_int_equal(pthread_join(threads[i], &result), 0);
    assert_ptr_equal(result, heaps[i]);
    expect_right(heaps[i]);
    assert_true(hw_heap_destroy(heaps[i]));
  }
  assert_true(hw_heap_destroy(own));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_lock_is_taken),
      cmocka_unit_test(forks_while_other_threads_use_theirs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
