/* late_destructors.c - threads whose last events come from destructors that run after all others, while new threads
 * begin
 * Usage: late_destructors THREADS AT_ONCE */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { KEYS = 8, LATE_BLOCKS = 500, LATE_BYTES = 222, EARLY_BYTES = 111 };

static pthread_key_t keys[KEYS];

static void allocate(size_t bytes, int count)
{
  for (int i = 0; i < count; i++) {
    void *volatile block = malloc(bytes);
    free(block);
  }
}

static void late(void *rounds)
{
  allocate(LATE_BYTES, LATE_BLOCKS);
  if (rounds != (void *)1) /* again, after all other destructors */
    pthread_setspecific(keys[KEYS - 1], (char *)rounds - 1);
}

static void *work(void *argument)
{
  allocate(EARLY_BYTES, 10);
  pthread_setspecific(keys[KEYS - 1], (void *)PTHREAD_DESTRUCTOR_ITERATIONS);
  return argument;
}

int main(int argc, char **argv)
{
  long threads = argc > 1 ? atol(argv[1]) : 100, at_once = argc > 2 ? atol(argv[2]) : 4;
  pthread_t *ids = malloc((size_t)threads * sizeof *ids);
  for (int i = 0; i < KEYS; i++)
    pthread_key_create(&keys[i], late);
  for (long i = 0; i < threads + at_once; i++) { /* the next begins while the ones before it end */
    if (i >= at_once)
      pthread_join(ids[i - at_once], NULL);
    if (i < threads && pthread_create(&ids[i], NULL, work, NULL))
      return 3;
  }
  free(ids);
  puts("done");
}
