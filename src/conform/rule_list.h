/* rule_list.h - the list of malloc's rules, for the program that tests them and for the tool that reports the results
 *
 * X(id, name, kind, promise): hwi_rule_<id> tests it. Kinds: MUST: required by standards, and all programs rely on it.
 * PRACTICE: glibc does it, others may not; a library that does not is reported as different, not as broken. CXX: as
 * MUST, with the C++ runtime loaded from the start.
 */
#ifndef HWI_CONFORM_RULE_LIST_H
#define HWI_CONFORM_RULE_LIST_H

/* clang-format off */
#define HWI_RULE_LIST(X)                                                                                               \
  X(family, "family", MUST, "all entry points that allocate come from one library")                                    \
  X(malloc_zero, "malloc-zero", MUST, "malloc(0) and calloc(0) return a distinct block each")                          \
  X(free_null, "free-null", MUST, "free(NULL) does nothing")                                                           \
  X(realloc_null, "realloc-null", MUST, "realloc(NULL, n) works as malloc(n)")                                         \
  X(realloc_zero, "realloc-zero", PRACTICE, "realloc(p, 0) frees p and returns NULL")                                  \
  X(calloc_overflow, "calloc-overflow", MUST, "calloc of a product that overflows fails")                              \
  X(reallocarray_overflow, "reallocarray-overflow", MUST, "reallocarray fails on overflow and keeps the block")        \
  X(huge_sizes, "huge-sizes", MUST, "requests of 2^63 bytes and more fail, in C and POSIX with ENOMEM")                \
  X(out_of_memory, "out-of-memory", MUST, "calls fail with ENOMEM without memory, and succeed again after a free")     \
  X(errno_kept, "errno-kept", MUST, "calls that succeed, and free, do not change errno")                               \
  X(malloc_align, "malloc-align", MUST, "blocks are aligned for every type that fits, up to 16")                       \
  X(small_align, "small-align", PRACTICE, "blocks below 16 bytes are aligned to 16, too")                              \
  X(posix_memalign, "posix-memalign", MUST, "posix_memalign aligns to any power of two up to 2^20")                    \
  X(posix_memalign_refuses, "posix-memalign-refuses", MUST, "other alignments give EINVAL and keep the pointer")       \
  X(posix_memalign_errno, "posix-memalign-errno", PRACTICE, "without memory posix_memalign also sets errno")           \
  X(aligned_alloc, "aligned-alloc", MUST, "aligned_alloc aligns blocks of any size")                                   \
  X(aligned_alloc_refuses, "aligned-alloc-refuses", PRACTICE, "aligned_alloc accepts only powers of two as alignment") \
  X(memalign, "memalign", MUST, "memalign aligns")                                                                     \
  X(memalign_rounds_up, "memalign-rounds-up", PRACTICE, "memalign rounds the alignment up to a power of two")          \
  X(aligned_zero, "aligned-zero", PRACTICE, "requests of 0 bytes return an aligned block")                             \
  X(page_align, "page-align", MUST, "valloc and pvalloc align to pages; pvalloc returns whole pages")                  \
  X(huge_align, "huge-align", MUST, "alignments of 2^21 to 2^63 are met or refused")                                   \
  X(aligned_realloc, "aligned-realloc", MUST, "aligned blocks can be reallocated and freed")                           \
  X(usable_size, "usable-size", MUST, "malloc_usable_size is at least the request; all may be written")                \
  X(calloc_zeroed, "calloc-zeroed", MUST, "calloc's memory is zero even if it was used before")                        \
  X(realloc_grow, "realloc-grow", MUST, "realloc keeps the contents when a block grows")                               \
  X(realloc_shrink, "realloc-shrink", MUST, "realloc keeps the contents when a block shrinks")                         \
  X(realloc_random, "realloc-random", MUST, "realloc keeps the contents among a thousand blocks")                      \
  X(realloc_failure, "realloc-failure", MUST, "a realloc that fails does not change the block")                        \
  X(overlap, "overlap", MUST, "no two live blocks share a byte under random load")                                     \
  X(every_size, "every-size", MUST, "no overlap at sizes up to 5,000 and near powers of two")                          \
  X(million_blocks, "million-blocks", PRACTICE, "a million blocks can be live at once")                                \
  X(reuse, "reuse", PRACTICE, "freed memory is reused")                                                                \
  X(libc_blocks, "libc-blocks", MUST, "blocks that libc returns can be freed and reallocated")                         \
  X(before_main, "before-main", MUST, "main may free what constructors allocate")                                      \
  X(at_exit, "at-exit", MUST, "handlers at exit may allocate and free")                                                \
  X(dlopen_user, "dlopen", MUST, "a library that is loaded and unloaded at run time may allocate")                     \
  X(cross_thread_free, "cross-thread-free", MUST, "a block may be freed by another thread")                            \
  X(threads_64, "threads-64", MUST, "64 threads at once may free each other's blocks")                                 \
  X(thread_race, "thread-race", MUST, "many threads may allocate and free one size at full speed")                     \
  X(thread_exit, "thread-exit", MUST, "blocks outlive their threads, a thousand of them")                              \
  X(thread_destructors, "thread-destructors", MUST, "destructors of a thread's keys may allocate")                     \
  X(small_stack, "small-stack", MUST, "a thread with the smallest stack may allocate")                                 \
  X(fork_child, "fork", MUST, "a forked child can use its parent's heap")                                              \
  X(fork_threads, "fork-threads", MUST, "a child forked while other threads allocate can allocate")                    \
  X(fork_handlers, "fork-handlers", MUST, "handlers of pthread_atfork may allocate")                                   \
  X(fork_stdio, "fork-stdio", MUST, "a fork while other threads allocate in stdio completes")                          \
  X(figures, "figures", MUST, "malloc_info, mallinfo, malloc_trim and mallopt can be called")                          \
  X(new_delete, "new-delete", CXX, "every form of operator new and delete works")                                      \
  X(new_align, "new-align", CXX, "operator new aligns as requested")                                                   \
  X(new_bad_alloc, "new-bad-alloc", CXX, "operator new throws bad_alloc, and its nothrow form returns NULL")           \
  X(new_handler, "new-handler", CXX, "operator new calls the new_handler until there is none")                         \
  X(foreign, "foreign", PRACTICE, "a block of libc's own malloc may be freed (elsewhere undefined)")
/* clang-format on */

#endif
