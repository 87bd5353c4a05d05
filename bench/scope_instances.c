/* scope_instances.c - a program with many instances of scopes, for the page
 *
 * usage: scope_instances COUNT    so many instances, in four threads: frames of 100 to 300 steps, of which some allocate
 */
#include <heapwright/monitor.h>
#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 4, STEPS_LEAST = 100, STEPS_OTHER = 200, ALLOCATES = 7 };

static long instances_a_thread;

static void step(long i)
{
  HW_SCOPE("step");
  if (i % ALLOCATES == 0) {
    HW_SCOPE("decode");
    void *volatile block = malloc(64 + (size_t)(i % STEPS_OTHER));
    free(block);
  }
}

static void *work(void *number)
{
  hw_thread_name("worker");
  for (long done = 0, frame = 0; done < instances_a_thread; frame++) {
    HW_SCOPE_NUMBER("frame", frame);
    const long steps = STEPS_LEAST + frame * 37 % STEPS_OTHER;
    for (long i = 0; i < steps; i++)
      step(i);
    done += 1 + steps + (steps + ALLOCATES - 1) / ALLOCATES;
    HW_COUNTER("steps", (double)steps);
  }
  return number;
}

int main(int argc, char **argv)
{
  pthread_t threads[THREADS];
  if (argc != 2)
    return 2;
  instances_a_thread = atol(argv[1]) / THREADS;
  for (int i = 0; i < THREADS; i++)
    if (pthread_create(&threads[i], NULL, work, NULL))
      return 1;
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
}
