/* allocator.h - turns an allocator of your own into a library that replaces malloc in any program
 *
 *   #include <heapwright/allocator.h>
 *   static void *my_alloc(size_t size, size_t align) { ... }
 *   static void my_free(void *block) { ... }
 *   static size_t my_usable_size(void *block) { ... }
 *   HEAPWRIGHT_ALLOCATOR(.alloc = my_alloc, .free = my_free, .usable_size = my_usable_size);
 *
 *   cc -O2 -shared -fPIC mine.c -o libmine.so $(pkg-config --cflags --libs heapwright)
 *   LD_PRELOAD=./libmine.so program                            or: heapwright run --allocator ./libmine.so program
 *   heapwright test ./libmine.so                               does it keep malloc's contract?
 *
 * Including this header defines all that a malloc replacement exports: the functions of C, every operator new and
 * delete, and glibc's malloc_trim, mallopt, mallinfo, mallinfo2, malloc_info and malloc_stats. This header handles the
 * special cases of malloc's contract as glibc does, so that they never reach your functions: requests for 0 bytes,
 * products that overflow, sizes that no object can have, alignments that are refused or rounded up, realloc to 0,
 * errno, std::bad_alloc and the new_handler.
 *
 * The members are known when the file is compiled, so that malloc calls your function directly or inlines it: there is
 * no table, no call through a pointer and no lock in between. Only a comparison of the size and a check whether `init`
 * has run remain.
 *
 * Include it in exactly one source file of the library, and put HEAPWRIGHT_ALLOCATOR there once, at file scope: a
 * second file that does the same is refused by the linker ("multiple definition of `malloc'"). C17 and C++17, gcc and
 * clang, any level of optimisation, -flto. C++ requires the members in the order of the struct. The flags of pkg-config
 * hide everything else that the file defines (-fvisibility=hidden) and let a new_handler throw through operator new
 * (-fexceptions).
 *
 * When your functions are called
 * - From any number of threads at once: they must lock what they share.
 * - Never from signal handlers, unless the program breaks malloc's own rules.
 * - From the dynamic loader and from the constructors of other libraries: before main, before constructors of this
 *   library, and sometimes before libc's own: `environ` and stdio may not be ready. Thread-local storage is.
 * - They must not call malloc, or functions that call malloc (printf does, getenv does not): the call would come back
 *   to them. Only `init` may. Memory comes from mmap, from a static array, or from the next malloc through
 *   dlsym(RTLD_NEXT) found in `init`.
 * - Their thread-local variables need __attribute__((tls_model("initial-exec"))): other models call malloc on first
 *   use.
 */
/* SPDX-License-Identifier: MIT */
#ifndef HEAPWRIGHT_ALLOCATOR_H
#define HEAPWRIGHT_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
#define HW_UNLESS_GIVEN = nullptr
#else
#define HW_UNLESS_GIVEN
#endif

/* Figures that `stats` reports, in bytes. mallinfo, mallinfo2, malloc_info and malloc_stats are answered from it. */
struct hw_allocator_stats {
  size_t used_bytes;        /* in allocated blocks, as usable_size counts them */
  size_t system_bytes;      /* taken from the system and not returned: used_bytes, free memory and bookkeeping */
  size_t system_peak_bytes; /* the highest value of system_bytes so far; 0: unknown */
};

/* An allocator. The first three members are required; where another is NULL, its default is used.
 *
 * Sizes and alignments are checked before they come: 0 < size, align is a power of two, size + align <= PTRDIFF_MAX, so
 * that neither sums of the two nor differences of addresses overflow. Functions may change errno: the entry points set
 * it to ENOMEM if the function returns NULL, and restore it otherwise. */
struct hw_allocator {
  /* Returns a block of at least `size` bytes whose address is a multiple of `align`, or NULL if there is no memory.
   * `align` is the alignment that is really needed: alignof(max_align_t) (16) for malloc, calloc, realloc and plain
   * new, however small the size, and for the other functions the caller's, which may be anything from 1 to a gigabyte.
   * The block stays valid until it is freed; its contents do not matter. (Where HEAPWRIGHT_HEAPHOOK_ALIGN is defined
   * before this header is included, the plain functions pass an align of 1, as heaphook's do_alloc does; the block must
   * still be aligned for max_align_t.) */
  void *(*alloc)(size_t size, size_t align)HW_UNLESS_GIVEN;

  /* Frees a block that alloc, alloc_zeroed or realloc returned, on any thread. The block is never NULL. Any other
   * address comes only from a broken program, or, without `owns`, from another malloc; the behaviour is undefined in
   * both cases. */
  void (*free)(void *block) HW_UNLESS_GIVEN;

  /* Returns how many bytes of an allocated block may be written: at least the requested size. The block is never
   * NULL. */
  size_t (*usable_size)(void *block) HW_UNLESS_GIVEN;

  /* As alloc, but all `size` bytes are zero. Default: alloc and memset. It is worth defining if fresh pages are known
   * to be zero. */
  void *(*alloc_zeroed)(size_t size, size_t align)HW_UNLESS_GIVEN;

  /* Returns a block of at least `size` bytes with the contents of `block` up to the smaller of both sizes, aligned as
   * malloc's; `block` is then free unless it is the one returned. Returns NULL if there is no memory, and leaves
   * `block` unchanged. Default: the same block if `size` is within its usable size, else alloc, memcpy and free. An
   * allocator that can release the tail of a block, or grow it in place, should define its own. */
  void *(*realloc)(void *block, size_t size)HW_UNLESS_GIVEN;

  /* Returns whether the address is in a block of this allocator. Any address may be passed, also while other threads
   * allocate. It is called at each free, so it should be one or two comparisons. A block that is not owned (from
   * another library's own malloc, or a second libc of dlmopen) goes to the next malloc in the search order; if there is
   * none, the call is reported on stderr and does nothing. Default: blocks are not checked, and the behaviour for a
   * foreign block is undefined. */
  bool (*owns)(const void *address) HW_UNLESS_GIVEN;

  /* Runs once, before the first call of any other function, on the thread that makes that call. It may call malloc,
   * calloc, realloc and free, hence getenv, dlsym, fopen and the like: such calls get blocks from a buffer of 64 KiB,
   * which are never reused. If `environ` is not set yet, getenv finds nothing; hw_allocator_getenv works. Other threads
   * that allocate wait until `init` returns, so it must not wait for them. */
  void (*init)(void) HW_UNLESS_GIVEN;

  /* Run on each thread: thread_init before its first call, thread_exit as late at its end as the system allows. Calls
   * of alloc and free on that thread are still possible afterwards, and in thread_init itself if it calls malloc; they
   * must not depend on the state that these two functions manage. The main thread has no thread_exit when the process
   * ends by exit. */
  void (*thread_init)(void) HW_UNLESS_GIVEN;
  void (*thread_exit)(void) HW_UNLESS_GIVEN;

  /* Around fork: before_fork brings the allocator into a state that the child can continue from (it takes all locks, in
   * order), and after_fork undoes that, in the parent and in the child, on the same thread; the child has no other
   * threads. The program's own handlers of pthread_atfork run outside of these two, and may allocate. The lock of
   * glibc's list of streams is taken before before_fork and released after after_fork: a thread that holds it may be
   * waiting for the allocator, and fork itself takes it later. They are not called for a fork within a fork (by a
   * signal handler on the same thread), nor by vfork, posix_spawn and _Fork. Default: nothing; if an allocator has
   * locks but not these functions, its children may hang. */
  void (*before_fork)(void) HW_UNLESS_GIVEN;
  void (*after_fork)(bool is_child) HW_UNLESS_GIVEN;

  /* The fast paths, for allocators that count instructions. Malloc and operator new, all functions and operators with
   * an alignment, free and delete, and realloc call them before all checks, once `init` and thread_init are done (see
   * also quick_before_init). They get unchecked sizes (0, or more than is possible), any address (NULL, a block of
   * another malloc), and an alignment that is a power of two or 0, which means the same as 1. They do what the C
   * functions do, but never change errno themselves. What they cannot do in a few instructions they leave to
   * `otherwise`, which makes the checks and calls alloc, free or realloc. If `otherwise` is called last and its result
   * is returned, the fast path needs no stack frame for it. These functions should be inline. Default: the checks come
   * first. */
  void *(*quick_alloc)(size_t size, void *(*otherwise)(size_t size))HW_UNLESS_GIVEN;
  void *(*quick_alloc_aligned)(size_t size, size_t align, void *(*otherwise)(size_t size, size_t align))HW_UNLESS_GIVEN;
  void (*quick_free)(void *block, void (*otherwise)(void *block)) HW_UNLESS_GIVEN;
  void *(*quick_realloc)(void *block, size_t size, void *(*otherwise)(void *block, size_t size))HW_UNLESS_GIVEN;

  /* Fills *stats. Must not allocate. Default: all zero. */
  void (*stats)(struct hw_allocator_stats *stats) HW_UNLESS_GIVEN;

  /* Prints statistics on stderr, for malloc_stats. Must not allocate. Default: two lines made from `stats`. */
  void (*print_stats)(void) HW_UNLESS_GIVEN;

  /* Returns free memory to the system, for malloc_trim; `pad` bytes of it may stay. Returns whether there was any. Default: nothing
   * is returned. */
  bool (*trim)(size_t pad) HW_UNLESS_GIVEN;

  /* A promise that no function above changes errno unless it returns NULL. It makes malloc and free a few instructions
   * shorter. */
  bool keeps_errno
#ifdef __cplusplus
      = false
#endif
      ;

  /* A promise that the fast paths may be called at any time, also before `init` and thread_init, and before the loader
   * has relocated this library (no pointer and no thread-local variable can be used then), since they call `otherwise`
   * in those cases. It saves the check. */
  bool quick_before_init
#ifdef __cplusplus
      = false
#endif
      ;
};

/* Returns the value of an environment variable from the block that the process was started with, or NULL if there is
 * none. Works before libc has set `environ`, allocates nothing, and does not see changes made by setenv. For `init`. */
static const char *hw_allocator_getenv(const char *name);

#ifdef __cplusplus
namespace {
extern const struct hw_allocator hw_given;
}
#if __GNUC__ >= 12 || \
    defined __clang__ /* designators are C++20's, and an extension that -Wpedantic names before that */
#define HW_ALLOW_DESIGNATORS _Pragma("GCC diagnostic ignored \"-Wc++20-extensions\"")
#else
#define HW_ALLOW_DESIGNATORS _Pragma("GCC diagnostic ignored \"-Wpedantic\"")
#endif
/* clang-format off */
#define HEAPWRIGHT_ALLOCATOR(...)                       \
  _Pragma("GCC diagnostic push") HW_ALLOW_DESIGNATORS   \
  namespace {                                           \
  const struct hw_allocator hw_given = {__VA_ARGS__};   \
  }                                                     \
  _Pragma("GCC diagnostic pop") struct hw_allocator
/* clang-format on */
#else
static const struct hw_allocator hw_given;
#define HEAPWRIGHT_ALLOCATOR(...) static const struct hw_allocator hw_given = {__VA_ARGS__}
#endif

#include "heapwright/detail/operations.h"

#endif
