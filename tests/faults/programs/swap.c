/* swap.c - on swap_allocator.c: in the middle of each realloc of one thread, another frees its block and takes the old
 * place */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

enum { PLACE_BYTES = 4000, ROUNDS = 50, LONGER_THAN_A_TICK_US = 20 };

static _Atomic int *realloc_is_at_work;
static void *volatile others; /* block of the other thread */

static void *other_thread(void *unused)
{
  (void)unused;
  for (int i = 0; i < ROUNDS; i++) {
    while (!atomic_load(realloc_is_at_work))
      continue;
    usleep(LONGER_THAN_A_TICK_US);
    free(others);
    usleep(LONGER_THAN_A_TICK_US);
    others = malloc(PLACE_BYTES);
    usleep(LONGER_THAN_A_TICK_US);
    atomic_store(realloc_is_at_work, 0);
  }
  return NULL;
}

int main(void)
{
  pthread_t other;
  realloc_is_at_work = dlsym(RTLD_DEFAULT, "realloc_is_at_work");
  if (!realloc_is_at_work)
    return 2;
  void *block = malloc(PLACE_BYTES);
  others = malloc(PLACE_BYTES);
  if (pthread_create(&other, NULL, other_thread, NULL))
    return 2;
  for (int i = 0; i < ROUNDS; i++)
    block = realloc(block, PLACE_BYTES);
  pthread_join(other, NULL);
  free(block);
  free(others);
}
