/* thread_churn.c - a thousand threads that come and go, eight at a time, each with a few blocks
 * Usage: thread_churn THREADS BLOCKS STACK_BYTES */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static long blocks;

static void *work(void *argument)
{
  void **kept = malloc((size_t)blocks * sizeof *kept);
  for (long i = 0; i < blocks; i++)
    kept[i] = malloc((size_t)(16 + i));
  for (long i = 0; i < blocks; i++)
    free(kept[i]);
  free(kept);
  return argument;
}

int main(int argc, char **argv)
{
  enum { AT_ONCE = 8 };
  long threads = argc > 1 ? atol(argv[1]) : 1000;
  blocks = argc > 2 ? atol(argv[2]) : 10;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  if (argc > 3 && pthread_attr_setstacksize(&attributes, (size_t)atol(argv[3])))
    return 3;
  for (long done = 0; done < threads; done += AT_ONCE) {
    pthread_t ids[AT_ONCE];
    for (int i = 0; i < AT_ONCE; i++)
      if (pthread_create(&ids[i], &attributes, work, NULL))
        return 4;
    for (int i = 0; i < AT_ONCE; i++)
      pthread_join(ids[i], NULL);
  }
  puts("done");
  return 0;
}
