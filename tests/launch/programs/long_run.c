/* long_run.c - what a program does in a week, in seconds: it allocates and frees at random, and some blocks live for long
 * Usage: long_run COUNTS ROUNDS THREADS PAUSE_US. COUNTS gets what it knows of itself, in a file that outlives it; ROUNDS 0: until
 * it is killed; PAUSE_US: after each 2,000 rounds. Each thread has its own counts; every 20,000 rounds another thread comes and goes,
 * which leaves a block. Some blocks are freed by another thread, some are moved by realloc after a long time. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SLOTS = 2000, KINDS = 4, THREADS = 8, BLOCKS_A_PAUSE = 2000, ROUNDS_A_GUEST = 20000 };
enum { SHORT_LIVED, LONG_LIVED, MOVED, GUESTS };

struct counts {
  uint64_t calls, frees, bytes;
  int64_t live_blocks[KINDS], live_bytes[KINDS];
};
static volatile struct counts *all;
static unsigned long rounds, pause_us;

struct slot {
  void *block;
  size_t size;
  int kind;
};

__attribute__((noinline)) static void *short_lived(size_t size)
{
  void *block = malloc(size);
  __asm__ volatile("");
  return block;
}

__attribute__((noinline)) static void *long_lived(size_t size)
{
  void *block = malloc(size);
  __asm__ volatile("");
  return block;
}

__attribute__((noinline)) static void *moved(void *old, size_t size)
{
  void *block = realloc(old, size);
  __asm__ volatile("");
  return block;
}

__attribute__((noinline)) static void *left_by_guest(size_t size)
{
  void *block = malloc(size);
  __asm__ volatile("");
  return block;
}

static void count(volatile struct counts *mine, const struct slot *slot, int sign)
{
  mine->calls += sign > 0;
  mine->frees += sign < 0;
  mine->bytes += sign > 0 ? slot->size : 0;
  mine->live_blocks[slot->kind] += sign;
  mine->live_bytes[slot->kind] += sign * (int64_t)slot->size;
}

static void *guest(void *argument)
{
  struct slot *slot = argument;
  free(slot->block); /* of another thread */
  slot->block = left_by_guest(slot->size);
  return NULL;
}

static void *work(void *argument)
{
  volatile struct counts *mine = &all[(intptr_t)argument];
  struct slot *slots = mmap(NULL, sizeof *slots * SLOTS, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  uint32_t random = 12345 + (uint32_t)(intptr_t)argument;
  for (unsigned long i = 0; !rounds || i < rounds; i++) {
    random = random * 1664525 + 1013904223;
    struct slot *slot = &slots[random >> 12 & 2047];
    if (slot >= &slots[SLOTS])
      continue;
    const size_t size = 16 + (random >> 4) % 600;
    if (pause_us && i % BLOCKS_A_PAUSE == 0)
      usleep((useconds_t)pause_us);
    if (i % ROUNDS_A_GUEST == ROUNDS_A_GUEST - 1 && slot->block) {
      pthread_t id;
      count(mine, slot, -1);
      slot->kind = GUESTS;
      if (pthread_create(&id, NULL, guest, slot) || pthread_join(id, NULL))
        abort();
      count(mine, slot, 1);
      continue;
    }
    if (slot->block && slot->kind != SHORT_LIVED && random >> 3 & 63)
      continue; /* it lives on */
    if (slot->block && (random & 127) == 0) {
      count(mine, slot, -1);
      *slot = (struct slot){moved(slot->block, size), size, MOVED};
      count(mine, slot, 1);
      continue;
    }
    if (slot->block) {
      free(slot->block);
      count(mine, slot, -1);
    }
    slot->kind = (random >> 22) % 500 ? SHORT_LIVED : LONG_LIVED;
    slot->size = size;
    slot->block = slot->kind == SHORT_LIVED ? short_lived(size) : long_lived(size);
    count(mine, slot, 1);
  }
  return NULL;
}

int main(int argc, char **argv)
{
  if (argc < 5)
    return 2;
  int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (fd < 0 || ftruncate(fd, 4096))
    return 2;
  all = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  rounds = strtoul(argv[2], NULL, 10);
  pause_us = strtoul(argv[4], NULL, 10);
  pthread_t ids[THREADS];
  const long threads = atol(argv[3]);
  for (long i = 1; i < threads; i++)
    pthread_create(&ids[i], NULL, work, (void *)i);
  work(NULL);
  for (long i = 1; i < threads; i++)
    pthread_join(ids[i], NULL);
  _exit(0);
}
