/* rules_align.c - alignments that each entry point must return, refuse or round up */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conform/conform.h"

enum { KEPT_COUNT = 64 };

static size_t natural_align(size_t size)
{
  size_t align = 1;
  while (align < 16 && align * 2 <= size)
    align *= 2;
  return align;
}

/* Some blocks stay live, so that the blocks have different addresses. */
static void try_plain(size_t size, size_t align)
{
  static void *kept[KEPT_COUNT];
  static unsigned count;
  void *blocks[3] = {seen(malloc(size)), seen(calloc(1, size)), seen(realloc(NULL, size))};
  static const char *const names[] = {"malloc", "calloc", "realloc"};
  for (int i = 0; i < 3; i++) {
    EXPECT(blocks[i], "no memory for %zu bytes", size);
    EXPECT(is_aligned(blocks[i], align), "%s(%zu) gave %p, which is not aligned to %zu", names[i], size, blocks[i],
           align);
    void **place = &kept[count++ % KEPT_COUNT];
    free(*place);
    *place = blocks[i];
  }
}

void hwi_rule_malloc_align(void)
{
  for (size_t size = 1; size < 3000; size++)
    try_plain(size, natural_align(size));
  for (size_t size = 3000; size < 4 << 20; size += size / 7)
    try_plain(size, 16);
}

void hwi_rule_small_align(void)
{
  for (size_t size = 1; size < 16; size++)
    for (int i = 0; i < 20; i++)
      try_plain(size, 16);
}

typedef void *get_fn(size_t align, size_t size);

static void *by_posix_memalign(size_t align, size_t size)
{
  void *block = NULL;
  int error = posix_memalign(&block, align, size);
  EXPECT(!error, "posix_memalign(%zu, %zu) returned %d", align, size, error);
  return block;
}

/* Makes blocks of all sizes at all alignments, with several live at once, and writes all their bytes. */
static void try_aligned(get_fn *get, const char *name, size_t first, size_t last)
{
  enum { LIVE = 4 };
  static const size_t sizes[] = {1, 8, 17, 100, 4096, 5000, 100000};
  hwi_conform_now(name);
  for (size_t align = first; align <= last; align *= 2)
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
      unsigned char *blocks[LIVE];
      for (uint32_t k = 0; k < LIVE; k++) {
        blocks[k] = seen(get(align, sizes[i]));
        EXPECT(blocks[k], "%s(%zu, %zu) gave NULL", name, align, sizes[i]);
        EXPECT(is_aligned(blocks[k], align), "%s(%zu, %zu) gave %p", name, align, sizes[i], (void *)blocks[k]);
        hwi_pattern_fill(blocks[k], sizes[i], k);
      }
      for (uint32_t k = 0; k < LIVE; k++) {
        EXPECT(hwi_pattern_check(blocks[k], sizes[i], k) == sizes[i], "%s(%zu, %zu): live blocks overlap", name, align,
               sizes[i]);
        free(blocks[k]);
      }
    }
}

enum { LARGEST = 1 << 20 };

void hwi_rule_aligned_zero(void)
{
  volatile size_t zero = 0;
  for (size_t align = sizeof(void *); align <= LARGEST; align *= 2) {
    void *blocks[] = {by_posix_memalign(align, zero), aligned_alloc(align, zero), memalign(align, zero)};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
      EXPECT(seen(blocks[i]) && is_aligned(blocks[i], align), "0 bytes aligned to %zu gave %p", align, blocks[i]);
      free(blocks[i]);
    }
  }
}

void hwi_rule_posix_memalign(void)
{
  try_aligned(by_posix_memalign, "posix_memalign", sizeof(void *), LARGEST);
}

void hwi_rule_posix_memalign_refuses(void)
{
  static const size_t wrong[] = {0, 1, 2, 4, 7, 12, 24, 100, 4095, (size_t)3 << 40, SIZE_MAX};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    void *block = (void *)wrong, *before = block;
    int error = posix_memalign(&block, wrong[i], 100);
    EXPECT(error == EINVAL, "posix_memalign with an alignment of %zu returned %d, not EINVAL", wrong[i], error);
    EXPECT(seen(block) == before, "posix_memalign failed and changed the pointer");
  }
}

void hwi_rule_posix_memalign_errno(void)
{
  volatile size_t huge = PTRDIFF_MAX - 100000;
  void *block = NULL;
  errno = 0;
  int error = posix_memalign(&block, 64, huge);
  EXPECT(error == ENOMEM, "posix_memalign(64, %zu) returned %d, not ENOMEM", (size_t)huge, error);
  EXPECT(errno == ENOMEM, "posix_memalign(64, %zu) set errno to %d, not ENOMEM", (size_t)huge, errno);
}

void hwi_rule_aligned_alloc(void)
{
  try_aligned(aligned_alloc, "aligned_alloc", 1, LARGEST);
}

void hwi_rule_aligned_alloc_refuses(void)
{
  static const size_t wrong[] = {0, 3, 24, 100, 4095};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    errno = 0;
    EXPECT(!seen(aligned_alloc(wrong[i], 8)), "aligned_alloc(%zu, 8) gave a block", wrong[i]);
    EXPECT(errno == EINVAL, "aligned_alloc(%zu, 8) set errno to %d, not EINVAL", wrong[i], errno);
  }
}

void hwi_rule_memalign(void)
{
  try_aligned(memalign, "memalign", 1, LARGEST);
}

void hwi_rule_memalign_rounds_up(void)
{
  static const size_t pairs[][2] = {{0, 1}, {3, 4}, {24, 32}, {100, 128}, {4095, 4096}};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    void *block = seen(memalign(pairs[i][0], 100));
    EXPECT(block, "memalign(%zu, 100) gave NULL", pairs[i][0]);
    EXPECT(is_aligned(block, pairs[i][1]), "memalign(%zu, 100) gave %p, which is not aligned to %zu", pairs[i][0],
           block, pairs[i][1]);
    free(block);
  }
}

static const char *definer(const char *name)
{
  Dl_info info;
  void *address = dlsym(RTLD_DEFAULT, name);
  return address && dladdr(address, &info) && info.dli_fname ? info.dli_fname : "";
}

void hwi_rule_page_align(void)
{
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  bool has_pvalloc = !strcmp(definer("pvalloc"), definer("malloc"));
  for (size_t size = 1; size < 3 * page; size += 97) {
    unsigned char *block = seen(valloc(size)), *pages = has_pvalloc ? seen(pvalloc(size)) : NULL;
    size_t whole = (size + page - 1) & ~(page - 1);
    EXPECT(block && is_aligned(block, page), "valloc(%zu) gave %p", size, (void *)block);
    hwi_pattern_fill(block, size, 1);
    if (has_pvalloc) {
      EXPECT(pages && is_aligned(pages, page), "pvalloc(%zu) gave %p", size, (void *)pages);
      EXPECT(malloc_usable_size(pages) >= whole, "pvalloc(%zu) gave %zu bytes", size, malloc_usable_size(pages));
      hwi_pattern_fill(pages, whole, 2);
    }
    EXPECT(hwi_pattern_check(block, size, 1) == size, "the blocks of valloc and pvalloc overlap");
    free(pages);
    free(block);
  }
}

static void align_hugely(int shift)
{
  size_t align = (size_t)1 << shift;
  void *block = NULL;
  int error = posix_memalign(&block, align, 100);
  EXPECT(error == 0 || error == ENOMEM || error == EINVAL, "posix_memalign(2^%d, 100) returned %d", shift, error);
  EXPECT(error || (seen(block) && is_aligned(block, align)), "posix_memalign(2^%d, 100) gave %p", shift, block);
  if (!error) {
    memset(block, 1, 100);
    free(block);
  }
}

/* An allocator that touches all memory that it maps needs as much memory as the alignment. So the rule tries alignments
 * from the largest down while no machine has so much memory, and from the smallest up until it has used enough to see
 * this. */
void hwi_rule_huge_align(void)
{
  enum { SHIFT_MIN = 21, SHIFT_HUGE = 42, SHIFT_END = 64 };
  static const size_t enough_bytes = (size_t)1 << 30;
  hwi_conform_now("with a huge alignment");
  for (int shift = SHIFT_END - 1; shift >= SHIFT_HUGE; shift--)
    align_hugely(shift);
  for (int shift = SHIFT_MIN; shift < SHIFT_HUGE && hwi_resident_bytes() < enough_bytes; shift++)
    align_hugely(shift);
}

void hwi_rule_aligned_realloc(void)
{
  hwi_conform_now("reallocating an aligned block");
  for (size_t align = 16; align <= 1 << 16; align *= 2)
    for (size_t size = 1; size < 300000; size = size * 3 + 1) {
      unsigned char *block = seen(aligned_alloc(align, size));
      EXPECT(block, "aligned_alloc(%zu, %zu) gave NULL", align, size);
      hwi_pattern_fill(block, size, 3);
      block = seen(realloc(block, size * 2));
      EXPECT(block && hwi_pattern_check(block, size, 3) == size,
             "a block of %zu bytes aligned to %zu loses bytes by realloc", size, align);
      hwi_pattern_fill(block, size * 2, 4);
      block = seen(realloc(block, size / 2 + 1));
      EXPECT(block && hwi_pattern_check(block, size / 2 + 1, 4) == size / 2 + 1, "it loses bytes when it shrinks");
      free(block);
    }
}
