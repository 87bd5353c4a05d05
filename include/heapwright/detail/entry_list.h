/* entry_list.h - the one list of the entry points that heapwright interposes
 *
 * X(id, name): `id` names the constant HW_ENTRY_<id>, `name` is what a report prints. Numbers are kept in traces: append
 * only. How each one is declared and what it does is in entries.h.
 */
#ifndef HEAPWRIGHT_DETAIL_ENTRY_LIST_H
#define HEAPWRIGHT_DETAIL_ENTRY_LIST_H

#define HW_ENTRY_LIST(X)                                                     \
  X(NONE, "")                                                                \
  X(MALLOC, "malloc")                                                        \
  X(FREE, "free")                                                            \
  X(CALLOC, "calloc")                                                        \
  X(REALLOC, "realloc")                                                      \
  X(REALLOCARRAY, "reallocarray")                                            \
  X(POSIX_MEMALIGN, "posix_memalign")                                        \
  X(ALIGNED_ALLOC, "aligned_alloc")                                          \
  X(MEMALIGN, "memalign")                                                    \
  X(VALLOC, "valloc")                                                        \
  X(PVALLOC, "pvalloc")                                                      \
  X(MALLOC_USABLE_SIZE, "malloc_usable_size")                                \
  X(FREE_SIZED, "free_sized")                                                \
  X(FREE_ALIGNED_SIZED, "free_aligned_sized")                                \
  X(NEW, "operator new")                                                     \
  X(NEW_ARRAY, "operator new[]")                                             \
  X(NEW_NOTHROW, "operator new(nothrow)")                                    \
  X(NEW_ARRAY_NOTHROW, "operator new[](nothrow)")                            \
  X(NEW_ALIGNED, "operator new(align)")                                      \
  X(NEW_ARRAY_ALIGNED, "operator new[](align)")                              \
  X(NEW_ALIGNED_NOTHROW, "operator new(align, nothrow)")                     \
  X(NEW_ARRAY_ALIGNED_NOTHROW, "operator new[](align, nothrow)")             \
  X(DELETE, "operator delete")                                               \
  X(DELETE_ARRAY, "operator delete[]")                                       \
  X(DELETE_NOTHROW, "operator delete(nothrow)")                              \
  X(DELETE_ARRAY_NOTHROW, "operator delete[](nothrow)")                      \
  X(DELETE_SIZED, "operator delete(size)")                                   \
  X(DELETE_ARRAY_SIZED, "operator delete[](size)")                           \
  X(DELETE_ALIGNED, "operator delete(align)")                                \
  X(DELETE_ARRAY_ALIGNED, "operator delete[](align)")                        \
  X(DELETE_ALIGNED_NOTHROW, "operator delete(align, nothrow)")               \
  X(DELETE_ARRAY_ALIGNED_NOTHROW, "operator delete[](align, nothrow)")       \
  X(DELETE_SIZED_ALIGNED, "operator delete(size, align)")                    \
  X(DELETE_ARRAY_SIZED_ALIGNED, "operator delete[](size, align)")

enum hw_entry {
#define HW_ENTRY_CONSTANT(id, name) HW_ENTRY_##id,
  HW_ENTRY_LIST(HW_ENTRY_CONSTANT)
#undef HW_ENTRY_CONSTANT
  HW_ENTRY_COUNT
};

#endif
