/* test_heap_process.c - general heaps in a process that had other plans: its own handlers for forks, and many thread keys
 *
 * Breaks if a handler for forks that was there before the first heap cannot use heaps, or if the memory of ended threads is
 * lost in a process that has taken many keys.
 */
#include "heapwright/heap.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZES = 19, LEFT = 1000 };

static struct hw_heap *heap;
static int handled;
static void *left[LEFT]; /* blocks of an ended thread */

/* Returns false if a block is missing or damaged. */
static bool use(struct hw_heap *its)
{
  unsigned char *blocks[SIZES];
  for (int i = 0; i < SIZES; i++) {
    if (!(blocks[i] = hw_heap_alloc(its, (size_t)1 << i)))
      return false;
    memset(blocks[i], i, (size_t)1 << i);
  }
  bool is_right = true;
  for (int i = 0; i < SIZES; i++)
    is_right &= blocks[i][((size_t)1 << i) - 1] == i && hw_heap_free(its, blocks[i]) == HW_HEAP_OK;
  return is_right;
}

/* --- forks --- */

static void handle_fork(void)
{
  if (!heap)
    return;
  alarm(60); /* also in the child, which does not inherit it */
  struct hw_heap *own = hw_heap_create(NULL, NULL);
  bool is_right = own && use(own) && use(heap);
  hw_heap_collect(heap);
  hw_heap_destroy(own);
  for (int i = handled * 100; i < handled * 100 + 100; i++) {
    is_right &= hw_heap_free(heap, left[i]) == HW_HEAP_OK;
    left[i] = NULL;
  }
  handled += is_right;
}

static void *leave_blocks(void *argument)
{
  for (int i = 0; i < LEFT; i++)
    if (!(left[i] = hw_heap_alloc(heap, 1000)))
      return NULL;
  return argument;
}

static void run_thread(void *(*body)(void *))
{
  pthread_t thread;
  void *result;
  assert_int_equal(pthread_create(&thread, NULL, body, left), 0);
  assert_int_equal(pthread_join(thread, &result), 0);
  assert_ptr_equal(result, left);
}

static bool free_left(void)
{
  bool is_right = true;
  for (int i = 0; i < LEFT; i++)
    is_right &= hw_heap_free(heap, left[i]) == HW_HEAP_OK;
  hw_heap_collect(heap);
  struct hw_heap_stats stats;
  hw_heap_get_stats(heap, &stats);
  return is_right && hw_heap_check(heap, NULL) == HW_HEAP_OK && stats.used_bytes == 0;
}

/* Such a handler runs between the heap's own ones, when all heaps are closed. */
static void an_earlier_handler_for_forks_may_use_heaps(void **state)
{
  (void)state;
  void *own = hw_heap_alloc(heap, 1);
  run_thread(leave_blocks);
  hw_heap_free(heap, own);
  handled = 0;
  pid_t child = fork();
  if (!child)
    _exit(handled != 2 ? 1 : !use(heap) ? 2 : !free_left() ? 3 : 0);
  alarm(0);
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  assert_int_equal(handled, 2);
  assert_true(use(heap));
  assert_true(free_left());
}

/* --- thread keys --- */

static void *use_in_thread(void *argument)
{
  return use(heap) ? argument : NULL;
}

static void memory_of_an_ended_thread_goes_back(void **state)
{
  (void)state;
  run_thread(use_in_thread);
  hw_heap_collect(heap);
  struct hw_heap_stats stats;
  hw_heap_get_stats(heap, &stats);
  assert_int_equal(stats.used_bytes, 0);
}

/* --- all --- */

/* Before the first heap. Libc keeps the values of its first 32 keys in another way. */
static int set_up(void **state)
{
  (void)state;
  for (int i = 0; i < 40; i++) {
    pthread_key_t key;
    if (pthread_key_create(&key, NULL) != 0)
      return -1;
  }
  pthread_atfork(handle_fork, handle_fork, handle_fork);
  heap = hw_heap_create(NULL, NULL);
  return heap ? 0 : -1;
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(memory_of_an_ended_thread_goes_back),
      cmocka_unit_test(an_earlier_handler_for_forks_may_use_heaps),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
