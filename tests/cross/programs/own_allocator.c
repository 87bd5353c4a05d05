/* own_allocator.c - a small allocator with the names of a jemalloc, for builds by other compilers and options than Debian's */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

/* In front of each block. */
struct header {
  size_t bytes;
  struct header *next; /* of the free ones */
};

enum { ARENA_BYTES = 1 << 26, ALIGN = 16 };
static _Alignas(4096) char arena[ARENA_BYTES];
static size_t used;
static struct header *free_ones;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void *je_memalign(size_t align, size_t size);
void je_free(void *block);

int je_mallctlnametomib(void)
{
  return 0;
}

static struct header *header_of(const void *block)
{
  return (struct header *)block - 1;
}

/* Takes the first free block of exactly this size. */
static void *take(size_t align, size_t bytes)
{
  for (struct header **at = &free_ones; *at; at = &(*at)->next) {
    struct header *found = *at;
    if (found->bytes != bytes || (uintptr_t)(found + 1) % align)
      continue;
    *at = found->next;
    return found + 1;
  }
  return NULL;
}

static void *make(size_t align, size_t bytes)
{
  const size_t at = (used + sizeof(struct header) + align - 1) / align * align;
  if (at > ARENA_BYTES || bytes > ARENA_BYTES - at)
    return NULL;
  used = at + bytes;
  header_of(arena + at)->bytes = bytes;
  return arena + at;
}

static void *allocate(size_t align, size_t size)
{
  const size_t bytes = (size + ALIGN - 1) / ALIGN * ALIGN;
  pthread_mutex_lock(&lock);
  void *block = take(align, bytes);
  block = block ? block : make(align, bytes);
  pthread_mutex_unlock(&lock);
  return block;
}

void *je_malloc(size_t size)
{
  return allocate(ALIGN, size);
}

void *je_memalign(size_t align, size_t size)
{
  return allocate(align < ALIGN ? ALIGN : align, size);
}

int je_posix_memalign(void **to, size_t align, size_t size)
{
  *to = je_memalign(align, size);
  return *to ? 0 : ENOMEM;
}

void *je_calloc(size_t count, size_t size)
{
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes))
    return NULL;
  void *block = je_malloc(bytes);
  return block ? memset(block, 0, bytes) : NULL;
}

void *je_realloc(void *old, size_t size)
{
  void *block = je_malloc(size);
  if (!old || !block)
    return block;
  const size_t before = header_of(old)->bytes;
  memcpy(block, old, before < size ? before : size);
  je_free(old);
  return block;
}

void je_free(void *block)
{
  if (!block)
    return;
  pthread_mutex_lock(&lock);
  header_of(block)->next = free_ones;
  free_ones = header_of(block);
  pthread_mutex_unlock(&lock);
}

size_t je_malloc_usable_size(void *block)
{
  return block ? header_of(block)->bytes : 0;
}

#ifdef __aarch64__
/* Has no landing pad. */
__asm__(".text; .globl je_no_pad; .type je_no_pad, %function\nje_no_pad: ret\n.size je_no_pad, . - je_no_pad");
#endif
