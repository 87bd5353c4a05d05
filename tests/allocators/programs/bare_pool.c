/* bare_pool.c - a program without libc that has only a pool: linked with -nostdlib, its exit status says which check
 * failed */
#define HEAPWRIGHT_POOL_IMPLEMENTATION
#include "heapwright-pool.h"

enum { MEMORY_BYTES = 1 << 18, BLOCKS = 200, STEPS = 4000 };
enum { RIGHT = 0, INVALID = 1, OVERWRITTEN = 2, NOT_FREED = 3, NOT_WHOLE = 4, NO_POOL = 5 };

static unsigned char memory[MEMORY_BYTES];
static struct {
  unsigned char *at, pattern;
  size_t bytes;
} blocks[BLOCKS];

static unsigned any(void)
{
  static unsigned seed = 1;
  seed ^= seed << 13;
  seed ^= seed >> 17;
  return seed ^= seed << 5;
}

static void fill(unsigned which)
{
  blocks[which].pattern = (unsigned char)which;
  for (size_t i = 0; i < blocks[which].bytes; i++)
    ((volatile unsigned char *)blocks[which].at)[i] = blocks[which].pattern;
}

static bool is_kept(unsigned which)
{
  for (size_t i = 0; i < blocks[which].bytes; i++)
    if (blocks[which].at[i] != blocks[which].pattern)
      return false;
  return true;
}

static int step(struct hw_pool *pool)
{
  unsigned which = any() % BLOCKS;
  if (blocks[which].at && !is_kept(which))
    return OVERWRITTEN;
  if (!blocks[which].at) {
    blocks[which].bytes = any() % 4000;
    blocks[which].at = (unsigned char *)hw_pool_alloc_aligned(pool, (size_t)1 << any() % 8, blocks[which].bytes);
  } else if (any() % 4 == 0) {
    unsigned char *moved = (unsigned char *)hw_pool_realloc(pool, blocks[which].at, blocks[which].bytes / 2);
    blocks[which].bytes /= moved ? 2 : 1;
    blocks[which].at = moved ? moved : blocks[which].at;
  } else {
    if (hw_pool_free(pool, blocks[which].at) != HW_POOL_OK)
      return NOT_FREED;
    blocks[which].at = NULL;
  }
  if (blocks[which].at)
    fill(which);
  return hw_pool_is_valid(pool, NULL) ? RIGHT : INVALID;
}

/* The second region begins `gap` bytes after the first one: adjoining, it becomes a part of it. */
static int run(size_t gap)
{
  struct hw_pool *pool = hw_pool_init(memory, MEMORY_BYTES / 2, MEMORY_BYTES);
  struct hw_pool_stats stats;
  if (!pool || !hw_pool_add_region(pool, memory + MEMORY_BYTES / 2 + gap, MEMORY_BYTES / 2 - gap))
    return NO_POOL;
  for (int i = 0; i < STEPS; i++) {
    int wrong = step(pool);
    if (wrong)
      return wrong;
  }
  for (unsigned which = 0; which < BLOCKS; which++) {
    hw_pool_free(pool, blocks[which].at);
    blocks[which].at = NULL;
  }
  hw_pool_get_stats(pool, &stats);
  return stats.used_bytes || (!gap && stats.fragmentation_permille) || stats.fault_count ? NOT_WHOLE : RIGHT;
}

#if defined __arm__ || defined __aarch64__
#define START
#else
#define START __attribute__((force_align_arg_pointer))
#endif

#ifdef __cplusplus
extern "C"
#endif
    START void
    _start(void);

void _start(void)
{
  int status = run(0);
  if (status == RIGHT)
    status = run(64);
#ifdef __x86_64__
  __asm__ volatile("syscall" : : "a"(60), "D"(status));
#elif defined __aarch64__
  register long x8 __asm__("x8") = 93;
  register long x0 __asm__("x0") = status;
  __asm__ volatile("svc #0" : : "r"(x8), "r"(x0));
#elif defined __arm__
  register long r7 __asm__("r7") = 1;
  register long r0 __asm__("r0") = status;
  __asm__ volatile("svc #0" : : "r"(r7), "r"(r0));
#else
  __asm__ volatile("int $0x80" : : "a"(1), "b"(status));
#endif
  for (;;)
    ;
}
