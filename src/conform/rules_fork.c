/* rules_fork.c - fork: the child has the heap of its parent, and no other thread to unlock what was locked */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conform/conform.h"

enum { BLOCK_COUNT = 500, BLOCK_BYTES = 3000 };

static unsigned char *blocks[BLOCK_COUNT];

static void fill_blocks(void)
{
  for (uint32_t i = 0; i < BLOCK_COUNT; i++) {
    blocks[i] = seen(malloc(BLOCK_BYTES - i));
    EXPECT(blocks[i], "no memory");
    hwi_pattern_fill(blocks[i], BLOCK_BYTES - i, i);
  }
}

static void drop_blocks(void)
{
  for (uint32_t i = 0; i < BLOCK_COUNT; i++) {
    EXPECT(hwi_pattern_check(blocks[i], BLOCK_BYTES - i, i) == BLOCK_BYTES - i,
           "a block has other contents after fork");
    free(blocks[i]);
  }
}

static void use_heap(void)
{
  static const size_t sizes[] = {16, 100, 2000, 50000, 300000};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    unsigned char *block = seen(malloc(sizes[i]));
    EXPECT(block, "no memory");
    memset(block, 1, sizes[i]);
    block = seen(realloc(block, sizes[i] * 2));
    EXPECT(block, "no memory");
    free(block);
    free(seen(calloc(1, sizes[i])));
  }
}

void hwi_rule_fork_child(void)
{
  fill_blocks();
  hwi_conform_now("in the child of a fork");
  pid_t child = fork();
  if (child == 0) {
    drop_blocks();
    use_heap();
    pid_t grandchild = fork();
    if (grandchild == 0) {
      use_heap();
      _exit(HWI_RULE_KEPT);
    }
    hwi_conform_wait(grandchild, "fork in a child of fork");
    _exit(HWI_RULE_KEPT);
  }
  use_heap();
  hwi_conform_wait(child, "fork");
  drop_blocks();
}

/* --- with threads --- */

static bool is_over;

static void *churn(void *argument)
{
  uint32_t state = (uint32_t)(uintptr_t)argument;
  while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
    void *block = seen(malloc(hwi_random_size(&state, 20000)));
    free(seen(realloc(block, hwi_random_size(&state, 20000))));
    if (state % 64 == 0)
      sched_yield();
  }
  return NULL;
}

static void *use_heap_on_thread(void *argument)
{
  use_heap();
  return argument;
}

/* SIGALRM ends a child that hangs. Its other threads are gone, so it makes a new one. */
static void go_on_in_child(void)
{
  pthread_t thread;
  alarm(hwi_conform_seconds / 2 + 1);
  use_heap();
  if (pthread_create(&thread, NULL, use_heap_on_thread, NULL) == 0)
    pthread_join(thread, NULL);
  _exit(HWI_RULE_KEPT);
}

static void fork_among_threads(int forks)
{
  enum { THREADS = 3 };
  pthread_t threads[THREADS];
  for (uintptr_t i = 0; i < THREADS; i++)
    if (pthread_create(&threads[i], NULL, churn, (void *)(i + 1)) != 0)
      hwi_conform_untried("threads cannot be made");
  hwi_conform_now("in fork, while threads allocate");
  for (int i = 0; i < forks; i++) {
    pid_t child = fork();
    if (child == 0)
      go_on_in_child();
    hwi_conform_wait(child, "fork with threads");
    use_heap();
  }
  __atomic_store_n(&is_over, true, __ATOMIC_RELAXED);
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
}

void hwi_rule_fork_threads(void)
{
  fork_among_threads(40);
}

void hwi_rule_fork_handlers(void)
{
  if (pthread_atfork(use_heap, use_heap, use_heap) != 0)
    hwi_conform_untried("pthread_atfork fails");
  fork_among_threads(20);
}
