/* heap.h - general heaps as objects: size classes, a cache for each thread, and everything given back at once
 *
 *   struct hw_heap *heap = hw_heap_create(NULL, NULL);
 *   void *block = hw_heap_alloc(heap, 100);
 *   hw_heap_free(heap, block);
 *   hw_heap_destroy(heap);
 *
 * A process may have any number of heaps. All functions may be called by any number of threads at once, except where
 * noted; none may be called by a signal handler. They do not change errno. A block may be freed by any thread, to the
 * heap that it is from. Memory comes from mmap; no function calls malloc, except that libc may do so when a thread uses
 * a heap for the first time and the process has more than 32 thread keys. Link with libheapwright-heaps.a; or with
 * libheapwright-heap, which has these functions and also the process's malloc (see the end of this header).
 *
 * The first hw_heap_create of a process registers handlers for forks, and takes a thread key with which the end of a
 * thread is noticed; without a key, what a thread had in its cache when it ended is not used again. No handler for
 * forks may make this first call; otherwise such handlers may use heaps. After a fork, the child has all heaps, and may
 * use them at once, also if the parent has other threads; what it frees in memory of these is mostly not given out
 * again. While another thread forks, a call of a function of this header may wait until the fork has ended. Its thread
 * must not hold a lock for which the fork waits, such as that of a stream (flockfile). malloc and free of
 * libheapwright-heap do not wait, also if a heap is set, except free without memory for a note. Where they would need a
 * lock that the fork has, malloc takes pages of its own from the system for the block, and free writes its address down:
 * the thread that forks frees it when the fork has ended. All functions of this header know such blocks as others of the
 * heap that was set, and hw_heap_destroy frees them; only the figures, the walk and the check do not have them.
 *
 * A module that contains this code may be closed when its heaps are destroyed and no thread is in a function of this
 * header, or is ending; and loaded again. Its destructors may destroy them, unless they have the priority 101. If a
 * module is closed without destroying its heaps, their memory is lost; after some twelve such times, there is no memory
 * for new heaps. glibc has little room for thread-local variables of modules that are loaded later: it is enough for
 * some nine such modules without such variables of their own, and a module gives its room back only if all that were
 * loaded after it were closed before it. For more modules, set GLIBC_TUNABLES=glibc.rtld.optional_static_tls=16384 in
 * the environment. A module that is closed and loaded in any order can be linked with -Wl,-z,nodelete: it then stays,
 * with the values of its variables, and takes its room once; its destructors run at the end of the process.
 *
 * If the environment has HEAPWRIGHT_HEAP_LIBC=1 when a heap is created, its blocks are those of malloc, so that
 * valgrind and the sanitizers see each of them; this is slow. An address that is none of the heap's blocks, also one
 * that was freed before, is HW_HEAP_FOREIGN then. With libheapwright-heap, malloc itself is then libc's. A program that
 * frees blocks of heaps by free needs valgrind's option --soname-synonyms=somalloc=nouserintercepts: otherwise valgrind
 * replaces free, and the heap frees them again.
 *
 * Each running thread keeps, in each heap, memory of the classes that it uses, although all of it is free: a page
 * of each class up to 4 KiB, together up to 1.9 MiB, and of larger classes, pages of which at most half a MiB was used
 * since they were taken (thread_pages below). The rest of these may be in memory, too, from an earlier use: with all 45
 * classes, all are at most 5.6 MiB. It also keeps up to 64 blocks, or 16 KiB, of each class that other threads
 * allocated and it freed, and gives them out next; sixteen of a class, if it only frees; blocks below 64 bytes only
 * while threads free such blocks of each other. Each of them may hold a page of 64 KiB that is otherwise free. All this
 * is returned when the thread ends, or calls hw_heap_collect. A thread that goes on using the heap looks now and then
 * for what it does not use: pages are returned after some tenths of a second if it frees thousands of blocks a second,
 * otherwise after some seconds, and blocks of other threads later; but not with HW_HEAP_RETURNS_ON_COLLECT or
 * check_all_frees.
 */
/* SPDX-License-Identifier: MIT */
#ifndef HEAPWRIGHT_HEAP_H
#define HEAPWRIGHT_HEAP_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Every block begins at a multiple of this, and every size class is a multiple of it. */
#define HW_HEAP_ALIGN ((size_t)16)

#define HW_HEAP_MOST_CLASSES ((size_t)64)
#define HW_HEAP_LARGEST_CLASS_BYTES ((size_t)32 << 10)

struct hw_heap;

enum hw_heap_fault {
  HW_HEAP_OK = 0,
  HW_HEAP_FOREIGN,     /* the address is not in the memory of this heap */
  HW_HEAP_NOT_A_BLOCK, /* no block begins at this address of the heap */
  HW_HEAP_FREED,       /* the block is free already */
  HW_HEAP_DAMAGED,     /* the heap's own records were overwritten */
  HW_HEAP_DESTROYED,   /* the heap was destroyed */
};

/* Returns a short description of a fault. Never NULL. */
const char *hw_heap_fault_text(enum hw_heap_fault fault);

/* Called with each fault that hw_heap_free, hw_heap_realloc, hw_heap_resize_in_place and hw_heap_usable_bytes find, by
 * the thread that called them, before they return. Nothing was changed. It may use the heap, but not destroy it. */
typedef void hw_heap_fault_fn(void *context, struct hw_heap *heap, enum hw_heap_fault fault, void *address);

/* Which threads may use a heap, and how. */
enum hw_heap_threads {
  HW_HEAP_CACHING = 0, /* any; each has a cache of its own, and no lock on the usual way */
  HW_HEAP_CENTRAL,     /* any; none has a cache, and each call takes the heap's lock */
  HW_HEAP_SINGLE,      /* one at a time, which is up to the caller; only pages and large blocks need the lock, if there
                        * is one */
};

/* How a thread waits for the lock.
 *
 * With NONE, which only a heap that is HW_HEAP_SINGLE may have, there is none, and no atomic instruction for pages and
 * for blocks up to 2 MiB; but for address space, which is an arena or a block above 2 MiB, there is the lock that all
 * heaps share, as in hw_heap_create and hw_heap_destroy, and where there is no memory. Other threads leave such a heap
 * alone: when they have no memory, what is free in it does not go back, and what HEAPWRIGHT_STATS writes does not have
 * its figures.
 *
 * The child of a fork has a HW_HEAP_SINGLE heap as usual if its thread forked, also by a signal handler that
 * interrupted a call on it. If another thread forked while a call on it was in progress, the child must not use the
 * heap, whatever its lock: not free its blocks, nor destroy it. */
enum hw_heap_lock {
  HW_HEAP_LOCK_ADAPTIVE = 0, /* tries for a moment, then sleeps; the holder gets the priority of the most urgent one */
  HW_HEAP_LOCK_SPINNING,     /* tries until it has it; a thread with a real-time policy sleeps after a moment */
  HW_HEAP_LOCK_NONE,         /* there is no lock */
};

/* When free memory goes back to the system by itself. Of free blocks above 2 MiB, a heap keeps at most 16, or 64 with
 * ON_COLLECT, of any size. It gives one out as it is if that is larger than the request by at most 1 MiB or a quarter;
 * otherwise its length is changed. With ON_COLLECT, a block becomes shorter only for a request that needs fewer units
 * of 4 MiB. */
enum hw_heap_returns {
  HW_HEAP_RETURNS_DEFAULT = 0, /* LATER, but ON_COLLECT with `touch` or `lock_memory` */
  HW_HEAP_RETURNS_LATER,       /* what is above keep_free_bytes, and was not needed for return_after_ms: see there */
  HW_HEAP_RETURNS_ABOVE,       /* what is above keep_free_bytes, at once */
  HW_HEAP_RETURNS_AT_ONCE,     /* all, at once */
  HW_HEAP_RETURNS_ON_COLLECT,  /* never, apart from these: hw_heap_collect returns it */
};

/* The pages of the system that blocks are in. With TRANSPARENT and HUGE, the length of a block above 2 MiB is a
 * multiple of 2 MiB, also of what `touch` makes present and `lock_memory` locks. */
enum hw_heap_pages {
  /* Where the system gives huge pages by itself, the heap gets them if it has 256 MiB besides a page of each class and
   * thread, or if it has 4 MiB and at least three quarters of what is used of its arenas are pages of blocks of at most
   * 4 KiB; a block of at least 8 MiB gets them always. */
  HW_HEAP_PAGES_USUAL = 0,
  HW_HEAP_PAGES_SMALL,       /* no huge ones, also where the system gives them by itself */
  HW_HEAP_PAGES_TRANSPARENT, /* the system is asked for transparent huge pages (MADV_HUGEPAGE) */
  HW_HEAP_PAGES_HUGE, /* reserved huge pages (MAP_HUGETLB) for blocks up to 2 MiB; as TRANSPARENT if none are left, and
                              * for larger blocks */
};

/* For numa_node. */
#define HW_HEAP_NODE(number) ((size_t)(number) + 1)

/* What decides how a heap behaves. A member that is 0 or NULL has its default. A list has one element for each class,
 * or one for all of them, and is copied. */
struct hw_heap_config {
  /* The sizes of blocks, ascending multiples of HW_HEAP_ALIGN, the last one HW_HEAP_LARGEST_CLASS_BYTES. A request gets
   * the smallest class that is large enough; larger requests get whole pages of memory. Default: multiples of 16 up to
   * 128, then four for each power of two, and above 1024 a fifth one that is larger than the power by an eighth. */
  const size_t *class_bytes;
  size_t class_count;
  /* How much memory a class gets at a time, a page: multiples of 64 KiB up to 2 MiB. Default: 64 KiB, or 256 KiB if
   * fewer than 16 blocks have room in that. */
  const size_t *page_bytes;
  size_t page_bytes_count;
  /* How many free pages of a class a thread keeps: from 0 to 1024. For all classes with 0 together, it keeps those of
   * which at most half a MiB was used since they were taken, at most one of each class, and the one that became free
   * last. The rest of such a page may be in memory, too, from an earlier use. An allocation takes 50 to 75 instructions
   * more there, and a free that empties a page some 43, so that it is known when the last block of a page is free. With 1 for all classes there is no such cost, and a thread keeps up to 5.6 MiB if it has used all default
   * classes. Pages of classes that the thread does not use any more go back after a while, see the beginning of this
   * file. Default: 1 up to blocks of 4096 bytes, 0 above. */
  const size_t *thread_pages;
  size_t thread_pages_count;
  /* How much the heap takes from the system at a time: a multiple of 4 MiB up to 1 GiB. Default: 4 MiB. */
  size_t arena_bytes;
  /* What is taken at a time begins at a multiple of this: a power of two from 4 MiB to 1 GiB. Address space before it
   * that is too short for another arena is left to other heaps and to blocks above 2 MiB. Default: 4 MiB. */
  size_t arena_align_bytes;
  /* Each time, the heap takes so many percent more than the time before, rounded up to 4 MiB (also 1 percent is 4 MiB),
   * up to 1 GiB: from 0 to 100. If the system does not have so much, arena_bytes are taken, or 4 MiB. When memory goes
   * back to the system and no arena is in use, it begins again with arena_bytes. Default: 0. */
  size_t arena_growth_percent;
  enum hw_heap_threads threads;
  enum hw_heap_lock lock;
  enum hw_heap_returns returns;
  /* How much free memory the heap keeps, apart from that in the caches of threads; for LATER and ABOVE. Default: a 32nd
   * of what is in use, at least 2 MiB. For LATER, what of these 2 MiB was not needed for 0.2 seconds goes back, too. */
  size_t keep_free_bytes;
  /* For LATER: what was not needed for this time, up to 3,600,000, goes back when a thread next gives some back or
   * looks. If more than a limit above keep_free_bytes is free, what is above half of this limit goes back at once. The
   * limit is a quarter of what is in use; if the heap once had N times as much, an N-th of that. It is at least 2 MiB if
   * the heap has ever had 256 MiB; otherwise at least 128 MiB if memory was needed within this time, and else 8 MiB. If
   * the heap takes half of what went back again within a second (for much memory, 16 s for each GB), the time becomes 32
   * times as long, and the limit as much as the heap has ever had. Both halve each time memory goes back and is not
   * taken again so soon. Default: 25. */
  size_t return_after_ms;
  enum hw_heap_pages pages;
  /* Memory is present when it was taken from the system: using it for the first time causes no page fault. */
  bool touch;
  /* The same, and it is never paged out. If the process may not lock so much memory, the heap goes on without. In both
   * cases, free memory goes back to the system only as whole arenas and as blocks above 2 MiB, whatever `returns` is,
   * also by hw_heap_collect: what is used again causes no page fault. */
  bool lock_memory;
  /* The memory node from which memory comes if possible, HW_HEAP_NODE(0) or more. If the system does not allow a
   * choice, the heap goes on without. Default: that of the thread that touches it first. */
  size_t numa_node;
  /* Each free is checked fully, see hw_heap_free; it then takes longer. A page has a bit for each of its blocks at its
   * end then: where blocks would fill it, it has room for fewer. */
  bool check_all_frees;
  hw_heap_fault_fn *on_fault; /* default: nothing */
  void *fault_context;
};

/* The config of the heap of a whole process, known when it is linked: a program or library that is linked with
 * libheapwright-heap.a defines it. What HEAPWRIGHT_HEAP_* variables set replaces its members. Faults are reported on
 * stderr: on_fault is not called. `threads` must not be HW_HEAP_SINGLE, and `lock` not HW_HEAP_LOCK_NONE. */
extern const struct hw_heap_config hw_process_heap_config;

struct hw_heap_error {
  const char *field; /* the member of the config that is wrong; NULL: no memory */
  size_t index;      /* of the wrong element, if the field is an array */
  const char *rule;  /* the rule that it breaks */
};

/* Makes a heap; `config` NULL means all defaults. Returns NULL if the config is wrong or there is no memory, and then
 * fills *error, unless `error` is NULL. */
struct hw_heap *hw_heap_create(const struct hw_heap_config *config, struct hw_heap_error *error);

/* Returns all memory of the heap to the system, allocated or not; NULL does nothing. No other call on this heap may be
 * in progress or follow. A later call on one of the 4,096 heaps that were destroyed last is detected: it finds no
 * memory and no blocks (HW_HEAP_DESTROYED), writes nothing, and does not call on_fault. Of these heaps, some KiB of
 * address space each stay mapped. Returns false, and does nothing, if a thread has the heap set or pushed
 * (hw_heap_set_for_thread), or if the heap was destroyed before. */
bool hw_heap_destroy(struct hw_heap *heap);

/* Returns a block of at least `bytes` (0 counts as 1), or NULL if there is no memory. */
void *hw_heap_alloc(struct hw_heap *heap, size_t bytes);

/* The same, filled with zeros. */
void *hw_heap_alloc_zeroed(struct hw_heap *heap, size_t bytes);

/* As hw_heap_alloc, aligned to `align`. Returns NULL if there is no memory or `align` is not a power of two. Each block
 * that is aligned to more than 64 KiB takes 4 MiB of address space. */
void *hw_heap_alloc_aligned(struct hw_heap *heap, size_t align, size_t bytes);

/* Returns a block of at least `bytes` with the contents of `block` up to the smaller of both sizes; `block` is then
 * free unless it is the one returned. A block of more than 256 KiB that must move to grow may get more room than
 * hw_heap_good_bytes says, to grow further. A block above 2 MiB that must move needs address space for both sizes for a
 * moment. If `block` is NULL, it allocates. Returns NULL if there is no memory or `block` has a fault, and leaves
 * `block` unchanged. */
void *hw_heap_realloc(struct hw_heap *heap, void *block, size_t bytes);

/* Frees a block; NULL does nothing. Returns the fault of an address that is none. A block that is free already is
 * detected until its memory is given out again or its second word is written; one above 32 KiB, or whose page is free, as
 * HW_HEAP_NOT_A_BLOCK.
 * In the pages of a class, an address inside a block, and one in memory that was never given out, are detected only if
 * the page belongs to another thread; otherwise the heap is damaged. With check_all_frees, each such address is
 * detected, and each free block until its memory is given out again, whatever was written to it: of several threads
 * that free the same block, one succeeds. */
enum hw_heap_fault hw_heap_free(struct hw_heap *heap, void *block);

/* Makes a block larger or smaller without moving it. Returns whether it has at least `bytes` then; hw_heap_usable_bytes
 * says how many. A block of a class keeps its size; larger ones become longer if the memory after them is free, and
 * shorter if more than an eighth is spare, one above 2 MiB down to 2 MiB, with huge pages to 4 MiB. Returns false for
 * NULL or after a fault. */
bool hw_heap_resize_in_place(struct hw_heap *heap, void *block, size_t bytes);

/* Returns how many usable bytes a block has at least that is requested with `bytes`, without allocating one: a buffer
 * that is to grow can be requested with this size. With HEAPWRIGHT_HEAP_LIBC, for more than any block can have, and for
 * a heap that was destroyed, it is `bytes`. */
size_t hw_heap_good_bytes(const struct hw_heap *heap, size_t bytes);

/* Returns how many bytes of an allocated block may be used; 0 for NULL or after a fault. */
size_t hw_heap_usable_bytes(struct hw_heap *heap, void *block);

/* Takes back what other threads freed for this thread and for ended threads, and returns free memory to the system,
 * also the calling thread's cache. What other running threads have in their caches stays; with `lock_memory`, all but
 * whole arenas and blocks above 2 MiB. */
void hw_heap_collect(struct hw_heap *heap);

struct hw_heap_stats {
  size_t used_bytes; /* in allocated blocks, as hw_heap_usable_bytes counts them */
  /* Address space that the heap has from the system, whether it is touched or not, used or free: arenas, each of 4 MiB;
   * blocks above 2 MiB, also free ones that are kept; a record of the heap, and one of each thread, which a new thread
   * takes over when that one has ended. What is free in an arena counts until the whole arena is unmapped, also if its
   * memory went back to the system. Not counted is the table of the memory of all heaps, which has 128 bytes for each
   * 64 KiB of it. With HEAPWRIGHT_HEAP_LIBC, only the record of the heap counts. */
  size_t mapped_bytes;
  size_t peak_mapped_bytes; /* the highest value of mapped_bytes so far */
  /* Records of threads. So many threads, or fewer, have used the heap at a time. 1 if it is central or single; with
   * HEAPWRIGHT_HEAP_LIBC not counted. */
  size_t thread_count;
  /* The table of the memory of all heaps: address space, as much as was needed at most. Of the part for memory that was
   * unmapped, most takes no memory; all stays on Windows, where pages of the system are larger than 4 KiB, and if the
   * program has locked its memory (mlockall). */
  size_t table_bytes;
};

/* Fills *stats. While other threads use the heap, used_bytes is approximate. O(memory / 64 KiB). */
void hw_heap_get_stats(struct hw_heap *heap, struct hw_heap_stats *stats);

/* The figures of a class. Allocations count no blocks, so that those in use are counted when the figures are asked for.
 * How many they were at most is known only if each free is checked (check_all_frees); otherwise, `peak_page_count`
 * pages had room for them. Of blocks above the largest class, it is always known. With HEAPWRIGHT_HEAP_LIBC, the peaks
 * are the figures of now. It is not known how much of a block was requested: a recording has that (heapwright report
 * --by size, heapwright tune --classes). */
struct hw_heap_class_stats {
  size_t block_bytes; /* 0: the blocks above the largest class, each of which is a page of its own */
  size_t page_count, peak_page_count, page_bytes; /* pages now, and at most so far; bytes of all pages */
  size_t taken_page_count;                        /* pages taken so far: all but page_count were given back */
  size_t block_count;                             /* for which the pages have room */
  size_t used_count, used_bytes;                  /* allocated, counted as used_bytes above */
  size_t peak_used_count;                         /* allocated at a time, at most; 0: not counted, or none */
};

/* Fills the figures of each class, and after them those of the larger blocks. Returns how many there are; no more than
 * `count` are filled, and HW_HEAP_MOST_CLASSES + 1 are always enough. O(memory / 64 KiB). */
size_t hw_heap_get_class_stats(struct hw_heap *heap, struct hw_heap_class_stats *stats, size_t count);

/* Writes the figures of all classes as a table to a file descriptor. Classes that were never used are left out. */
void hw_heap_print_stats(struct hw_heap *heap, int fd);

/* Gets an allocated block with its usable bytes; returning false ends the walk. The function may use the contents of
 * the block, and must not call functions of this header. */
typedef bool hw_heap_visit_fn(void *context, void *block, size_t bytes);

/* Calls `visit` for all allocated blocks; it ends early at damaged records. No other call on this heap may be in
 * progress. Threads that use other heaps do not wait meanwhile. The calling thread has the heap's lock, and must not
 * take another heap's: with libheapwright-heap, malloc is such a heap, so that `visit` must not allocate or free, nor
 * call what does, such as printf. O(memory). */
void hw_heap_walk(struct hw_heap *heap, hw_heap_visit_fn *visit, void *context);

/* Checks all records of the heap, and the links between its free blocks. Returns HW_HEAP_DAMAGED if they are wrong, as
 * after a write to a free block, and then sets *where to the start of the page of memory in question, otherwise to
 * NULL; `where` may be NULL. HW_HEAP_DESTROYED if the heap was destroyed. No other call on this heap may be in
 * progress. O(memory). */
enum hw_heap_fault hw_heap_check(struct hw_heap *heap, void **where);

/* --- heaps for malloc ---
 *
 * In libheapwright-heap (the .so and the .a), whose malloc is the process's: these functions choose the heap from which
 * the calling thread allocates by malloc, calloc, operator new and so on, and by realloc if a block must move. All
 * other threads are not affected. A thread with a heap of its own shares no page with other threads, and waits for none
 * when it allocates or frees, except for address space: for an arena, and for a block above 2 MiB that is none of those
 * kept. A heap whose first arena is large enough (`arena_bytes`), and which keeps what it has (`returns`), needs no
 * other. Its lock is taken by other threads only while they use this heap, too (they free its blocks above 32 KiB, or
 * count them), while they fork, or if there is no memory. With HW_HEAP_LOCK_NONE, there is none.
 *
 * Any thread may free any block by free or operator delete, whatever heap it is from; the heap is found by the address.
 * hw_heap_free(heap, block) does the same for a block of that heap. For a heap that is HW_HEAP_SINGLE this is allowed
 * only while no other thread uses the heap, also for its blocks that libc and other libraries free. Faults that free
 * and realloc find are reported on stderr; the heap's on_fault is not called.
 *
 * While a heap is set, everything that the thread allocates belongs to it, also what libc and other libraries allocate
 * in calls of this thread and use later: the buffer of a stream, a library that is loaded, the table of a thread that
 * is created. Such memory must not exist any more when the heap is destroyed.
 *
 * When a thread ends, it has no heap set or pushed any more; the heaps stay, as for every thread that used them. After
 * a fork, the child's thread has the same heaps set and pushed. */

#define HW_HEAP_MOST_PUSHED 16

/* Makes the calling thread allocate from `heap` from now on, in place of the heap of the innermost push if there is
 * one; NULL: from the heap of the process, as at the beginning. Returns false, and changes nothing, if there is no
 * memory, if the thread is ending, or if the heap was destroyed. The heap's config holds for malloc, too: if it is
 * central, each call takes the lock; if it checks all frees, free does so. */
bool hw_heap_set_for_thread(struct hw_heap *heap);

/* The same for a section of code: hw_heap_pop returns to what was set before. Each push needs its pop, also one that
 * returned false: then nothing changed in between. At most HW_HEAP_MOST_PUSHED sections may be in one another; the next
 * one goes on with the heap of the section around it, and returns false. */
bool hw_heap_push(struct hw_heap *heap);

/* Ends the section of the last push. A pop without a push does nothing and returns false. */
bool hw_heap_pop(void);

/* Returns the heap that is set for the calling thread; NULL: the heap of the process. */
struct hw_heap *hw_heap_of_thread(void);

#ifdef __cplusplus
}
#endif

#endif
