/* rules_fork.c - fork: the child has its parent's heap, but no other thread that could release a lock */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
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

/* The amount of work is fixed, so that an allocator which never reuses memory needs no more of it than others. */
enum {
  THREAD_COUNT = 4,
  TURNS_EACH_FORK = 20,
  ROUNDS_EACH_TURN = 50,
  AT_ONCE = 64,
  SMALL_BYTES = 256,
  LARGE_BYTES = 20000
};

static sem_t turns;
static bool is_over;
static uint32_t round_count;

/* The threads do little but allocate, so that at nearly every fork some thread is inside the allocator. They hold many
 * blocks of one size, so that requests are not all met from a thread's own cache, and reach shared data. */
static void churn_once(uint32_t *state)
{
  void *held[AT_ONCE];
  size_t bytes = hwi_random_size(state, SMALL_BYTES);
  for (int i = 0; i < AT_ONCE; i++)
    held[i] = seen(malloc(bytes));
  held[0] = seen(realloc(held[0], hwi_random_size(state, LARGE_BYTES)));
  for (int i = 0; i < AT_ONCE; i++)
    free(held[i]);
}

static void *churn(void *argument)
{
  uint32_t state = (uint32_t)(uintptr_t)argument;
  for (;;) {
    if (sem_wait(&turns) != 0)
      continue;
    for (int i = 0; i < ROUNDS_EACH_TURN; i++) {
      if (__atomic_load_n(&is_over, __ATOMIC_RELAXED))
        return NULL;
      churn_once(&state);
      __atomic_fetch_add(&round_count, 1, __ATOMIC_RELAXED);
    }
  }
}

/* Returns when the threads are running, also on a busy machine. */
static void let_threads_go_on(void)
{
  uint32_t before = __atomic_load_n(&round_count, __ATOMIC_RELAXED);
  for (int i = 0; i < TURNS_EACH_FORK; i++)
    sem_post(&turns);
  while (__atomic_load_n(&round_count, __ATOMIC_RELAXED) == before)
    sched_yield();
}

static void *use_heap_on_thread(void *argument)
{
  use_heap();
  return argument;
}

/* SIGALRM ends a child that hangs. The parent's other threads do not exist in the child, so it creates a new one. */
static void go_on_in_child(void)
{
  pthread_t thread;
  hwi_conform_limit(hwi_conform_seconds / 2 + 1);
  use_heap();
  if (pthread_create(&thread, NULL, use_heap_on_thread, NULL) == 0)
    pthread_join(thread, NULL);
  _exit(HWI_RULE_KEPT);
}

/* The parent allocates only before some of the forks: if it did so before each, no other thread could be inside a heap
 * with one lock at a fork. */
static void fork_among_threads(int forks)
{
  enum { FORKS_UNTIL_USE = 8 };
  pthread_t threads[THREAD_COUNT];
  if (sem_init(&turns, 0, 0) != 0)
    hwi_conform_untried("there are no semaphores");
  for (uintptr_t i = 0; i < THREAD_COUNT; i++)
    if (pthread_create(&threads[i], NULL, churn, (void *)(i + 1)) != 0)
      hwi_conform_untried("threads cannot be made");
  hwi_conform_now("in fork, while threads allocate");
  for (int i = 0; i < forks; i++) {
    if (i % FORKS_UNTIL_USE == FORKS_UNTIL_USE - 1)
      use_heap();
    let_threads_go_on();
    pid_t child = fork();
    if (child == 0)
      go_on_in_child();
    hwi_conform_wait(child, "fork with threads");
  }
  __atomic_store_n(&is_over, true, __ATOMIC_RELAXED);
  for (int i = 0; i < THREAD_COUNT; i++)
    sem_post(&turns);
  for (int i = 0; i < THREAD_COUNT; i++)
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

/* --- with threads in stdio --- */

/* Holds the lock of libc's list of streams, and waits for the locks of the streams. */
static void *flush_all(void *argument)
{
  while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
    fflush(NULL);
    __atomic_fetch_add(&round_count, 1, __ATOMIC_RELAXED);
  }
  return argument;
}

/* Holds a stream's lock, and waits for malloc. */
static void *read_lines(void *argument)
{
  while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
    char *line = NULL;
    size_t bytes = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && getline(&line, &bytes, file) > 0)
      ;
    if (file)
      fclose(file);
    free(line);
  }
  return argument;
}

/* If a handler of pthread_atfork takes malloc's lock, it is held when libc's fork waits for the lock of the list of
 * streams. */
void hwi_rule_fork_stdio(void)
{
  enum { FORKS = 150 };
  pthread_t threads[THREAD_COUNT];
  for (int i = 0; i < THREAD_COUNT; i++)
    if (pthread_create(&threads[i], NULL, i % 2 ? flush_all : read_lines, NULL) != 0)
      hwi_conform_untried("threads cannot be made");
  hwi_conform_now("in fork, while threads are in stdio");
  for (int i = 0; i < FORKS; i++) {
    uint32_t before = __atomic_load_n(&round_count, __ATOMIC_RELAXED);
    while (__atomic_load_n(&round_count, __ATOMIC_RELAXED) == before)
      sched_yield();
    pid_t child = fork();
    if (child == 0)
      _exit(HWI_RULE_KEPT);
    hwi_conform_wait(child, "fork with threads in stdio");
  }
  __atomic_store_n(&is_over, true, __ATOMIC_RELAXED);
  for (int i = 0; i < THREAD_COUNT; i++)
    pthread_join(threads[i], NULL);
}
