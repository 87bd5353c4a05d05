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
 * delete, and glibc's malloc_trim, mallopt, mallinfo, mallinfo2, malloc_info and malloc_stats. What they owe their
 * callers is done here, as glibc does it, and never reaches your functions: requests for 0 bytes, products that
 * overflow, sizes that no object can have, alignments that are refused or rounded up, realloc to 0, errno,
 * std::bad_alloc and the new_handler.
 *
 * The members are known when the file is compiled, so that malloc calls your function directly, or contains it: there
 * is no table, no call through a pointer and no lock in between. What stands there is a compare of the size and a look
 * at whether `init` has run.
 *
 * Include it in exactly one source file of the library, and put HEAPWRIGHT_ALLOCATOR there once, at file scope: a
 * second file that does the same is refused by the linker ("multiple definition of `malloc'"). C17 and C++17, gcc and
 * clang, any level of optimisation, -flto. C++ wants the members in the order of the struct. The flags of pkg-config
 * hide all else that the file defines (-fvisibility=hidden) and let a new_handler throw through operator new
 * (-fexceptions).
 *
 * When your functions are called
 * - From any number of threads at once: they lock what they share.
 * - From signal handlers never, save where the program breaks malloc's own rules.
 * - From the dynamic loader and from other libraries' constructors on, which is before main, before constructors of
 * this
 *   library, and sometimes before libc's own: `environ` and stdio may not be ready. Thread-local storage is.
 * - They must not call malloc or what calls it (printf does, getenv does not): it would come back to them. Only `init`
 * may.
 *   Memory comes from mmap, from a static array, or from the next malloc through dlsym(RTLD_NEXT) found in `init`.
 * - A thread-local variable of theirs needs __attribute__((tls_model("initial-exec"))): other models call malloc on
 * first use.
 */
#ifndef HEAPWRIGHT_ALLOCATOR_H
#define HEAPWRIGHT_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
#define HW_UNLESS_GIVEN = nullptr
#else
#define HW_UNLESS_GIVEN
#endif

/* What `stats` says; bytes. mallinfo, mallinfo2, malloc_info and malloc_stats are answered from it. */
struct hw_allocator_stats {
  size_t used_bytes;        /* in blocks that are given out, as usable_size counts them */
  size_t system_bytes;      /* taken from the system and not given back: used_bytes and what is free or bookkeeping */
  size_t system_peak_bytes; /* the most that system_bytes has been; 0: not known */
};

/* An allocator. The first three members are needed; NULL elsewhere takes what is said there.
 *
 * Sizes and alignments are checked before they come: 0 < size, align is a power of two, size + align <= PTRDIFF_MAX, so
 * that neither sums of the two nor differences of addresses overflow. Functions may change errno: it is set to ENOMEM
 * where they return NULL, and is as before otherwise. */
struct hw_allocator {
  /* A block of at least `size` bytes whose address is a multiple of `align`, or NULL: there is no memory. `align` is
   * what is really needed: alignof(max_align_t) (16) for malloc, calloc, realloc and plain new, however small the size,
   * and for the others the caller's, which may be 1 as well as a gigabyte. The block stays until it is freed; what it
   * contains does not matter. (Where HEAPWRIGHT_HEAPHOOK_ALIGN is defined before this header is included, the plain
   * ones come with an align of 1, as heaphook's do_alloc has it; the block must be fit for max_align_t all the same.)
   * */
  void *(*alloc)(size_t size, size_t align)HW_UNLESS_GIVEN;

  /* Takes back a block that alloc, alloc_zeroed or realloc returned, on whatever thread. Never NULL. An address that is
   * no such block comes only from a broken program, or, without `owns`, from another malloc: undefined both. */
  void (*free)(void *block) HW_UNLESS_GIVEN;

  /* How many bytes of a block that is given out may be written: at least the size asked for. Never NULL. */
  size_t (*usable_size)(void *block) HW_UNLESS_GIVEN;

  /* As alloc, and all `size` bytes are zero. Default: alloc and memset. Worth having where fresh pages are known to be
   * zero. */
  void *(*alloc_zeroed)(size_t size, size_t align)HW_UNLESS_GIVEN;

  /* A block of at least `size` bytes with the contents of `block` up to the smaller of both sizes, aligned as malloc's;
   * `block` is free then unless it is the one returned. NULL: no memory, and `block` is as it was. Default: the same
   * block where `size` is within its usable size, else alloc, memcpy and free; an allocator that can give back a tail,
   * or grow in place, has its own. */
  void *(*realloc)(void *block, size_t size)HW_UNLESS_GIVEN;

  /* Whether the address lies in a block of this allocator. Any address may come, also while other threads allocate; it
   * is asked at each free, so it should be one or two compares. A block that is not owned (another library's own
   * malloc, a second libc of dlmopen) goes to the next malloc in the search order; where there is none, the call is
   * reported on stderr and does nothing. Default: none is asked for, and a foreign block is undefined. */
  bool (*owns)(const void *address) HW_UNLESS_GIVEN;

  /* Runs once, before the first call of any other function, on the thread that makes that call. It may call malloc,
   * calloc, realloc and free, hence getenv, dlsym, fopen and the like: such calls get blocks from a buffer of 64 KiB,
   * which are never reused. Where `environ` is not set yet, getenv finds nothing: hw_allocator_getenv does.
   * Other threads that allocate wait for its end: it must not wait for them. */
  void (*init)(void) HW_UNLESS_GIVEN;

  /* Run on each thread: thread_init before its first call, thread_exit as late in its end as the system allows. Calls
   * of alloc and free on that thread are still possible afterwards, and in thread_init itself where that calls malloc;
   * they must be served without what the two manage. The main thread has no thread_exit when the process ends by exit.
   * */
  void (*thread_init)(void) HW_UNLESS_GIVEN;
  void (*thread_exit)(void) HW_UNLESS_GIVEN;

  /* Around fork: before_fork brings the allocator into a state that the child can go on from (it takes all locks, in
   * order), and after_fork undoes that, in the parent and in the child, on the same thread; the child has no other
   * threads. The program's own handlers of pthread_atfork run outside of these two, and may allocate. The lock of
   * glibc's list of streams is taken before and given back after: a thread that has it may be waiting for the allocator, and
   * fork goes on to take it. Not called for a fork within a fork, by a signal's handler on the same thread; nor by vfork,
   * posix_spawn and _Fork. Default: nothing; an allocator with locks that does without has children that hang. */
  void (*before_fork)(void) HW_UNLESS_GIVEN;
  void (*after_fork)(bool is_child) HW_UNLESS_GIVEN;

  /* The quick ways, for allocators that count instructions: what malloc and operator new, all functions and operators with
   * an alignment, free and delete, and realloc come to before all checks, once `init` and thread_init are done. They get sizes
   * that nobody has looked at (0, or more than there can be) and any address (NULL, another malloc's), an alignment that is
   * a power of two or 0, which is as good as 1, do what the C functions do, and never change errno themselves. What they
   * cannot do in a few instructions they leave to `otherwise`, which makes the checks and comes to alloc, free or realloc:
   * called last, its result returned, it costs the quick way no frame. They are to be inline. Default: the checks come
   * first. */
  void *(*quick_alloc)(size_t size, void *(*otherwise)(size_t size))HW_UNLESS_GIVEN;
  void *(*quick_alloc_aligned)(size_t size, size_t align, void *(*otherwise)(size_t size, size_t align))HW_UNLESS_GIVEN;
  void (*quick_free)(void *block, void (*otherwise)(void *block)) HW_UNLESS_GIVEN;
  void *(*quick_realloc)(void *block, size_t size, void *(*otherwise)(void *block, size_t size))HW_UNLESS_GIVEN;

  /* Fills *stats. Must not allocate. Default: all zero. */
  void (*stats)(struct hw_allocator_stats *stats) HW_UNLESS_GIVEN;

  /* A promise: no function above changes errno, save where it returns NULL. malloc and free are a few instructions
   * shorter. */
  bool keeps_errno
#ifdef __cplusplus
      = false
#endif
      ;
};

/* The value of an environment variable from the block that the process was started with: works before libc has set
 * `environ`, allocates nothing, and does not see what setenv changed. NULL: there is none. For `init`. */
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
