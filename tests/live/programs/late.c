/* late.c - a thread stays within realloc until the block that it gave back is allocated again by another thread, and WAIT_US longer; then
 * both go on. Ends when stdin ends. With -DSLOW, the library with that realloc. With -DPAIRS=N, so many blocks are allocated and freed
 * before, and then a line is awaited. */
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifndef WAIT_US
#define WAIT_US 1000000
#endif

#ifdef SLOW
_Atomic int has_moved;

void *realloc(void *block, size_t size)
{
  void *(*real)(void *, size_t) = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
  void *moved = real(block, size);
  if (size == 100000) {
    has_moved = 1;
    while (has_moved != 2)
      usleep(1000);
    usleep(WAIT_US);
  }
  return moved;
}
#else
extern _Atomic int has_moved;
enum { BYTES = 2000 };
static void *volatile block, *volatile guard, *volatile again;

static void *move(void *unused)
{
  block = realloc(block, 100000);
  return unused;
}

int main(void)
{
  pthread_t thread;
#ifdef PAIRS
  for (long i = 0; i < PAIRS; i++) {
    again = malloc(10);
    free(again);
  }
  getchar();
#endif
  mallopt(M_ARENA_MAX, 1);
  void *const before = block = malloc(BYTES);
  guard = malloc(BYTES); /* the block cannot grow in place */
  pthread_create(&thread, NULL, move, NULL);
  while (has_moved != 1)
    usleep(1000);
  again = malloc(BYTES);
  has_moved = 2;
  pthread_join(thread, NULL);
  puts(again == before ? "the same" : "another");
  fflush(stdout);
  getchar();
  return 0;
}
#endif
