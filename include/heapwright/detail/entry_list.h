/* entry_list.h - the one list of the entry points that heapwright interposes
 *
 * X(id, name): `id` names the constant HW_ENTRY_<id>, `name` is what a report prints. The numbers are stored in traces:
 * append only. entries.h declares and describes each one, but for HEAP_ALLOC: that is a program's report about a heap of
 * its own (monitor.h), and has no symbol.
 */
/* SPDX-License-Identifier: MIT */
#ifndef HEAPWRIGHT_DETAIL_ENTRY_LIST_H
#define HEAPWRIGHT_DETAIL_ENTRY_LIST_H

#define HW_ENTRY_LIST(X)                                               \
  X(NONE, "")                                                          \
  X(MALLOC, "malloc")                                                  \
  X(FREE, "free")                                                      \
  X(CALLOC, "calloc")                                                  \
  X(REALLOC, "realloc")                                                \
  X(REALLOCARRAY, "reallocarray")                                      \
  X(POSIX_MEMALIGN, "posix_memalign")                                  \
  X(ALIGNED_ALLOC, "aligned_alloc")                                    \
  X(MEMALIGN, "memalign")                                              \
  X(VALLOC, "valloc")                                                  \
  X(PVALLOC, "pvalloc")                                                \
  X(MALLOC_USABLE_SIZE, "malloc_usable_size")                          \
  X(FREE_SIZED, "free_sized")                                          \
  X(FREE_ALIGNED_SIZED, "free_aligned_sized")                          \
  X(NEW, "operator new")                                               \
  X(NEW_ARRAY, "operator new[]")                                       \
  X(NEW_NOTHROW, "operator new(nothrow)")                              \
  X(NEW_ARRAY_NOTHROW, "operator new[](nothrow)")                      \
  X(NEW_ALIGNED, "operator new(align)")                                \
  X(NEW_ARRAY_ALIGNED, "operator new[](align)")                        \
  X(NEW_ALIGNED_NOTHROW, "operator new(align, nothrow)")               \
  X(NEW_ARRAY_ALIGNED_NOTHROW, "operator new[](align, nothrow)")       \
  X(DELETE, "operator delete")                                         \
  X(DELETE_ARRAY, "operator delete[]")                                 \
  X(DELETE_NOTHROW, "operator delete(nothrow)")                        \
  X(DELETE_ARRAY_NOTHROW, "operator delete[](nothrow)")                \
  X(DELETE_SIZED, "operator delete(size)")                             \
  X(DELETE_ARRAY_SIZED, "operator delete[](size)")                     \
  X(DELETE_ALIGNED, "operator delete(align)")                          \
  X(DELETE_ARRAY_ALIGNED, "operator delete[](align)")                  \
  X(DELETE_ALIGNED_NOTHROW, "operator delete(align, nothrow)")         \
  X(DELETE_ARRAY_ALIGNED_NOTHROW, "operator delete[](align, nothrow)") \
  X(DELETE_SIZED_ALIGNED, "operator delete(size, align)")              \
  X(DELETE_ARRAY_SIZED_ALIGNED, "operator delete[](size, align)")      \
  X(HEAP_ALLOC, "allocation of a heap")

enum hw_entry {
#define HW_ENTRY_CONSTANT(id, name) HW_ENTRY_##id,
  HW_ENTRY_LIST(HW_ENTRY_CONSTANT)
#undef HW_ENTRY_CONSTANT
      HW_ENTRY_COUNT
};

/* The symbol of each: C++ operators under their mangled names. */
#define HW_SYMBOL_NONE ""
#define HW_SYMBOL_MALLOC "malloc"
#define HW_SYMBOL_FREE "free"
#define HW_SYMBOL_CALLOC "calloc"
#define HW_SYMBOL_REALLOC "realloc"
#define HW_SYMBOL_REALLOCARRAY "reallocarray"
#define HW_SYMBOL_POSIX_MEMALIGN "posix_memalign"
#define HW_SYMBOL_ALIGNED_ALLOC "aligned_alloc"
#define HW_SYMBOL_MEMALIGN "memalign"
#define HW_SYMBOL_VALLOC "valloc"
#define HW_SYMBOL_PVALLOC "pvalloc"
#define HW_SYMBOL_MALLOC_USABLE_SIZE "malloc_usable_size"
#define HW_SYMBOL_FREE_SIZED "free_sized"
#define HW_SYMBOL_FREE_ALIGNED_SIZED "free_aligned_sized"
#if __SIZEOF_SIZE_T__ == 8 /* size_t is an unsigned long, otherwise an unsigned int */
#define HW_SYMBOL_SIZE "m"
#else
#define HW_SYMBOL_SIZE "j"
#endif
#define HW_SYMBOL_NEW "_Znw" HW_SYMBOL_SIZE
#define HW_SYMBOL_NEW_ARRAY "_Zna" HW_SYMBOL_SIZE
#define HW_SYMBOL_NEW_NOTHROW "_Znw" HW_SYMBOL_SIZE "RKSt9nothrow_t"
#define HW_SYMBOL_NEW_ARRAY_NOTHROW "_Zna" HW_SYMBOL_SIZE "RKSt9nothrow_t"
#define HW_SYMBOL_NEW_ALIGNED "_Znw" HW_SYMBOL_SIZE "St11align_val_t"
#define HW_SYMBOL_NEW_ARRAY_ALIGNED "_Zna" HW_SYMBOL_SIZE "St11align_val_t"
#define HW_SYMBOL_NEW_ALIGNED_NOTHROW "_Znw" HW_SYMBOL_SIZE "St11align_val_tRKSt9nothrow_t"
#define HW_SYMBOL_NEW_ARRAY_ALIGNED_NOTHROW "_Zna" HW_SYMBOL_SIZE "St11align_val_tRKSt9nothrow_t"
#define HW_SYMBOL_DELETE "_ZdlPv"
#define HW_SYMBOL_DELETE_ARRAY "_ZdaPv"
#define HW_SYMBOL_DELETE_NOTHROW "_ZdlPvRKSt9nothrow_t"
#define HW_SYMBOL_DELETE_ARRAY_NOTHROW "_ZdaPvRKSt9nothrow_t"
#define HW_SYMBOL_DELETE_SIZED "_ZdlPv" HW_SYMBOL_SIZE
#define HW_SYMBOL_DELETE_ARRAY_SIZED "_ZdaPv" HW_SYMBOL_SIZE
#define HW_SYMBOL_DELETE_ALIGNED "_ZdlPvSt11align_val_t"
#define HW_SYMBOL_DELETE_ARRAY_ALIGNED "_ZdaPvSt11align_val_t"
#define HW_SYMBOL_DELETE_ALIGNED_NOTHROW "_ZdlPvSt11align_val_tRKSt9nothrow_t"
#define HW_SYMBOL_DELETE_ARRAY_ALIGNED_NOTHROW "_ZdaPvSt11align_val_tRKSt9nothrow_t"
#define HW_SYMBOL_DELETE_SIZED_ALIGNED "_ZdlPv" HW_SYMBOL_SIZE "St11align_val_t"
#define HW_SYMBOL_DELETE_ARRAY_SIZED_ALIGNED "_ZdaPv" HW_SYMBOL_SIZE "St11align_val_t"
#define HW_SYMBOL_HEAP_ALLOC ""

#endif
