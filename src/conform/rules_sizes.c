/* rules_sizes.c - edge cases: requests of 0 bytes, too large ones, products that overflow, no memory */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "conform/conform.h"

enum { NOISE = 77 };

void hwi_rule_malloc_zero(void)
{
  enum { COUNT = 100 };
  static void *blocks[COUNT];
  volatile size_t zero = 0;
  for (int i = 0; i < COUNT; i++) {
    blocks[i] = seen(i % 3 == 0 ? calloc(zero, 8) : i % 3 == 1 ? calloc(8, zero) : malloc(zero));
    EXPECT(blocks[i], "%s gave NULL", i % 3 == 2 ? "malloc(0)" : "calloc of 0 bytes");
    for (int k = 0; k < i; k++)
      EXPECT(blocks[k] != blocks[i], "two live blocks of 0 bytes have one address");
  }
  for (int i = 0; i < COUNT; i++)
    free(blocks[i]);
}

void hwi_rule_free_null(void)
{
  void *volatile nothing = NULL;
  free(nothing);
  EXPECT(malloc_usable_size(nothing) == 0, "malloc_usable_size(NULL) is %zu", malloc_usable_size(nothing));
}

void hwi_rule_realloc_null(void)
{
  void *volatile nothing = NULL;
  char *block = seen(realloc(nothing, 100));
  EXPECT(block, "realloc(NULL, 100) gave NULL");
  hwi_pattern_fill(block, 100, 1);
  block = seen(realloc(block, 200));
  EXPECT(block && hwi_pattern_check(block, 100, 1) == 100, "the contents are lost");
  free(block);
}

void hwi_rule_realloc_zero(void)
{
  volatile size_t zero = 0;
  void *block = seen(malloc(100));
  void *result = seen(realloc(block, zero));
  EXPECT(!result, "realloc(p, 0) gave a block");
}

void hwi_rule_calloc_overflow(void)
{
  static const size_t products[][2] = {{SIZE_MAX, 2},     {SIZE_MAX / 2 + 2, 2}, {(size_t)1 << 32, (size_t)1 << 32},
                                       {3, SIZE_MAX / 2}, {SIZE_MAX, SIZE_MAX},  {(size_t)1 << 56, (size_t)1 << 56}};
  for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
    errno = 0;
    void *block = seen(calloc(products[i][0], products[i][1]));
    EXPECT(!block, "calloc(%zu, %zu) gave a block", products[i][0], products[i][1]);
    EXPECT(errno == ENOMEM, "calloc(%zu, %zu) set errno to %d, not ENOMEM", products[i][0], products[i][1], errno);
  }
}

void hwi_rule_reallocarray_overflow(void)
{
  volatile size_t half = SIZE_MAX / 2 + 2;
  char *block = seen(malloc(100));
  hwi_pattern_fill(block, 100, 1);
  errno = 0;
  EXPECT(!seen(reallocarray(seen(block), half, 2)), "reallocarray(p, 2^63 + 1, 2) gave a block");
  EXPECT(errno == ENOMEM, "errno is %d, not ENOMEM", errno);
  EXPECT(hwi_pattern_check(block, 100, 1) == 100, "the block has other contents");
  block = seen(reallocarray(block, 50, 8));
  EXPECT(block && hwi_pattern_check(block, 100, 1) == 100, "reallocarray(p, 50, 8) lost the contents");
  free(block);
}

static void *by_realloc(size_t size)
{
  return realloc(NULL, size);
}

static void *by_calloc(size_t size)
{
  return calloc(1, size);
}

static void *by_aligned_alloc(size_t size)
{
  return aligned_alloc(64, size);
}

static void *by_posix_memalign(size_t size)
{
  void *block = NULL;
  errno = posix_memalign(&block, 64, size);
  return block;
}

static void *by_memalign(size_t size)
{
  return memalign(64, size);
}

static void try_huge(void *(*get)(size_t size), const char *name, bool has_errno)
{
  static const size_t sizes[] = {(size_t)PTRDIFF_MAX,
                                 (size_t)PTRDIFF_MAX + 1,
                                 (size_t)PTRDIFF_MAX + 4096,
                                 SIZE_MAX - ((size_t)1 << 20),
                                 SIZE_MAX - 4096,
                                 SIZE_MAX - 64,
                                 SIZE_MAX - 16,
                                 SIZE_MAX - 1,
                                 SIZE_MAX};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    errno = 0;
    EXPECT(!seen(get(sizes[i])), "%s of %zu bytes gave a block", name, sizes[i]);
    EXPECT(!has_errno || errno == ENOMEM, "%s of %zu bytes: the error is %d, not ENOMEM", name, sizes[i], errno);
  }
}

/* No standard says how memalign and valloc set errno. */
void hwi_rule_huge_sizes(void)
{
  hwi_conform_now("with a size that no object can have");
  try_huge(malloc, "malloc", true);
  try_huge(by_calloc, "calloc", true);
  try_huge(by_realloc, "realloc", true);
  try_huge(by_aligned_alloc, "aligned_alloc", true);
  try_huge(by_posix_memalign, "posix_memalign", true);
  try_huge(by_memalign, "memalign", false);
  try_huge(valloc, "valloc", false);
  free(malloc(10));
}

static size_t mapped_bytes(void)
{
  char text[64] = {0};
  FILE *statm = fopen("/proc/self/statm", "r");
  if (!statm || !fgets(text, sizeof text, statm))
    hwi_conform_untried("/proc/self/statm cannot be read");
  fclose(statm);
  return strtoul(text, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
}

/* Allocates until there is no memory. Returns how many blocks it got. */
static size_t take_all(void **blocks, size_t size, size_t most)
{
  size_t count = 0;
  while (count < most && (errno = 0, blocks[count] = seen(malloc(size))))
    count++;
  return count;
}

void hwi_rule_out_of_memory(void)
{
  enum {
    ROOM = 256 << 20,
    MOST = 1536
  }; /* with huge pages, all of 1.5 GiB gets present if an allocator writes a header */
  static void *blocks[MOST];
  free(malloc(1 << 20));
  struct rlimit limit = {mapped_bytes() + ROOM, RLIM_INFINITY};
  if (setrlimit(RLIMIT_AS, &limit) != 0)
    hwi_conform_untried("RLIMIT_AS cannot be set");
  hwi_conform_now("with its address space limited");
  size_t count = take_all(blocks, 1 << 20, MOST);
  if (count == MOST)
    hwi_conform_untried("it reserved its address space before the limit was set");
  EXPECT(errno == ENOMEM, "errno is %d, not ENOMEM", errno);
  void *small = seen(malloc(16)), *aligned = NULL;
  EXPECT(small || errno == ENOMEM, "errno of a small request is %d, not ENOMEM", errno);
  int error = posix_memalign(&aligned, 4096, (size_t)1 << 40);
  EXPECT(error == ENOMEM, "posix_memalign returned %d, not ENOMEM", error);
  for (size_t i = count; i-- > 0;)
    free(blocks[i]);
  free(small);
  EXPECT(count == 0 || seen(malloc(1 << 20)), "after everything was freed there is still no memory");
}

void hwi_rule_errno_kept(void)
{
  static const size_t sizes[] = {1, 100, 5000, 200000, 50 << 20};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    void *aligned = NULL;
    errno = NOISE;
    void *block = seen(malloc(sizes[i])), *zeroed = seen(calloc(1, sizes[i]));
    EXPECT(errno == NOISE, "malloc or calloc of %zu bytes set errno to %d", sizes[i], errno);
    block = seen(realloc(block, sizes[i] * 2));
    EXPECT(errno == NOISE, "realloc from %zu to %zu bytes set errno to %d", sizes[i], sizes[i] * 2, errno);
    int error = posix_memalign(&aligned, 256, sizes[i]);
    EXPECT(errno == NOISE, "posix_memalign of %zu bytes set errno to %d", sizes[i], errno);
    EXPECT(block && zeroed && !error, "no memory for %zu bytes", sizes[i]);
    free(block), free(zeroed), free(aligned);
    EXPECT(errno == NOISE, "free of %zu bytes set errno to %d", sizes[i], errno);
  }
}
