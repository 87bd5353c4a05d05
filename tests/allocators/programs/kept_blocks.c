/* kept_blocks.c - a thread frees blocks of the main thread: which of them it gets again, and which ones the main thread gets
 *
 * Prints how many the thread got again at once, and whether the main thread got most of those that the thread only freed.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { BYTES = 64, BLOCKS = 1000, AGAIN = 100 };

static void *blocks[BLOCKS];
static int again_count;
static pthread_barrier_t has_freed, may_end;

static void *use(void *unused)
{
  for (int i = 0; i < AGAIN; i++) {
    void *freed = blocks[i];
    free(freed);
    blocks[i] = malloc(BYTES);
    again_count += blocks[i] == freed;
  }
  for (int i = AGAIN; i < BLOCKS; i++)
    free(blocks[i]);
  pthread_barrier_wait(&has_freed);
  pthread_barrier_wait(&may_end);
  return unused;
}

static bool was_freed(const void *block)
{
  int i = AGAIN;
  while (i < BLOCKS && blocks[i] != block)
    i++;
  return i < BLOCKS;
}

int main(void)
{
  pthread_t thread;
  for (int i = 0; i < BLOCKS; i++)
    blocks[i] = malloc(BYTES);
  pthread_barrier_init(&has_freed, NULL, 2);
  pthread_barrier_init(&may_end, NULL, 2);
  pthread_create(&thread, NULL, use, NULL);
  pthread_barrier_wait(&has_freed);
  int back_count = 0;
  for (int i = AGAIN; i < BLOCKS; i++)
    back_count += was_freed(malloc(BYTES));
  pthread_barrier_wait(&may_end);
  pthread_join(thread, NULL);
  printf("again: %d; back: %s\n", again_count, back_count > (BLOCKS - AGAIN) / 2 ? "most" : "few");
  return 0;
}
