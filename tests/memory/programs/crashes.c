/* crashes.c - ends in the way that is named, with 1000 blocks of 100 bytes, after it has printed an address that matters */
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BLOCKS = 1000, BLOCK_BYTES = 100, HEADER_BYTES = 8 };

void *blocks[BLOCKS];

static void say(const void *address)
{
  printf("%#zx\n", (size_t)address);
}

static void read_null(void)
{
  say(NULL);
  *(volatile int *)NULL;
}

static void free_twice(void)
{
  void *twice = malloc(2000);
  void *volatile again = twice;
  malloc(1);
  say(twice);
  free(twice);
  free(again);
}

static void free_twice_into_cache(void)
{
  void *volatile again = blocks[500];
  say(again);
  free(blocks[500]);
  free(again);
}

static void free_inside(void)
{
  char *volatile block = blocks[500];
  say(block);
  free(block + 16);
}

/* Writes behind the end of a block, over the size of the next one, and frees that. */
static void overflow(void)
{
  char *block = malloc(2000), *next = malloc(2000);
  malloc(1);
  say(next);
  memset(block, 'x', (size_t)(next - block));
  free(next);
}

/* The same at the end of the arena: the next large block notices. */
static void overflow_top(void)
{
  char *block = malloc(2000);
  say(block);
  memset(block + 2000, 0x77, 24);
  malloc(1 << 16);
}

/* Writes into a block after it was freed, over its links. */
static void use_after_free(void)
{
  char *volatile block = malloc(2000);
  malloc(1);
  free(block);
  say(block);
  memset(block, 'y', 16);
  malloc(3000);
}

/* The same, into a block that its thread keeps. */
static void use_after_free_into_cache(void)
{
  char *volatile block = blocks[500];
  free(blocks[499]);
  free(block);
  say(block);
  memset(block, 'z', 8);
  malloc(BLOCK_BYTES);
  malloc(BLOCK_BYTES);
}

static void fail_assertion(void)
{
  say(NULL);
  assert(blocks[0] == NULL && "a block where none should be");
}

static void __attribute__((noinline)) smash(volatile char *at, size_t count)
{
  for (size_t i = 0; i < count; i++)
    at[i] = 'x';
}

static void __attribute__((noinline)) overflow_stack_array(void)
{
  volatile char array[16];
  smash(array, 64);
}

static void smash_stack(void)
{
  say(NULL);
  overflow_stack_array();
}

/* Each frame has a block that nothing else refers to. */
static int __attribute__((noinline)) recurse(volatile void *volatile *outer, int depth)
{
  volatile void *volatile own[64] = {malloc(BLOCK_BYTES)};
  outer[1] = own[0];
  return recurse(own, depth + 1) + (own[1] == outer[0]);
}

static void overflow_stack(void)
{
  volatile void *volatile outer[2] = {0};
  say(NULL);
  recurse(outer, 0);
}

static void *run_overflow_stack(void *unused)
{
  overflow_stack();
  return unused;
}

static void overflow_stack_of_thread(void)
{
  pthread_t thread;
  pthread_create(&thread, NULL, run_overflow_stack, NULL);
  pthread_join(thread, NULL);
}

static void die_of_abort(int number)
{
  (void)number;
  abort();
}

/* The handler of the signal has a stack of its own. */
static void overflow_stack_with_handler(void)
{
  enum { STACK_BYTES = 1 << 16 };
  const stack_t stack = {.ss_sp = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
                         .ss_size = STACK_BYTES};
  sigaltstack(&stack, NULL);
  sigaction(SIGSEGV, &(struct sigaction){.sa_handler = die_of_abort, .sa_flags = SA_ONSTACK}, NULL);
  overflow_stack();
}

static void use_all_memory(void)
{
  void **last = NULL;
  say(NULL);
  for (;;) {
    void **block = malloc(4096);
    if (!block)
      abort();
    *block = last;
    last = block;
  }
}

static const struct {
  const char *name;
  void (*end)(void);
} ends[] = {{"null", read_null},
            {"twice", free_twice},
            {"twice-cache", free_twice_into_cache},
            {"inside", free_inside},
            {"overflow", overflow},
            {"top", overflow_top},
            {"links", use_after_free},
            {"links-cache", use_after_free_into_cache},
            {"assert", fail_assertion},
            {"smash", smash_stack},
            {"stack", overflow_stack},
            {"stack-thread", overflow_stack_of_thread},
            {"stack-handler", overflow_stack_with_handler},
            {"memory", use_all_memory}};

int main(int argc, char **argv)
{
  (void)argc;
  setvbuf(stdout, NULL, _IONBF, 0); /* a buffer would be one more block */
  for (int i = 0; i < BLOCKS; i++)
    blocks[i] = malloc(BLOCK_BYTES);
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
    if (strcmp(ends[i].name, argv[1]) == 0)
      ends[i].end();
}
