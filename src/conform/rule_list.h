/* rule_list.h - the one list of what a malloc replacement promises, for the program that tries it and for the tool that tells
 *
 * X(id, name, kind, promise): hwi_rule_<id> tries it. Kinds: MUST, the standards and every program rely on it; PRACTICE, what
 * glibc does and others may not: where it is not so, the library differs, and is not broken; CXX, as MUST, and the C++ runtime
 * is loaded from the start.
 */
#ifndef HWI_CONFORM_RULE_LIST_H
#define HWI_CONFORM_RULE_LIST_H

/* clang-format off */
#define HWI_RULE_LIST(X)                                                                                               \
  X(family, "family", MUST, "all entry points that allocate come from one library")                                    \
  X(malloc_zero, "malloc-zero", MUST, "malloc(0) and calloc(0) give a block of its own")                               \
  X(free_null, "free-null", MUST, "free(NULL) does nothing")                                                           \
  X(realloc_null, "realloc-null", MUST, "realloc(NULL, n) is malloc(n)")                                               \
  X(realloc_zero, "realloc-zero", PRACTICE, "realloc(p, 0) frees p and returns NULL")                                  \
  X(calloc_overflow, "calloc-overflow", MUST, "calloc of a product that overflows fails")                              \
  X(reallocarray_overflow, "reallocarray-overflow", MUST, "so does reallocarray, and the block stays")                 \
  X(huge_sizes, "huge-sizes", MUST, "requests of 2^63 bytes and more fail, in C and POSIX with ENOMEM")           \
  X(out_of_memory, "out-of-memory", MUST, "without memory NULL and ENOMEM, and all goes on when there is some again")  \
  X(errno_kept, "errno-kept", MUST, "errno is untouched where a call succeeds, and by free")                           \
  X(malloc_align, "malloc-align", MUST, "blocks are aligned for every type that fits, to 16 at most")                  \
  X(small_align, "small-align", PRACTICE, "blocks below 16 bytes are aligned to 16, too")                              \
  X(posix_memalign, "posix-memalign", MUST, "posix_memalign aligns to any power of two up to 2^20")                    \
  X(posix_memalign_refuses, "posix-memalign-refuses", MUST, "EINVAL for other alignments, the pointer as it was")      \
  X(posix_memalign_errno, "posix-memalign-errno", PRACTICE, "without memory posix_memalign sets errno, too")           \
  X(aligned_alloc, "aligned-alloc", MUST, "aligned_alloc aligns, whatever the size")                                   \
  X(aligned_alloc_refuses, "aligned-alloc-refuses", PRACTICE, "aligned_alloc refuses what is no power of two")         \
  X(memalign, "memalign", MUST, "memalign aligns")                                                                     \
  X(memalign_rounds_up, "memalign-rounds-up", PRACTICE, "memalign takes the next power of two")                        \
  X(aligned_zero, "aligned-zero", PRACTICE, "0 bytes at an alignment give an aligned block")                           \
  X(page_align, "page-align", MUST, "valloc and pvalloc align to pages, and pvalloc gives whole ones")                 \
  X(huge_align, "huge-align", MUST, "alignments of 2^21 to 2^63 are kept, or refused")                                 \
  X(aligned_realloc, "aligned-realloc", MUST, "aligned blocks can be reallocated and freed")                           \
  X(usable_size, "usable-size", MUST, "malloc_usable_size is no less than asked for, and all of it may be written")    \
  X(calloc_zeroed, "calloc-zeroed", MUST, "calloc's memory is zero when it was used before")                           \
  X(realloc_grow, "realloc-grow", MUST, "realloc keeps the contents when a block grows")                               \
  X(realloc_shrink, "realloc-shrink", MUST, "and when it shrinks")                                                     \
  X(realloc_random, "realloc-random", MUST, "and among a thousand others")                                             \
  X(realloc_failure, "realloc-failure", MUST, "a realloc that fails leaves the block as it was")                       \
  X(overlap, "overlap", MUST, "no two live blocks share a byte under random load")                                     \
  X(every_size, "every-size", MUST, "nor with each size up to 5,000 and around each power of two")                     \
  X(million_blocks, "million-blocks", PRACTICE, "a million blocks live at once")                                           \
  X(reuse, "reuse", PRACTICE, "memory that was freed is used again")                                                   \
  X(libc_blocks, "libc-blocks", MUST, "what libc allocates for its caller can be freed and reallocated")               \
  X(before_main, "before-main", MUST, "constructors may allocate, and main frees it")                                  \
  X(at_exit, "at-exit", MUST, "handlers at exit may allocate and free")                                                \
  X(dlopen_user, "dlopen", MUST, "a library that is loaded and unloaded at run time may allocate")                     \
  X(cross_thread_free, "cross-thread-free", MUST, "a block may be freed by another thread")                            \
  X(threads_64, "threads-64", MUST, "64 threads at once, which free each other's blocks")                              \
  X(thread_race, "thread-race", MUST, "threads that allocate and free one size as fast as they can")                   \
  X(thread_exit, "thread-exit", MUST, "blocks outlive their threads; a thousand threads come and go")                  \
  X(thread_destructors, "thread-destructors", MUST, "destructors of a thread's keys may allocate")                     \
  X(small_stack, "small-stack", MUST, "a thread with the smallest stack may allocate")                                 \
  X(fork_child, "fork", MUST, "a child goes on with its parent's heap")                                                \
  X(fork_threads, "fork-threads", MUST, "a fork while other threads allocate leaves a child that can")                 \
  X(fork_handlers, "fork-handlers", MUST, "handlers of pthread_atfork may allocate")                                   \
  X(fork_stdio, "fork-stdio", MUST, "a fork while other threads allocate within stdio comes to an end")                \
  X(figures, "figures", MUST, "malloc_info, mallinfo, malloc_trim and mallopt can be called")                          \
  X(new_delete, "new-delete", CXX, "every operator new and delete, and malloc's blocks beside")                        \
  X(new_align, "new-align", CXX, "operator new aligns as asked for")                                                   \
  X(new_bad_alloc, "new-bad-alloc", CXX, "operator new throws bad_alloc, and its nothrow form returns NULL")           \
  X(new_handler, "new-handler", CXX, "operator new asks the new_handler until it has none")                            \
  X(foreign, "foreign", PRACTICE, "a block of libc's own malloc may be freed: elsewhere that is undefined")
/* clang-format on */

#endif
