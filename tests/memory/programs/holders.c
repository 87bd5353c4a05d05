// holders.c - holds 10 blocks of each size in one kind of place, loses 10 of a last size, and waits in two threads
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCKS = 10 };

static void *in_data[BLOCKS] = {&in_data};
static void *in_bss[BLOCKS];
static __thread void *in_thread[BLOCKS];
static __thread void *in_thread_with_value[BLOCKS] = {&in_data};
static pthread_barrier_t barrier;

static void fill(void **places, size_t bytes)
{
  for (int i = 0; i < BLOCKS; i++)
    places[i] = malloc(bytes);
}

static void clear_below(void)
{
  volatile char bytes[16384];
  for (size_t i = 0; i < sizeof bytes; i++)
    bytes[i] = 0;
}

__attribute__((noinline)) static void lose(size_t bytes)
{
  void *places[BLOCKS];
  fill(places, bytes);
  memset(places, 0, sizeof places);
  __asm__ volatile("" ::"r"(places) : "memory");
}

__attribute__((noinline)) static void hold(size_t bytes)
{
  void *on_stack[BLOCKS];
  fill(on_stack, bytes);
  fill(in_thread, bytes + 20);
  fill(in_thread_with_value, bytes + 40);
  lose(bytes + 60);
  clear_below();
  pthread_barrier_wait(&barrier);
  for (;;) {
    pause();
    __asm__ volatile("" ::"r"(on_stack) : "memory");
  }
}

static void *run(void *bytes)
{
  hold((size_t)bytes);
  return NULL;
}

int main(void)
{
  pthread_t thread;
  fill(in_data, 100);
  fill(in_bss, 200);
  pthread_barrier_init(&barrier, NULL, 3);
  pthread_create(&thread, NULL, run, (void *)300);
  pthread_create(&thread, NULL, run, (void *)500);
  pthread_barrier_wait(&barrier);
  clear_below();
  puts("ready");
  fflush(stdout);
  pause();
  return 0;
}
