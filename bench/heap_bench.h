/* heap_bench.h - for the programs heap_*.c: random numbers, memory that is not from the measured malloc, threads, and figures of the process */
#ifndef BENCH_HEAP_BENCH_H
#define BENCH_HEAP_BENCH_H

#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { KIB = 1 << 10, MIB = 1 << 20, NS_PER_S = 1000000000 };

static inline uint32_t any(uint32_t *seed)
{
  *seed ^= *seed << 13;
  *seed ^= *seed >> 17;
  return *seed ^= *seed << 5;
}

/* Memory that is not from the measured malloc. */
static inline void *map(size_t bytes)
{
  void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED)
    exit(3);
  return at;
}

/* Both ends of the block are used. */
static inline void *get(size_t bytes)
{
  unsigned char *block = malloc(bytes);
  if (!block)
    exit(4);
  block[0] = block[bytes - 1] = 1;
  return block;
}

enum { MOST_THREADS = 65 };

static inline void in_threads(int count, void *(*body)(void *))
{
  pthread_t threads[MOST_THREADS];
  if (count > MOST_THREADS)
    exit(2);
  for (intptr_t i = 0; i < count; i++)
    pthread_create(&threads[i], NULL, body, (void *)i);
  for (int i = 0; i < count; i++)
    pthread_join(threads[i], NULL);
}

static inline void shuffle(void **blocks, size_t count)
{
  uint32_t seed = 17;
  for (size_t i = count; i > 1; i--) {
    size_t other = any(&seed) % i;
    void *block = blocks[i - 1];
    blocks[i - 1] = blocks[other];
    blocks[other] = block;
  }
}

/* A line of /proc/self/status, in kB. Calls no malloc. */
static inline unsigned long status_kb(const char *name)
{
  static char text[8192];
  int file = open("/proc/self/status", O_RDONLY);
  ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  text[length > 0 ? length : 0] = 0;
  const char *at = strstr(text, name);
  return at ? strtoul(at + strlen(name), NULL, 10) : 0;
}

static inline long long clock_now_ns(clockid_t clock)
{
  struct timespec now;
  clock_gettime(clock, &now);
  return (long long)now.tv_sec * NS_PER_S + now.tv_nsec;
}

static inline long page_faults(void)
{
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

#endif
