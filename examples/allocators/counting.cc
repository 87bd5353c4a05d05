/* counting.cc - a wrapper in C++ that counts the calls that it passes to the next malloc: libc's, or that of a library
 * preloaded after this one
 *
 * If COUNTING_OUTPUT=FILE is set, the counts are appended to FILE when the process ends.
 */
#include <heapwright/allocator.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

namespace {

void *(*next_malloc)(size_t);
void *(*next_calloc)(size_t, size_t);
void *(*next_realloc)(void *, size_t);
int (*next_posix_memalign)(void **, size_t, size_t);
void (*next_free)(void *);
size_t (*next_usable_size)(void *);

std::atomic<unsigned long> allocations, reallocations, frees, bytes;

template <typename function> void find(function *&to, const char *name)
{
  to = reinterpret_cast<function *>(dlsym(RTLD_NEXT, name));
}

void init()
{
  find(next_malloc, "malloc");
  find(next_calloc, "calloc");
  find(next_realloc, "realloc");
  find(next_posix_memalign, "posix_memalign");
  find(next_free, "free");
  find(next_usable_size, "malloc_usable_size");
}

void *count(void *block, size_t size)
{
  if (block) {
    allocations.fetch_add(1, std::memory_order_relaxed);
    bytes.fetch_add(size, std::memory_order_relaxed);
  }
  return block;
}

void *alloc(size_t size, size_t align)
{
  if (align <= alignof(max_align_t))
    return count(next_malloc(size), size);
  void *block = nullptr;
  return next_posix_memalign(&block, align, size) == 0 ? count(block, size) : nullptr;
}

void free_block(void *block)
{
  frees.fetch_add(1, std::memory_order_relaxed);
  next_free(block);
}

size_t usable_size(void *block)
{
  return next_usable_size(block);
}

void *alloc_zeroed(size_t size, size_t)
{
  return count(next_calloc(1, size), size);
}

void *reallocate(void *block, size_t size)
{
  reallocations.fetch_add(1, std::memory_order_relaxed);
  return next_realloc(block, size);
}

__attribute__((destructor)) void print()
{
  const char *name = std::getenv("COUNTING_OUTPUT");
  std::FILE *out = name ? std::fopen(name, "a") : nullptr;
  if (!out)
    return;
  std::fprintf(out, "%lu allocations of %lu bytes, %lu reallocations, %lu frees\n", allocations.load(), bytes.load(),
               reallocations.load(), frees.load());
  std::fclose(out);
}

} // namespace

HEAPWRIGHT_ALLOCATOR(.alloc = alloc, .free = free_block, .usable_size = usable_size, .alloc_zeroed = alloc_zeroed,
                     .realloc = reallocate, .init = init);
