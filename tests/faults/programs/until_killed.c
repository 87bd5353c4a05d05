/* until_killed.c - allocates blocks of 777 bytes and frees them until it is killed, counting in a file that outlives it
 * Usage: until_killed COUNTS ENDING THREADS. COUNTS gets two uint64_t per thread: allocations and frees that returned.
 * ENDING: forever, or grow (nothing is freed), or abort, _exit, segv, exec, overflow after 50,000 blocks. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BLOCK_BYTES = 777, BLOCKS_BEFORE_END = 50000, HELD = 16 };

static volatile uint64_t (*counts)[2];
static const char *ending;

static __attribute__((noinline)) long overflow(long level)
{
  volatile char frame[4096];
  frame[level % 4096] = 1;
  return overflow(level + 1) + frame[0];
}

static void end(void)
{
  if (!strcmp(ending, "abort"))
    abort();
  if (!strcmp(ending, "_exit"))
    _exit(3);
  if (!strcmp(ending, "segv"))
    *(volatile int *)8 = 1;
  if (!strcmp(ending, "overflow"))
    overflow(0);
  if (!strcmp(ending, "exec"))
    execl("/bin/true", "true", (char *)NULL);
}

static void *work(void *argument)
{
  volatile uint64_t *mine = counts[(intptr_t)argument];
  bool grows = !strcmp(ending, "grow");
  void *held[HELD] = {0};
  for (uint64_t i = 0;; i++) {
    if (i == BLOCKS_BEFORE_END)
      end();
    if (held[i % HELD] && !grows) {
      free(held[i % HELD]);
      mine[1]++;
    }
    held[i % HELD] = malloc(BLOCK_BYTES);
    mine[0]++;
  }
  return NULL;
}

int main(int argc, char **argv)
{
  if (argc < 4)
    return 2;
  long threads = atol(argv[3]);
  int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (fd < 0 || ftruncate(fd, 4096))
    return 2;
  counts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ending = argv[2];
  for (long i = 1; i < threads; i++) {
    pthread_t id;
    pthread_create(&id, NULL, work, (void *)i);
  }
  work(NULL);
}
