/* entries.h - declares and defines every entry point that a malloc replacement exports
 *
 * To be included by exactly one file of a shared library, which also defines the operations declared below; a second
 * file of the same library that includes it is refused by the linker, since each entry point would be defined twice.
 * The entry points call the operations directly. These are always inlined, at any level of optimisation, so there is no
 * table and no call in between: __builtin_frame_address(0) in an operation is the entry point's own frame.
 *
 * Works in C17 and C++17, at -O0, -O2 and with -flto. Operators that throw need -fexceptions where the language is C.
 *
 * The functions are called hw_entry_malloc and so on, and get their symbols by an asm label, because the compiler knows
 * `malloc`, `calloc` and `operator new` as built-ins, with their own types, exception specifications and
 * transformations (malloc and memset become calloc, which then calls itself). Under another name none of that happens,
 * whatever flags the library is built with, and <stdlib.h> and <new> may be included as well.
 */
/* SPDX-License-Identifier: MIT */
#ifndef HEAPWRIGHT_DETAIL_ENTRIES_H
#define HEAPWRIGHT_DETAIL_ENTRIES_H

#include <stddef.h>

#include "heapwright/detail/entry_list.h"

#define HW_OPERATION static inline __attribute__((always_inline))

#ifdef __cplusplus
#define HW_ENTRY_LANGUAGE extern "C"
static_assert(sizeof(size_t) == sizeof(unsigned long), "the mangled names say unsigned long");
#else
#define HW_ENTRY_LANGUAGE
_Static_assert(sizeof(size_t) == sizeof(unsigned long), "the mangled names say unsigned long");
#endif

/* --- the operations, which the including file defines ---
 *
 * Each is the whole body of its entry point: it gets the program's arguments unchanged (sizes and alignments in bytes,
 * unchecked; a block may be NULL) and returns the program's result. Blocks belong to the program until it frees them.
 * An operation does what C23, POSIX and glibc promise of the function. On failure it returns NULL and sets ENOMEM
 * (posix_memalign returns the error, and does not change errno if that is EINVAL); on success it leaves errno
 * unchanged. It is called by any thread at any time, from the loader's first steps to the last destructor, and in a
 * forked child. A signal handler that only calls async-signal-safe functions calls none of them; the recorder's
 * operations work there nevertheless. Operators without `tag` throw instead of returning NULL. */

HW_OPERATION void *hw_do_malloc(size_t size);
HW_OPERATION void hw_do_free(void *block);
HW_OPERATION void *hw_do_calloc(size_t count, size_t size);
HW_OPERATION void *hw_do_realloc(void *old, size_t size);
HW_OPERATION void *hw_do_reallocarray(void *old, size_t count, size_t size);
HW_OPERATION int hw_do_posix_memalign(void **to, size_t align, size_t size);
HW_OPERATION void *hw_do_aligned_alloc(size_t align, size_t size);
HW_OPERATION void *hw_do_memalign(size_t align, size_t size);
HW_OPERATION void *hw_do_valloc(size_t size);
HW_OPERATION void *hw_do_pvalloc(size_t size);
HW_OPERATION size_t hw_do_malloc_usable_size(void *block);
HW_OPERATION void hw_do_free_sized(void *block, size_t size);
HW_OPERATION void hw_do_free_aligned_sized(void *block, size_t align, size_t size);

/* `entry` is a constant that says which operator it is; `tag` is the address of the std::nothrow_t. */
HW_OPERATION void *hw_do_new(enum hw_entry entry, size_t size);
HW_OPERATION void *hw_do_new_nothrow(enum hw_entry entry, size_t size, const void *tag);
HW_OPERATION void *hw_do_new_aligned(enum hw_entry entry, size_t size, size_t align);
HW_OPERATION void *hw_do_new_aligned_nothrow(enum hw_entry entry, size_t size, size_t align, const void *tag);
HW_OPERATION void hw_do_delete(enum hw_entry entry, void *block);
HW_OPERATION void hw_do_delete_nothrow(enum hw_entry entry, void *block, const void *tag);
HW_OPERATION void hw_do_delete_sized(enum hw_entry entry, void *block, size_t size);
HW_OPERATION void hw_do_delete_aligned(enum hw_entry entry, void *block, size_t align);
HW_OPERATION void hw_do_delete_aligned_nothrow(enum hw_entry entry, void *block, size_t align, const void *tag);
HW_OPERATION void hw_do_delete_sized_aligned(enum hw_entry entry, void *block, size_t size, size_t align);

/* Declares an entry point with its symbol, exported whatever the library's default visibility is. */
#define HW_ENTRY(result, name, id, parameters)                             \
  HW_ENTRY_LANGUAGE __attribute__((visibility("default"), used, noinline)) \
  result hw_entry_##name parameters __asm__(HW_SYMBOL_##id);               \
  result hw_entry_##name parameters

/* --- C --- */

HW_ENTRY(void *, malloc, MALLOC, (size_t size))
{
  return hw_do_malloc(size);
}

HW_ENTRY(void, free, FREE, (void *block))
{
  hw_do_free(block);
}

HW_ENTRY(void *, calloc, CALLOC, (size_t count, size_t size))
{
  return hw_do_calloc(count, size);
}

HW_ENTRY(void *, realloc, REALLOC, (void *old, size_t size))
{
  return hw_do_realloc(old, size);
}

HW_ENTRY(void *, reallocarray, REALLOCARRAY, (void *old, size_t count, size_t size))
{
  return hw_do_reallocarray(old, count, size);
}

HW_ENTRY(int, posix_memalign, POSIX_MEMALIGN, (void **to, size_t align, size_t size))
{
  return hw_do_posix_memalign(to, align, size);
}

HW_ENTRY(void *, aligned_alloc, ALIGNED_ALLOC, (size_t align, size_t size))
{
  return hw_do_aligned_alloc(align, size);
}

HW_ENTRY(void *, memalign, MEMALIGN, (size_t align, size_t size))
{
  return hw_do_memalign(align, size);
}

HW_ENTRY(void *, valloc, VALLOC, (size_t size))
{
  return hw_do_valloc(size);
}

HW_ENTRY(void *, pvalloc, PVALLOC, (size_t size))
{
  return hw_do_pvalloc(size);
}

HW_ENTRY(size_t, malloc_usable_size, MALLOC_USABLE_SIZE, (void *block))
{
  return hw_do_malloc_usable_size(block);
}

HW_ENTRY(void, free_sized, FREE_SIZED, (void *block, size_t size))
{
  hw_do_free_sized(block, size);
}

HW_ENTRY(void, free_aligned_sized, FREE_ALIGNED_SIZED, (void *block, size_t align, size_t size))
{
  hw_do_free_aligned_sized(block, align, size);
}

/* --- C++ --- */

HW_ENTRY(void *, new, NEW, (size_t size))
{
  return hw_do_new(HW_ENTRY_NEW, size);
}

HW_ENTRY(void *, new_array, NEW_ARRAY, (size_t size))
{
  return hw_do_new(HW_ENTRY_NEW_ARRAY, size);
}

HW_ENTRY(void *, new_nothrow, NEW_NOTHROW, (size_t size, const void *tag))
{
  return hw_do_new_nothrow(HW_ENTRY_NEW_NOTHROW, size, tag);
}

HW_ENTRY(void *, new_array_nothrow, NEW_ARRAY_NOTHROW, (size_t size, const void *tag))
{
  return hw_do_new_nothrow(HW_ENTRY_NEW_ARRAY_NOTHROW, size, tag);
}

HW_ENTRY(void *, new_aligned, NEW_ALIGNED, (size_t size, size_t align))
{
  return hw_do_new_aligned(HW_ENTRY_NEW_ALIGNED, size, align);
}

HW_ENTRY(void *, new_array_aligned, NEW_ARRAY_ALIGNED, (size_t size, size_t align))
{
  return hw_do_new_aligned(HW_ENTRY_NEW_ARRAY_ALIGNED, size, align);
}

HW_ENTRY(void *, new_aligned_nothrow, NEW_ALIGNED_NOTHROW, (size_t size, size_t align, const void *tag))
{
  return hw_do_new_aligned_nothrow(HW_ENTRY_NEW_ALIGNED_NOTHROW, size, align, tag);
}

HW_ENTRY(void *, new_array_aligned_nothrow, NEW_ARRAY_ALIGNED_NOTHROW, (size_t size, size_t align, const void *tag))
{
  return hw_do_new_aligned_nothrow(HW_ENTRY_NEW_ARRAY_ALIGNED_NOTHROW, size, align, tag);
}

HW_ENTRY(void, delete, DELETE, (void *block))
{
  hw_do_delete(HW_ENTRY_DELETE, block);
}

HW_ENTRY(void, delete_array, DELETE_ARRAY, (void *block))
{
  hw_do_delete(HW_ENTRY_DELETE_ARRAY, block);
}

HW_ENTRY(void, delete_nothrow, DELETE_NOTHROW, (void *block, const void *tag))
{
  hw_do_delete_nothrow(HW_ENTRY_DELETE_NOTHROW, block, tag);
}

HW_ENTRY(void, delete_array_nothrow, DELETE_ARRAY_NOTHROW, (void *block, const void *tag))
{
  hw_do_delete_nothrow(HW_ENTRY_DELETE_ARRAY_NOTHROW, block, tag);
}

HW_ENTRY(void, delete_sized, DELETE_SIZED, (void *block, size_t size))
{
  hw_do_delete_sized(HW_ENTRY_DELETE_SIZED, block, size);
}

HW_ENTRY(void, delete_array_sized, DELETE_ARRAY_SIZED, (void *block, size_t size))
{
  hw_do_delete_sized(HW_ENTRY_DELETE_ARRAY_SIZED, block, size);
}

HW_ENTRY(void, delete_aligned, DELETE_ALIGNED, (void *block, size_t align))
{
  hw_do_delete_aligned(HW_ENTRY_DELETE_ALIGNED, block, align);
}

HW_ENTRY(void, delete_array_aligned, DELETE_ARRAY_ALIGNED, (void *block, size_t align))
{
  hw_do_delete_aligned(HW_ENTRY_DELETE_ARRAY_ALIGNED, block, align);
}

HW_ENTRY(void, delete_aligned_nothrow, DELETE_ALIGNED_NOTHROW, (void *block, size_t align, const void *tag))
{
  hw_do_delete_aligned_nothrow(HW_ENTRY_DELETE_ALIGNED_NOTHROW, block, align, tag);
}

HW_ENTRY(void, delete_array_aligned_nothrow, DELETE_ARRAY_ALIGNED_NOTHROW, (void *block, size_t align, const void *tag))
{
  hw_do_delete_aligned_nothrow(HW_ENTRY_DELETE_ARRAY_ALIGNED_NOTHROW, block, align, tag);
}

HW_ENTRY(void, delete_sized_aligned, DELETE_SIZED_ALIGNED, (void *block, size_t size, size_t align))
{
  hw_do_delete_sized_aligned(HW_ENTRY_DELETE_SIZED_ALIGNED, block, size, align);
}

HW_ENTRY(void, delete_array_sized_aligned, DELETE_ARRAY_SIZED_ALIGNED, (void *block, size_t size, size_t align))
{
  hw_do_delete_sized_aligned(HW_ENTRY_DELETE_ARRAY_SIZED_ALIGNED, block, size, align);
}

#endif
