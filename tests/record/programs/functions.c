/* functions.c - functions that are scopes for --scope; the program's own scopes are around and inside some of them */
#include <heapwright/monitor.h>

#include <pthread.h>
#include <stdlib.h>

#define CALLED __attribute__((noinline, noclone))

static void *volatile kept[1000];
static int kept_count;

CALLED static void keep(size_t bytes)
{
  kept[kept_count++] = malloc(bytes);
}

/* One block of 100 bytes is freed here, one of 10 stays. */
CALLED static void decode(void)
{
  void *volatile block = malloc(100);
  keep(10);
  free(block);
}

CALLED static void render(int depth)
{
  keep(1000);
  if (depth > 1)
    render(depth - 1);
}

/* Both functions by turns, 20 times; then decode twice with nothing in between. */
CALLED static void work(void)
{
  for (int i = 0; i < 20; i++) {
    decode();
    render(2);
  }
  decode();
  decode();
}

/* Its two halves are split by a scope of the program inside. */
CALLED static void split(void)
{
  keep(1);
  {
    HW_SCOPE("inside");
    keep(2);
  }
  keep(4);
}

static void *run_thread(void *unused)
{
  for (int i = 0; i < 50; i++)
    decode();
  return unused;
}

int main(void)
{
  pthread_t thread;
  work();
  pthread_create(&thread, 0, run_thread, 0);
  pthread_join(thread, 0);
  {
    HW_SCOPE("frame");
    decode();
    split();
  }
  split();
  return kept_count == 0;
}
