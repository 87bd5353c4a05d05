/* fork_two_copies.c - on libheapwright-heap, with heaps of its own from libheapwright-heaps.a. Prints "done"
 *
 * A thread is in a call of the library's, and forks there, as a signal handler would. Another fork waits for that call,
 * after it has closed the locks of the program's own heaps.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <heapwright/heap.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 20, TIME_LIMIT_S = 60, PAUSE_NS = 20000000 };

static struct hw_heap *heap;
static atomic_bool is_in_call;

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

static bool fork_in_visit(void *context, void *block, size_t bytes)
{
  (void)context, (void)block, (void)bytes;
  is_in_call = true;
  nanosleep(&(struct timespec){0, PAUSE_NS}, NULL); /* the other fork begins */
  fork_once(true);
  return false;
}

/* A function of malloc's library: the program has its own of the same name. */
static void *in_library(const char *name)
{
  void *found = dlsym(RTLD_DEFAULT, name);
  if (!found || found == (void *)(uintptr_t)hw_heap_create)
    fail("the library is not there");
  return found;
}

static void *fork_in_call(void *context)
{
  ((void (*)(struct hw_heap *, hw_heap_visit_fn *, void *))in_library("hw_heap_walk"))(context, fork_in_visit, NULL);
  return NULL;
}

int main(void)
{
  alarm(TIME_LIMIT_S);
  heap = hw_heap_create(NULL, NULL);
  struct hw_heap *other = ((struct hw_heap * (*)(const struct hw_heap_config *, struct hw_heap_error *))
                               in_library("hw_heap_create"))(NULL, NULL);
  if (!heap || !other || !((void *(*)(struct hw_heap *, size_t))in_library("hw_heap_alloc"))(other, 100))
    fail("no heap");
  for (int round = 0; round < ROUNDS; round++) {
    pthread_t thread;
    is_in_call = false;
    if (pthread_create(&thread, NULL, fork_in_call, other))
      fail("no thread");
    while (!is_in_call)
      ;
    fork_once(false);
    pthread_join(thread, NULL);
    use_both();
  }
  puts("done");
  return 0;
}
