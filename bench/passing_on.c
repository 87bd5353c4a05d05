/* passing_on.c - a library to preload that only passes malloc and free on: what any recorder costs at least */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

void *__libc_malloc(size_t size);
void __libc_free(void *block);

static void *(*next_malloc)(size_t) = __libc_malloc;
static void (*next_free)(void *) = __libc_free;

/* The next library's functions, as any recorder finds them. */
__attribute__((constructor)) static void find_next(void)
{
  next_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
  next_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
}

/* No tail call: a recorder has something to do when the block is there. */
void *malloc(size_t size)
{
  void *block = next_malloc(size);
  __asm__ volatile("" : "+r"(block));
  return block;
}

void free(void *block)
{
  next_free(block);
}
