/* heap.hpp - the heaps of heap.h for containers of C++17: an allocator, a std::pmr::memory_resource, and owners
 *
 *   heapwright::unique_heap heap = heapwright::make_heap();
 *   std::vector<int, heapwright::heap_allocator<int>> numbers(heap.get());
 *
 *   heapwright::heap_resource resource(heap.get());
 *   std::pmr::unordered_map<int, std::pmr::string> names(&resource);
 *
 * A heap must not be destroyed before all containers that use it, or it is destroyed in their place: what containers have
 * allocated is then returned at once, but their destructors must not run. All functions may be called by any number of
 * threads at once, unless the heap is HW_HEAP_SINGLE. If there is no memory, they throw std::bad_alloc; compiled with
 * -fno-exceptions, they end the program.
 */
/* SPDX-License-Identifier: MIT */
#ifndef HEAPWRIGHT_HEAP_HPP
#define HEAPWRIGHT_HEAP_HPP

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <memory_resource>
#include <new>
#include <type_traits>

#ifndef HEAPWRIGHT_HEAP_H /* it may be the heap in one file */
#include "heapwright/heap.h"
#endif

namespace heapwright {

namespace detail {

[[noreturn]] inline void no_memory()
{
#ifdef __cpp_exceptions
  throw std::bad_alloc();
#else
  std::abort();
#endif
}

[[noreturn]] inline void too_many_elements()
{
#ifdef __cpp_exceptions
  throw std::bad_array_new_length();
#else
  std::abort();
#endif
}

inline void *allocate(hw_heap *heap, std::size_t bytes, std::size_t align)
{
  void *block = align <= HW_HEAP_ALIGN ? hw_heap_alloc(heap, bytes) : hw_heap_alloc_aligned(heap, align, bytes);
  if (!block)
    no_memory();
  return block;
}

} // namespace detail

/* --- heaps --- */

struct heap_deleter {
  void operator()(hw_heap *heap) const noexcept { hw_heap_destroy(heap); }
};

/* Destroys its heap, unless a thread has it set or pushed. */
using unique_heap = std::unique_ptr<hw_heap, heap_deleter>;

/* Makes a heap; `config` as in hw_heap_create. Without memory, or with a wrong config, the result is empty and *error is
 * filled. */
inline unique_heap make_heap(const hw_heap_config *config = nullptr, hw_heap_error *error = nullptr)
{
  return unique_heap(hw_heap_create(config, error));
}

/* While it exists, the thread that made it allocates from this heap also by malloc and operator new; see hw_heap_push. For
 * a local variable. Needs libheapwright-heap. */
class heap_section {
public:
  explicit heap_section(hw_heap *heap) : has_heap_(hw_heap_push(heap)) {}

  ~heap_section() { hw_heap_pop(); }

  heap_section(const heap_section &) = delete;
  heap_section &operator=(const heap_section &) = delete;

  /* Returns false if hw_heap_push did: then nothing has changed. */
  bool has_heap() const noexcept { return has_heap_; }

private:
  bool has_heap_;
};

/* --- containers --- */

/* An allocator for containers. Two of them are equal if they have the same heap. A container keeps its heap when another
 * one is copied to it; it gets the other one's heap when that is moved to it, or when the two are swapped, so that these
 * need no copies. A copy of a container is in the same heap. */
template <typename T> class heap_allocator {
public:
  using value_type = T;
  using propagate_on_container_copy_assignment = std::false_type;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;
  using is_always_equal = std::false_type;

  /* Not explicit: a container may be given the heap itself. */
  heap_allocator(hw_heap *heap) noexcept : heap_(heap) {}

  template <typename U> heap_allocator(const heap_allocator<U> &other) noexcept : heap_(other.heap()) {}

  [[nodiscard]] T *allocate(std::size_t count)
  {
    if (count > static_cast<std::size_t>(PTRDIFF_MAX) / sizeof(T))
      detail::too_many_elements();
    return static_cast<T *>(detail::allocate(heap_, count * sizeof(T), alignof(T)));
  }

  void deallocate(T *block, std::size_t) noexcept { hw_heap_free(heap_, block); }

  hw_heap *heap() const noexcept { return heap_; }

private:
  hw_heap *heap_;
};

template <typename T, typename U> bool operator==(const heap_allocator<T> &a, const heap_allocator<U> &b) noexcept
{
  return a.heap() == b.heap();
}

template <typename T, typename U> bool operator!=(const heap_allocator<T> &a, const heap_allocator<U> &b) noexcept
{
  return a.heap() != b.heap();
}

/* The same for containers of std::pmr. Two resources are equal if they have the same heap (compiled with -fno-rtti: only if
 * they are the same object). */
class heap_resource : public std::pmr::memory_resource {
public:
  explicit heap_resource(hw_heap *heap) noexcept : heap_(heap) {}

  hw_heap *heap() const noexcept { return heap_; }

private:
  void *do_allocate(std::size_t bytes, std::size_t align) override { return detail::allocate(heap_, bytes, align); }

  void do_deallocate(void *block, std::size_t, std::size_t) override { hw_heap_free(heap_, block); }

  bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override
  {
#ifdef __cpp_rtti
    const heap_resource *same = dynamic_cast<const heap_resource *>(&other);
    return same && same->heap_ == heap_;
#else
    return this == &other;
#endif
  }

  hw_heap *heap_;
};

} // namespace heapwright

#endif
