/* thread_churn.c - threads that start and end, AT_ONCE of them alive at a time, each with a few blocks
 * Usage: thread_churn THREADS BLOCKS STACK_BYTES AT_ONCE */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static long blocks;
static pthread_barrier_t all_live;

static void *work(void *argument)
{
  void **kept = malloc((size_t)blocks * sizeof *kept);
  pthread_barrier_wait(&all_live);
  for (long i = 0; i < blocks; i++)
    kept[i] = malloc((size_t)(16 + i));
  for (long i = 0; i < blocks; i++)
    free(kept[i]);
  free(kept);
  return argument;
}

int main(int argc, char **argv)
{
  if (argc < 5)
    return 2;
  long threads = atol(argv[1]), at_once = atol(argv[4]);
  blocks = atol(argv[2]);
  pthread_t *ids = malloc((size_t)at_once * sizeof *ids);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  if (pthread_attr_setstacksize(&attributes, (size_t)atol(argv[3])))
    return 3;
  pthread_barrier_init(&all_live, NULL, (unsigned)at_once);
  for (long done = 0; done < threads; done += at_once) {
    for (long i = 0; i < at_once; i++)
      if (pthread_create(&ids[i], &attributes, work, NULL))
        return 4;
    for (long i = 0; i < at_once; i++)
      pthread_join(ids[i], NULL);
  }
  free(ids);
  puts("done");
  return 0;
}
