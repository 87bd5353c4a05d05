/* churn.c - eight threads that replace blocks of all sizes all the time, also those of other threads
 *
 * Prints the address of the table of blocks, how many entries it has, and its PID. An entry has no block only while it is replaced, which
 * each thread does with one at a time. With an argument, threads rest in between.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 8, BLOCKS = 4096, BETWEEN_RESTS = 10, REST_US = 1000 };

static int rests;

static _Atomic(void *) blocks[BLOCKS];

static size_t size_of(uint32_t number)
{
  const uint32_t small = number >> 8 & 1023;
  return number % 8 ? small : small * 8;
}

static void *run(void *seed)
{
  uint32_t number = (uint32_t)(uintptr_t)seed;
  for (unsigned i = 0;; i++) {
    if (rests && i % BETWEEN_RESTS == 0)
      usleep(REST_US);
    number = number * 1664525 + 1013904223;
    _Atomic(void *) *entry = &blocks[number >> 4 & (BLOCKS - 1)];
    char *block = *entry;
    if (!block ||
        !__atomic_compare_exchange_n((void **)entry, (void **)&block, NULL, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
      continue;
    const size_t bytes = size_of(number) + 16;
    if (number % 7 == 0) {
      block = realloc(block, bytes);
    } else {
      free(block);
      block = number % 11 ? malloc(bytes) : calloc(1, bytes);
    }
    if (block)
      memset(block, 0x5a, bytes < 64 ? bytes : 64);
    *entry = block;
  }
  return NULL;
}

int main(int count, char **words)
{
  pthread_t threads[THREADS];
  (void)words;
  rests = count > 1;
  for (int i = 0; i < BLOCKS; i++)
    blocks[i] = malloc(100);
  for (uintptr_t i = 0; i < THREADS; i++)
    pthread_create(&threads[i], NULL, run, (void *)(i + 1));
  usleep(100000);
  printf("%#zx %d %d\n", (size_t)blocks, BLOCKS, getpid());
  fflush(stdout);
  pause();
}
