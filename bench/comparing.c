/* comparing.c - a library to preload that passes malloc and free on, and compares 15 words of the stack, far apart as return addresses
 * are, with those of the call before: what it costs at least to be sure that a stack of 16 frames is a known one */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

enum { WORDS = 15, APART = 6 };

void *__libc_malloc(size_t size);
void __libc_free(void *block);

static void *(*next_malloc)(size_t) = __libc_malloc;
static void (*next_free)(void *) = __libc_free;

static struct {
  const uintptr_t *address;
  uintptr_t word;
} known[WORDS];

__attribute__((constructor)) static void find_next(void)
{
  next_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
  next_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
}

static __attribute__((noinline)) void *remember(size_t size, const uintptr_t *stack)
{
  for (int i = 0; i < WORDS; i++) {
    known[i].address = stack + APART * i;
    known[i].word = *known[i].address;
  }
  return next_malloc(size);
}

void *malloc(size_t size)
{
  const uintptr_t *stack = (const uintptr_t *)__builtin_frame_address(0) + 2;
  uintptr_t differs = (uintptr_t)known[0].address ^ (uintptr_t)stack;
  if (differs)
    return remember(size, stack);
#pragma GCC unroll 15
  for (int i = 0; i < WORDS; i++)
    differs |= *(const volatile uintptr_t *)known[i].address ^ known[i].word;
  return differs ? remember(size, stack) : next_malloc(size);
}

void free(void *block)
{
  next_free(block);
}
