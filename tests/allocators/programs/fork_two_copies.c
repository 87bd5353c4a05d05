/* fork_two_copies.c - on libheapwright-heap, with heaps of its own from libheapwright-heaps.a. Prints "done"
 *
 * "call": a thread is in a call of the library's, and forks there, as a signal handler would. Another fork waits for that
 * call, after it has closed the locks of the program's own heaps.
 * "wait": a signal handler forks whose thread waits for a lock of the library's. Another fork, which has closed the locks
 * of the program's own heaps, lets threads through that wait.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <heapwright/heap.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 20, TIME_LIMIT_S = 60, PAUSE_NS = 20000000 };

static struct hw_heap *heap, *other; /* the program's own, and one of the library */
static atomic_bool is_in_call, may_end;

static void fail(const char *what)
{
  puts(what);
  fflush(stdout);
  _exit(1);
}

static void use_both(void)
{
  void *block = malloc(100), *own = hw_heap_alloc(heap, 100);
  if (!block || !own)
    fail("no memory");
  free(block);
  hw_heap_free(heap, own);
}

/* `is_within`: the child must not use malloc. */
static void fork_once(bool is_within)
{
  pid_t child = fork();
  if (child == 0) {
    if (is_within)
      hw_heap_free(heap, hw_heap_alloc(heap, 100));
    else
      use_both();
    _exit(0);
  }
  int status = 1;
  if (waitpid(child, &status, 0) != child || status)
    fail("a child did not come through");
}

/* A function of malloc's library: the program has its own of the same name. */
static void *in_library(const char *name)
{
  void *found = dlsym(RTLD_DEFAULT, name);
  if (!found || found == (void *)(uintptr_t)hw_heap_create)
    fail("the library is not there");
  return found;
}

static void pause_for_others(void)
{
  for (struct timespec left = {0, PAUSE_NS}; nanosleep(&left, &left);)
    continue;
}

static void walk_other(hw_heap_visit_fn *visit)
{
  ((void (*)(struct hw_heap *, hw_heap_visit_fn *, void *))in_library("hw_heap_walk"))(other, visit, NULL);
}

static pthread_t start(void *(*body)(void *))
{
  pthread_t thread;
  if (pthread_create(&thread, NULL, body, NULL))
    fail("no thread");
  return thread;
}

/* --- in a call --- */

static bool fork_in_visit(void *context, void *block, size_t bytes)
{
  (void)context, (void)block, (void)bytes;
  is_in_call = true;
  pause_for_others(); /* the other fork begins */
  fork_once(true);
  return false;
}

static void *fork_in_call(void *unused)
{
  walk_other(fork_in_visit);
  return unused;
}

static void forks_in_a_call(void)
{
  is_in_call = false;
  pthread_t thread = start(fork_in_call);
  while (!is_in_call)
    continue;
  fork_once(false);
  pthread_join(thread, NULL);
}

/* --- in a wait --- */

static bool wait_in_visit(void *context, void *block, size_t bytes)
{
  (void)context, (void)block, (void)bytes;
  is_in_call = true;
  while (!may_end)
    continue;
  return false;
}

static void *wait_in_call(void *unused)
{
  walk_other(wait_in_visit);
  return unused;
}

static void *wait_for_lock(void *unused)
{
  if (!((bool (*)(struct hw_heap *))in_library("hw_heap_set_for_thread"))(other))
    fail("not set");
  void *volatile block = malloc(100);
  free(block);
  return unused;
}

static void *fork_in_thread(void *unused)
{
  fork_once(true);
  return unused;
}

static void fork_in_handler(int number)
{
  (void)number;
  fork_once(true);
}

static void forks_in_a_wait(void)
{
  may_end = is_in_call = false;
  signal(SIGUSR1, fork_in_handler);
  pthread_t caller = start(wait_in_call);
  while (!is_in_call)
    continue;
  pthread_t waiter = start(wait_for_lock);
  pause_for_others();
  pthread_t forker = start(fork_in_thread);
  pause_for_others();
  pthread_kill(waiter, SIGUSR1);
  pause_for_others();
  may_end = true;
  pthread_join(caller, NULL);
  pthread_join(waiter, NULL);
  pthread_join(forker, NULL);
}

int main(int argc, char **argv)
{
  const struct hw_heap_config central = {.threads = HW_HEAP_CENTRAL};
  bool is_wait = argc > 1 && !strcmp(argv[1], "wait");
  alarm(TIME_LIMIT_S);
  heap = hw_heap_create(NULL, NULL);
  other = ((struct hw_heap * (*)(const struct hw_heap_config *, struct hw_heap_error *))
               in_library("hw_heap_create"))(is_wait ? &central : NULL, NULL);
  if (!heap || !other || !((void *(*)(struct hw_heap *, size_t))in_library("hw_heap_alloc"))(other, 100))
    fail("no heap");
  for (int round = 0; round < ROUNDS; round++) {
    if (is_wait)
      forks_in_a_wait();
    else
      forks_in_a_call();
    use_both();
  }
  puts("done");
  return 0;
}
