/* operations.h - the operations of entries.h over a struct hw_allocator: malloc's contract around the user's functions
 *
 * Part of allocator.h. Each case that the user's functions must not see is detected by one comparison on the fast path;
 * a separate cold function handles it.
 */
/* SPDX-License-Identifier: MIT */
#ifndef HEAPWRIGHT_DETAIL_OPERATIONS_H
#define HEAPWRIGHT_DETAIL_OPERATIONS_H

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "heapwright/detail/begin.h"
#include "heapwright/detail/cxx_runtime.h"
#include "heapwright/detail/entries.h"
#include "heapwright/detail/next_malloc.h"
#include "heapwright/detail/tuning.h"

#ifdef HEAPWRIGHT_HEAPHOOK_ALIGN
#define HW_PLAIN_ALIGN ((size_t)1)
#elif defined __cplusplus
#define HW_PLAIN_ALIGN alignof(max_align_t)
#else
#define HW_PLAIN_ALIGN _Alignof(max_align_t)
#endif

#define HW_ALIGN_MAX (((size_t)PTRDIFF_MAX >> 1) + 1)

/* A missing member is a compile-time error where the compiler can detect it. */
#if defined __OPTIMIZE__ && defined __has_attribute
#if __has_attribute(error)
void hw_allocator_is_incomplete(void)
    __attribute__((error("this file needs HEAPWRIGHT_ALLOCATOR with .alloc, .free and .usable_size")));
#define HW_CHECK_GIVEN() \
  (hw_given.alloc && hw_given.free && hw_given.usable_size ? (void)0 : hw_allocator_is_incomplete())
#endif
#endif
#ifndef HW_CHECK_GIVEN
#define HW_CHECK_GIVEN() ((void)0)
#endif

/* --- errno --- */

HW_COLD void *hw_no_memory(void)
{
  errno = ENOMEM;
  return NULL;
}

HW_COLD void *hw_bad_align(void)
{
  errno = EINVAL;
  return NULL;
}

HW_OPERATION int hw_errno_before(void)
{
  return hw_given.keeps_errno ? 0 : errno;
}

HW_OPERATION void hw_errno_after(int before)
{
  if (!hw_given.keeps_errno)
    errno = before;
}

/* --- allocating --- */

HW_OPERATION bool hw_is_power_of_two(size_t number)
{
  return number && !(number & (number - 1));
}

/* Changes a request so that it may be passed to the user's functions. Returns false if no object can be that large.
 * `align` is a power of two, at most HW_ALIGN_MAX. A size of 0 wraps around, so that one comparison finds all special
 * cases. */
HW_OPERATION bool hw_is_possible(size_t *size, size_t align)
{
  if (HW_UNLIKELY(*size - 1 >= (size_t)INT_MAX)) {
    if (*size > (size_t)PTRDIFF_MAX - align)
      return false;
    *size = *size ? *size : 1;
  }
  return true;
}

/* `size` and `align` are as in the user's function. */
HW_OPERATION void *hw_allocate_begun(size_t size, size_t align)
{
  int before = hw_errno_before();
  void *block = hw_given.alloc(size, align);
  hw_errno_after(before);
  return block;
}

HW_COLD void *hw_begin_and_allocate(size_t size, size_t align)
{
  return hw_begin() ? hw_allocate_begun(size, align) : hw_boot_alloc(size, align);
}

/* Returns NULL if there is no memory; errno is not set. */
HW_OPERATION void *hw_allocate(size_t size, size_t align)
{
  if (!hw_is_possible(&size, align))
    return NULL;
  return HW_LIKELY(hw_has_begun()) ? hw_allocate_begun(size, align) : hw_begin_and_allocate(size, align);
}

HW_OPERATION void *hw_allocate_or_say(size_t size, size_t align)
{
  void *block = hw_allocate(size, align);
  return HW_LIKELY(block) ? block : hw_no_memory();
}

HW_COLD void *hw_malloc_otherwise(size_t size)
{
  return hw_allocate_or_say(size, HW_PLAIN_ALIGN);
}

typedef void *hw_otherwise_fn(size_t size);
typedef void *hw_aligned_otherwise_fn(size_t size, size_t align);

HW_OPERATION bool hw_may_be_quick(void)
{
  return hw_given.quick_before_init || HW_LIKELY(hw_has_begun());
}

/* Returns a plain block by the fast path, if there is one. `otherwise` is called if it is not defined or not ready, and
 * by the fast path itself. */
HW_OPERATION void *hw_plain(size_t size, hw_otherwise_fn *otherwise)
{
  if (hw_given.quick_alloc && hw_may_be_quick())
    return hw_given.quick_alloc(size, otherwise);
  return otherwise(size);
}

HW_OPERATION void *hw_do_malloc(size_t size)
{
  HW_CHECK_GIVEN();
  return hw_given.quick_alloc ? hw_plain(size, hw_malloc_otherwise) : hw_allocate_or_say(size, HW_PLAIN_ALIGN);
}

HW_OPERATION void *hw_zeroed(size_t size)
{
  if (hw_given.alloc_zeroed)
    return hw_given.alloc_zeroed(size, HW_PLAIN_ALIGN);
  void *block = hw_given.alloc(size, HW_PLAIN_ALIGN);
  return HW_LIKELY(block) ? memset(block, 0, size) : NULL;
}

HW_OPERATION void *hw_do_calloc(size_t count, size_t size)
{
  size_t bytes;
  if (HW_UNLIKELY(__builtin_mul_overflow(count, size, &bytes)) || !hw_is_possible(&bytes, HW_PLAIN_ALIGN))
    return hw_no_memory();
  if (HW_UNLIKELY(!hw_is_begun()))
    return hw_boot_alloc(bytes, HW_PLAIN_ALIGN);
  int before = hw_errno_before();
  void *block = hw_zeroed(bytes);
  hw_errno_after(before);
  return HW_LIKELY(block) ? block : hw_no_memory();
}

/* `align` is a power of two, or 0, which means the same as 1. Returns NULL if there is no memory; errno is not set. */
HW_OPERATION void *hw_allocate_aligned(size_t size, size_t align)
{
  return HW_LIKELY(align <= HW_ALIGN_MAX) ? hw_allocate(size, align ? align : 1) : NULL;
}

HW_COLD void *hw_aligned_quietly(size_t size, size_t align)
{
  return hw_allocate_aligned(size, align);
}

HW_COLD void *hw_aligned_otherwise(size_t size, size_t align)
{
  void *block = hw_allocate_aligned(size, align);
  return HW_LIKELY(block) ? block : hw_no_memory();
}

/* The same for an aligned block. */
HW_OPERATION void *hw_aligned_by(size_t size, size_t align, hw_aligned_otherwise_fn *otherwise)
{
  if (hw_given.quick_alloc_aligned && hw_may_be_quick())
    return hw_given.quick_alloc_aligned(size, align, otherwise);
  return otherwise(size, align);
}

/* One function for all entry points except posix_memalign, which does not return a block. */
static __attribute__((noinline)) void *hw_aligned(size_t size, size_t align)
{
  return hw_aligned_by(size, align, hw_aligned_otherwise);
}

HW_OPERATION int hw_do_posix_memalign(void **to, size_t align, size_t size)
{
  if (HW_UNLIKELY(!hw_is_power_of_two(align) || align < sizeof *to))
    return EINVAL;
  void *block =
      hw_given.quick_alloc_aligned ? hw_aligned_by(size, align, hw_aligned_quietly) : hw_allocate_aligned(size, align);
  if (HW_UNLIKELY(!block)) {
    hw_no_memory(); /* as glibc: errno is set as well */
    return ENOMEM;
  }
  *to = block;
  return 0;
}

HW_OPERATION void *hw_do_aligned_alloc(size_t align, size_t size)
{
  return HW_LIKELY(hw_is_power_of_two(align)) ? hw_aligned(size, align) : hw_bad_align();
}

HW_OPERATION void *hw_do_memalign(size_t align, size_t size)
{
  size_t rounded = 1; /* 0 passes the next test, and is handled after the fast path */
  if (HW_LIKELY(!(align & (align - 1))))
    return hw_aligned(size, align);
  if (align > ~(SIZE_MAX >> 1))
    return hw_bad_align();
  while (rounded < align)
    rounded <<= 1;
  return hw_aligned(size, rounded);
}

HW_COLD size_t hw_page_bytes(void)
{
  return (size_t)sysconf(_SC_PAGESIZE);
}

HW_OPERATION void *hw_do_valloc(size_t size)
{
  return hw_aligned(size, hw_page_bytes());
}

HW_OPERATION void *hw_do_pvalloc(size_t size)
{
  size_t page = hw_page_bytes(), bytes;
  if (HW_UNLIKELY(__builtin_add_overflow(size ? size : 1, page - 1, &bytes)))
    return hw_no_memory();
  return hw_aligned(bytes & ~(page - 1), page);
}

/* --- freeing --- */

HW_OPERATION bool hw_is_foreign(const void *block)
{
  return hw_given.owns && HW_UNLIKELY(!hw_given.owns(block));
}

HW_OPERATION void hw_free_begun(void *block)
{
  int before = hw_errno_before();
  if (hw_is_foreign(block))
    hw_next_free(block);
  else
    hw_given.free(block);
  hw_errno_after(before);
}

HW_COLD void hw_begin_and_free(void *block)
{
  if (hw_begin())
    hw_free_begun(block);
}

/* Boot blocks are never freed. Nor is a block that is freed before the allocator is ready: it cannot be one of its
 * blocks. */
HW_OPERATION void hw_free(void *block)
{
  if (HW_UNLIKELY(!block || hw_boot_owns(block)))
    return;
  if (HW_LIKELY(hw_has_begun()))
    hw_free_begun(block);
  else
    hw_begin_and_free(block);
}

HW_COLD void hw_free_otherwise(void *block)
{
  hw_free(block);
}

HW_OPERATION void hw_do_free(void *block)
{
  if (!hw_given.quick_free)
    hw_free(block);
  else if (hw_may_be_quick())
    hw_given.quick_free(block, hw_free_otherwise);
  else
    hw_free_otherwise(block);
}

HW_OPERATION void hw_do_free_sized(void *block, size_t size)
{
  (void)size;
  hw_do_free(block);
}

HW_OPERATION void hw_do_free_aligned_sized(void *block, size_t align, size_t size)
{
  (void)align, (void)size;
  hw_do_free(block);
}

HW_OPERATION size_t hw_do_malloc_usable_size(void *block)
{
  if (HW_UNLIKELY(!block))
    return 0;
  if (HW_UNLIKELY(hw_boot_owns(block)))
    return hw_boot_size(block);
  if (HW_UNLIKELY(!hw_is_begun()))
    return 0;
  int before = hw_errno_before();
  size_t bytes = hw_is_foreign(block) ? hw_next_usable_size(block) : hw_given.usable_size(block);
  hw_errno_after(before);
  return bytes;
}

/* --- reallocating --- */

/* Moves a boot block into the heap, or to another place in the buffer. */
HW_COLD void *hw_leave_boot(void *old, size_t size)
{
  void *block = hw_allocate_or_say(size, HW_PLAIN_ALIGN);
  if (!block)
    return NULL;
  size_t old_size = hw_boot_size(old);
  return memcpy(block, old, old_size < size ? old_size : size);
}

HW_OPERATION void *hw_reallocated(void *old, size_t size)
{
  if (hw_given.realloc)
    return hw_given.realloc(old, size);
  size_t usable = hw_given.usable_size(old);
  if (size <= usable)
    return old;
  void *block = hw_given.alloc(size, HW_PLAIN_ALIGN);
  if (!block)
    return NULL;
  memcpy(block, old, usable);
  hw_given.free(old);
  return block;
}

/* `old` is not NULL, and `size` is not 0. */
static __attribute__((noinline)) void *hw_resize(void *old, size_t size)
{
  if (HW_UNLIKELY(!hw_is_possible(&size, HW_PLAIN_ALIGN)))
    return hw_no_memory();
  if (HW_UNLIKELY(hw_boot_owns(old)))
    return hw_leave_boot(old, size);
  if (HW_UNLIKELY(!hw_is_begun()))
    return hw_no_memory();
  int before = hw_errno_before();
  void *block = hw_is_foreign(old) ? hw_next_realloc(old, size) : hw_reallocated(old, size);
  hw_errno_after(before);
  return HW_LIKELY(block) ? block : hw_no_memory();
}

HW_OPERATION void *hw_realloc(void *old, size_t size)
{
  if (HW_UNLIKELY(!old))
    return hw_do_malloc(size);
  if (HW_LIKELY(size))
    return hw_resize(old, size);
  hw_do_free(old); /* as glibc: the block is freed, and NULL is not a failure */
  return NULL;
}

HW_COLD void *hw_realloc_otherwise(void *old, size_t size)
{
  return hw_realloc(old, size);
}

HW_OPERATION void *hw_do_realloc(void *old, size_t size)
{
  if (!hw_given.quick_realloc)
    return hw_realloc(old, size);
  return hw_may_be_quick() ? hw_given.quick_realloc(old, size, hw_realloc_otherwise) : hw_realloc_otherwise(old, size);
}

HW_OPERATION void *hw_do_reallocarray(void *old, size_t count, size_t size)
{
  size_t bytes;
  if (HW_UNLIKELY(__builtin_mul_overflow(count, size, &bytes)))
    return hw_no_memory();
  return hw_do_realloc(old, bytes);
}

/* --- C++ --- */

/* A call of an operator new that found no memory. */
struct hw_new_call {
  uintptr_t caller_pc;
  size_t size;
  size_t align;
  const void *tag; /* address of the std::nothrow_t; NULL: the operator throws */
};

/* A handler may throw out of a nothrow operator, and only C++ can catch that. The runtime's own nothrow operator does
 * so, around a call of the throwing operator, which is ours. */
static void *hw_new_nothrow_again(const struct hw_new_call *call)
{
  typedef void *aligned_fn(size_t size, size_t align, const void *tag);
  typedef void *plain_fn(size_t size, const void *tag);
  bool is_plain = call->align == HW_PLAIN_ALIGN;
  const char *symbol = is_plain ? HW_SYMBOL_NEW_NOTHROW : HW_SYMBOL_NEW_ALIGNED_NOTHROW;
  void *own = __extension__(is_plain ? (void *)hw_entry_new_nothrow : (void *)hw_entry_new_aligned_nothrow);
  void *catching = hw_cxx_operator(call->caller_pc, symbol);
  if (!catching || catching == own) /* a runtime that is linked into this library uses ours instead */
    return hw_no_memory();
  return __extension__(is_plain ? ((plain_fn *)catching)(call->size, call->tag)
                                : ((aligned_fn *)catching)(call->size, call->align, call->tag));
}

/* The standard's loop, after the allocator has failed. A handler cannot help if the alignment is invalid. */
HW_COLD void *hw_new_again(const struct hw_new_call *call)
{
  hw_new_handler *handler;
  bool may_be_helped = hw_is_power_of_two(call->align);
  while (may_be_helped && (handler = hw_cxx_new_handler(call->caller_pc))) {
    if (call->tag)
      return hw_new_nothrow_again(call);
    handler();
    void *block = hw_allocate_aligned(call->size, call->align);
    if (block)
      return block;
  }
  hw_no_memory();
  if (!call->tag)
    hw_cxx_throw_bad_alloc(call->caller_pc);
  return NULL;
}

/* The result of an operator that got `block`, or NULL. It must be inlined into the operator: otherwise the return
 * address would be that of a function in between, such as `otherwise` where calls are not jumps (-O1). */
HW_OPERATION void *hw_new_or_again(void *block, size_t size, size_t align, const void *tag)
{
  if (HW_LIKELY(block))
    return block;
  struct hw_new_call call = {(uintptr_t)__builtin_return_address(0), size, align, tag};
  return hw_new_again(&call);
}

HW_COLD void *hw_plain_quietly(size_t size)
{
  return hw_allocate(size, HW_PLAIN_ALIGN);
}

HW_OPERATION void *hw_new(size_t size, const void *tag)
{
  void *block = hw_given.quick_alloc ? hw_plain(size, hw_plain_quietly) : hw_allocate(size, HW_PLAIN_ALIGN);
  return hw_new_or_again(block, size, HW_PLAIN_ALIGN, tag);
}

HW_OPERATION void *hw_new_aligned(size_t size, size_t align, const void *tag)
{
  void *block = HW_LIKELY(hw_is_power_of_two(align)) ? hw_aligned(size, align) : NULL;
  return hw_new_or_again(block, size, align, tag);
}

HW_OPERATION void *hw_do_new(enum hw_entry entry, size_t size)
{
  (void)entry;
  return hw_new(size, NULL);
}

HW_OPERATION void *hw_do_new_nothrow(enum hw_entry entry, size_t size, const void *tag)
{
  (void)entry;
  return hw_new(size, tag);
}

HW_OPERATION void *hw_do_new_aligned(enum hw_entry entry, size_t size, size_t align)
{
  (void)entry;
  return hw_new_aligned(size, align, NULL);
}

HW_OPERATION void *hw_do_new_aligned_nothrow(enum hw_entry entry, size_t size, size_t align, const void *tag)
{
  (void)entry;
  return hw_new_aligned(size, align, tag);
}

HW_OPERATION void hw_do_delete(enum hw_entry entry, void *block)
{
  (void)entry;
  hw_do_free(block);
}

HW_OPERATION void hw_do_delete_nothrow(enum hw_entry entry, void *block, const void *tag)
{
  (void)entry, (void)tag;
  hw_do_free(block);
}

HW_OPERATION void hw_do_delete_sized(enum hw_entry entry, void *block, size_t size)
{
  (void)entry, (void)size;
  hw_do_free(block);
}

HW_OPERATION void hw_do_delete_aligned(enum hw_entry entry, void *block, size_t align)
{
  (void)entry, (void)align;
  hw_do_free(block);
}

HW_OPERATION void hw_do_delete_aligned_nothrow(enum hw_entry entry, void *block, size_t align, const void *tag)
{
  (void)entry, (void)align, (void)tag;
  hw_do_free(block);
}

HW_OPERATION void hw_do_delete_sized_aligned(enum hw_entry entry, void *block, size_t size, size_t align)
{
  (void)entry, (void)size, (void)align;
  hw_do_free(block);
}

#endif
