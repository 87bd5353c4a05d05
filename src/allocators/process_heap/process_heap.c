/* process_heap.c - libheapwright-heap.so: a general heap as the malloc of a process
 *
 * A thread's owner is a thread-local pointer. Before the first call, and after the end of the thread, it points to an
 * owner without blocks, so that the fast paths need no check. A call of a thread that has ended begins an owner and
 * ends it again. While a thread has a heap set (thread_heaps.c), the pointer is to its owner there. A free finds the
 * heap by the block's address; if the block is of a page of the thread, that is not even needed.
 *
 * A heap without caches of threads has one owner, which is used with the lock; no thread's pointer points to it.
 *
 * While a fork has closed the heap, blocks that need its lock come from fork_heap.h, or are noted and freed later.
 */
#include <string.h>

#include "allocators/fork_heap.h"
#include "allocators/heap/heap_lock.h"
#include "allocators/heap/libc_blocks.h"
#include "allocators/heap/process_owner.h"
#include "allocators/heap/space.h"
#include "allocators/message.h"
#include "allocators/pass_on.h"
#include "allocators/process_heap/settings.h"
#include "allocators/process_heap/statistics.h"
#include "allocators/process_heap/thread_heaps.h"
#include "heapwright/allocator.h"
#include "platform/os.h"
#include "platform/os_heap.h"

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define COLD __attribute__((noinline, cold))

/* Only users define it. */
extern const struct hw_heap_config hw_process_heap_config __attribute__((weak));

static struct hwi_owner no_owner;
static struct hw_heap heap = {.is_of_process = true, .is_alive = true};
static bool checks_all_frees;
static bool passes_on; /* all blocks are the next malloc's: it is wanted, or this libc has no handlers for forks */
static HWI_THREAD_LOCAL struct hwi_owner *mine = &no_owner;
static HWI_THREAD_LOCAL struct hwi_owner *in_process; /* in `heap`, or NULL */
static HWI_THREAD_LOCAL struct hw_heap *central;      /* one without caches that is set */
static HWI_THREAD_LOCAL hwi_thread_flag has_ended;

/* --- threads --- */

/* `block` is one that the thread frees, or NULL. */
static COLD struct hwi_owner *begin(const void *block)
{
  if (mine != &no_owner)
    return mine;
  in_process = hwi_owner_begin(&heap, hwi_heap_thread(), hwi_heap_thread_value(&heap), block);
  if (in_process)
    mine = in_process;
  return in_process;
}

static void leave(void)
{
  hwi_thread_heaps_end();
  struct hwi_owner *owner = in_process;
  mine = &no_owner;
  in_process = NULL;
  central = NULL;
  if (owner)
    hwi_owner_end(owner);
}

bool hwi_process_heap_use(struct hw_heap *other)
{
  struct hwi_owner *owner = other ? hwi_heap_owner(other) : in_process;
  if (has_ended || (other && !owner))
    return false;
  central = other && hwi_heap_is_central(other) ? other : NULL;
  mine = owner && !central ? owner : &no_owner;
  return true;
}

static void heap_thread_exit(void)
{
  leave();
  has_ended = true;
}

/* --- allocating --- */

static size_t quick_limit;  /* 0 until the heap has begun */
static unsigned fork_count; /* changes each time that the lock is closed, while it is */

static void *alloc_from(struct hwi_owner *owner, size_t bytes, size_t align, bool is_zeroed)
{
  return is_zeroed ? hwi_owner_alloc_zeroed(owner, align, bytes) : hwi_owner_alloc_aligned(owner, align, bytes);
}

static void *try_alloc(size_t bytes, size_t align, bool is_zeroed)
{
  hwi_is_in_malloc = true;
  struct hw_heap *its = central ? central : &heap;
  bool is_central = mine == &no_owner && its->sole;
  enum hwi_lock_result result = is_central ? hwi_heap_lock(its) : HWI_LOCK_NOT_NEEDED;
  struct hwi_owner *owner = result == HWI_LOCK_CLOSED ? NULL : is_central ? its->sole : begin(NULL);
  void *block = owner ? alloc_from(owner, bytes, align, is_zeroed) : NULL;
  if (is_central)
    hwi_heap_leave_central(its, result);
  hwi_is_in_malloc = false;
  if (has_ended)
    leave();
  return block;
}

/* When there was no memory: all that is free in any heap goes back to the system first, unless that is never enough. */
static COLD void *try_again(size_t bytes, size_t align, bool is_zeroed)
{
  if (!hwi_space_can_have(bytes))
    return NULL;
  hwi_is_in_malloc = true;
  hwi_heaps_return_all(mine->heap);
  hwi_is_in_malloc = false;
  return try_alloc(bytes, align, is_zeroed);
}

/* Returns whether the lock has been as it was since fork_count was `forks`. What is closed now is read first: if a
 * fork has ended, its count is seen then. */
static bool was_no_fork(unsigned forks, bool was_closed)
{
  bool is_closed = hwi_lock_is_closed();
  return is_closed == was_closed && forks == __atomic_load_n(&fork_count, __ATOMIC_ACQUIRE);
}

/* Returns the heap that is set for the thread, or NULL. */
static const struct hw_heap *heap_of_thread(void)
{
  return central ? central : mine->heap != &heap ? mine->heap : NULL;
}

/* If a fork began or ended meanwhile, it is not known why there was no block. A block of a fork is zeroed. */
static void *alloc(size_t bytes, size_t align, bool is_zeroed)
{
  if (passes_on)
    return hwi_pass_on(bytes, align);
  for (;;) {
    unsigned forks = __atomic_load_n(&fork_count, __ATOMIC_ACQUIRE);
    bool is_closed = hwi_lock_is_closed();
    void *block = try_alloc(bytes, align, is_zeroed);
    if (!block)
      block = is_closed ? hwi_fork_heap_alloc(bytes, align, heap_of_thread()) : try_again(bytes, align, is_zeroed);
    if (block || was_no_fork(forks, is_closed))
      return block;
  }
}

/* From the pages of the thread, without the lock. */
static void *alloc_own(size_t bytes, size_t align)
{
  return align <= HW_HEAP_ALIGN && bytes < quick_limit && mine != &no_owner ? hwi_owner_alloc_own(mine, bytes) : NULL;
}

static void *heap_alloc(size_t bytes, size_t align)
{
  void *block = alloc_own(bytes, align);
  return LIKELY(block) ? block : alloc(bytes, align, false);
}

static void *heap_alloc_zeroed(size_t bytes, size_t align)
{
  void *block = align <= HW_HEAP_ALIGN && bytes < quick_limit ? hwi_owner_try_alloc(mine, bytes) : NULL;
  if (LIKELY(block) || (block = alloc_own(bytes, align)))
    return memset(block, 0, bytes);
  block = alloc(bytes, align, true);
  return block && passes_on ? memset(block, 0, bytes) : block;
}

/* --- freeing --- */

/* Ends the process if every free is checked. */
static COLD void report(const void *address, enum hw_heap_fault fault)
{
  hwi_statistics_count_fault();
  hwi_message_fault((uintptr_t)address, hw_heap_fault_text(fault), checks_all_frees);
}

/* A foreign block may be another malloc's. */
static COLD void report_foreign(const char *function, const void *address)
{
  if (!checks_all_frees)
    return;
  hwi_statistics_count_fault();
  hwi_message_foreign(function, address, "heap");
}

static void heap_free(void *block);

/* Called during a fork. */
static COLD void free_later(void *block)
{
  if (hwi_fork_heap_free_later(block, heap_free))
    return;
  hwi_heap_give_lock(&heap, hwi_heap_lock_always(&heap)); /* no memory: waits for the fork's end */
  heap_free(block);
}

/* Returns the heap that has this address; `heap` if none has. */
static struct hw_heap *heap_at(const void *address)
{
  struct hw_heap *its = hwi_heap_at(address);
  return its ? its : &heap;
}

/* Returns the thread's owner in a heap, or NULL. In a heap that is not set and does not check frees, the owner is not
 * needed: blocks of its pages are freed by the fast path. */
static struct hwi_owner *own_in(const struct hw_heap *its)
{
  if (its->sole)
    return its->sole;
  if (its == &heap)
    return in_process;
  return mine->heap == its ? mine : its->config.check_all_frees ? hwi_heap_existing_owner(its) : NULL;
}

/* A thread that only frees needs an owner, too, to take pages of ended threads. */
static struct hwi_owner *own_to_free(const struct hw_heap *its, const void *block)
{
  bool begins = its == &heap && !its->sole && mine == &no_owner && !central && !has_ended && hwi_is_in_space(block);
  return begins ? begin(block) : own_in(its);
}

static int try_free(void *block)
{
  struct hw_heap *its = heap_at(block);
  hwi_is_in_malloc = true;
  enum hwi_lock_result result = hwi_heap_enter_central(its);
  int fault = result == HWI_LOCK_CLOSED ? (int)HWI_FREE_CLOSED : hwi_owner_free(its, own_to_free(its, block), block);
  hwi_heap_leave_central(its, result);
  hwi_is_in_malloc = false;
  return fault;
}

static __attribute__((noinline)) void free_otherwise(void *block)
{
  int result = try_free(block);
  if (LIKELY(result == HW_HEAP_OK))
    return;
  if (result == HWI_FREE_CLOSED)
    free_later(block);
  else if (result != HW_HEAP_FOREIGN)
    report(block, (enum hw_heap_fault)result);
  else if (!hwi_fork_heap_owns(block) || !hwi_fork_heap_free(block)) {
    report_foreign("free", block);
    hwi_libc_forget(block);
    hw_next_free(block);
  }
}

static void heap_free(void *block)
{
  if (!LIKELY(hwi_thread_free((uintptr_t)__builtin_thread_pointer(), block)))
    free_otherwise(block);
}

/* --- sizes --- */

/* Returns 0 if the address is not a block of any heap. */
static size_t bytes_of(void *block, enum hw_heap_fault *fault)
{
  struct hw_heap *its = heap_at(block);
  hwi_is_in_malloc = true;
  size_t bytes = hwi_heap_block_bytes(its, block, fault);
  hwi_is_in_malloc = false;
  if (*fault != HW_HEAP_FOREIGN || !hwi_fork_heap_owns(block))
    return bytes;
  bytes = hwi_fork_heap_usable_bytes(block);
  *fault = bytes ? HW_HEAP_OK : HW_HEAP_FOREIGN;
  return bytes;
}

static size_t heap_usable_size(void *block)
{
  enum hw_heap_fault fault;
  size_t bytes = bytes_of(block, &fault);
  if (fault == HW_HEAP_FOREIGN) {
    report_foreign("malloc_usable_size", block);
    return hw_next_usable_size(block);
  }
  if (fault != HW_HEAP_OK)
    report(block, fault);
  return bytes;
}

static bool resize(void **block, size_t old_bytes, size_t bytes)
{
  hwi_is_in_malloc = true;
  bool is_resized = hwi_heap_resize(heap_at(*block), block, old_bytes, bytes);
  hwi_is_in_malloc = false;
  return is_resized;
}

/* Tries to allocate `roomy_bytes` first. */
static void *move(void *block, size_t old_bytes, size_t bytes, size_t roomy_bytes)
{
  void *moved = heap_alloc(roomy_bytes, HW_HEAP_ALIGN);
  if (!moved && roomy_bytes > bytes)
    moved = heap_alloc(bytes, HW_HEAP_ALIGN);
  if (moved) {
    hwi_heap_note_room(moved, bytes);
    memcpy(moved, block, old_bytes < bytes ? old_bytes : bytes);
    heap_free(block);
  }
  return moved;
}

/* A block that a heap has from the next malloc always moves: it is no longer the heap's then. */
static COLD void *realloc_foreign(void *block, size_t bytes)
{
  if (hwi_libc_is_of_heap(block))
    return move(block, hw_next_usable_size(block), bytes, bytes);
  report_foreign("realloc", block);
  return hw_next_realloc(block, bytes);
}

static void *heap_realloc(void *block, size_t bytes)
{
  enum hw_heap_fault fault;
  size_t old_bytes = bytes_of(block, &fault);
  if (fault == HW_HEAP_FOREIGN)
    return realloc_foreign(block, bytes);
  if (fault != HW_HEAP_OK) {
    report(block, fault);
    return NULL;
  }
  if (resize(&block, old_bytes, bytes))
    return block;
  return move(block, old_bytes, bytes, hwi_heap_bytes_to_grow(old_bytes, bytes));
}

static COLD void *realloc_to_0(void *block)
{
  hwi_libc_forget(block);
  return hw_next_realloc(block, 0);
}

/* --- the fast paths ---
 *
 * Until the heap has begun, the limit is 0, and the space has no bytes: then no other variable is used. */

static inline __attribute__((always_inline)) void *heap_quick_alloc(size_t bytes, void *(*otherwise)(size_t bytes))
{
  void *block = LIKELY(bytes < quick_limit) ? hwi_owner_try_alloc(mine, bytes) : NULL;
  return LIKELY(block) ? block : otherwise(bytes);
}

static __attribute__((noinline)) void free_of_others_otherwise(struct hwi_page *page, void *block,
                                                               void (*otherwise)(void *block))
{
  if (!LIKELY(hwi_owner_try_free_others(mine, page, block)))
    otherwise(block);
}

static __attribute__((noinline)) void free_of_others(struct hwi_page *page, void *block, void (*otherwise)(void *block))
{
  if (!LIKELY(hwi_owner_try_keep(mine, page, block)))
    free_of_others_otherwise(page, block, otherwise);
}

static inline __attribute__((always_inline)) void heap_quick_free(void *block, void (*otherwise)(void *block))
{
  enum hwi_quick_free result = hwi_thread_try_free((uintptr_t)__builtin_thread_pointer(), block);
  if (result == HWI_NOT_OWN)
    free_of_others(hwi_slice_of(block), block, otherwise);
  else if (result == HWI_NOT_QUICK && block)
    otherwise(block);
}

/* Realloc to 0 is different in each libc. */
static void *heap_quick_realloc(void *block, size_t bytes, void *(*otherwise)(void *block, size_t bytes))
{
  return block && !bytes && passes_on ? realloc_to_0(block) : otherwise(block, bytes);
}

/* --- forks --- */

static void before_fork(void)
{
  hwi_heaps_before_fork();
  __atomic_add_fetch(&fork_count, 1, __ATOMIC_ACQ_REL);
}

/* With the lock of the list of heaps: none is destroyed while its blocks are freed. */
static void settle_frees(void)
{
  hwi_fork_heap_settle(heap_free);
  hwi_fork_heap_unmap_freed(NULL);
}

static void after_fork(bool is_child)
{
  hwi_heaps_after_fork(is_child, hwi_heap_thread(), settle_frees);
  if (is_child)
    hwi_thread_heaps_after_fork();
}

static void after_fork_in_parent(void)
{
  after_fork(false);
}

static void after_fork_in_child(void)
{
  after_fork(true);
}

/* --- other heaps --- */

static bool is_block_in(const void *its, const void *block)
{
  return hwi_heap_at(block) == its;
}

static void forget_heap(const struct hw_heap *its)
{
  hwi_fork_heap_forget(is_block_in, its);
  hwi_fork_heap_unmap_freed(its);
}

static size_t fork_block_bytes(const struct hw_heap *its, const void *block)
{
  return hwi_fork_heap_has(its, block) ? hwi_fork_heap_usable_bytes(block) : 0;
}

static bool free_fork_block(const struct hw_heap *its, void *block)
{
  return hwi_fork_heap_has(its, block) && hwi_fork_heap_free(block);
}

static const struct hwi_heap_malloc this_malloc = {leave, forget_heap, fork_block_bytes, free_fork_block};

/* --- the process --- */

/* A privileged program trusts no variable: it would write the files, and show those, that its user asks for. */
static const char *value_of(const char *name)
{
  return hwi_os_is_privileged() ? NULL : hw_allocator_getenv(name);
}

/* A file or a config in C may set the same: only a variable is reported. */
static void report_no_effect(const char *name)
{
  const char *value = value_of(name);
  if (value)
    hwi_setting_report(name, value, " has no effect with " HWI_HEAP_LIBC_VARIABLE "=1");
}

static bool begin_passing_on(const struct hwi_process_settings *settings)
{
  if (!settings->uses_libc)
    return false;
  if (hwi_pass_on_begin()) {
    if (settings->stats)
      report_no_effect("HEAPWRIGHT_STATS");
    if (settings->heap.config.check_all_frees)
      report_no_effect("HEAPWRIGHT_CHECK");
    return true;
  }
  hwi_setting_report(HWI_HEAP_LIBC_VARIABLE, "1", " has no effect: the program has no other malloc");
  return false;
}

/* Returns false if all blocks are to be the next malloc's. */
static bool begin_heap(void)
{
  struct hwi_process_settings settings;
  struct hw_heap_config *config = &settings.heap.config;
  if (!hwi_os_libc_is_glibc()) {
    hwi_pass_on_begin();
    return false;
  }
  hwi_process_settings_read(&settings, &hw_process_heap_config, value_of,
                            hwi_os_is_privileged() ? NULL : hw_environment());
  if (begin_passing_on(&settings))
    return false;
  hwi_owner_clear(&no_owner);
  hwi_heaps_begin_in_malloc(&this_malloc);
  if (!hwi_heap_begin(&heap, config, NULL)) { /* there is no memory for the owner of all threads */
    config->threads = HW_HEAP_CACHING;
    hwi_heap_begin(&heap, config, NULL);
  }
  checks_all_frees = config->check_all_frees;
  hwi_statistics_begin(settings.stats, &heap);
  return true;
}

static void heap_init(void)
{
  if (!begin_heap()) {
    hwi_fork_heap_begin((uintptr_t)&heap / 2); /* it owns nothing, but must not look at the next malloc's blocks */
    hw_next_look_up_all();
    passes_on = true;
    return;
  }
  hwi_fork_heap_begin(hwi_space_begin() ? (uintptr_t)hwi_space.pages : (uintptr_t)&heap / 2);
  hwi_lock_begin();
  hwi_os_at_fork(before_fork, after_fork_in_parent, after_fork_in_child);
  quick_limit = HW_HEAP_LARGEST_CLASS_BYTES + 1;
}

static void heap_stats(struct hw_allocator_stats *stats)
{
  struct hw_heap_stats now;
  hw_heap_get_stats(&heap, &now);
  stats->used_bytes = now.used_bytes;
  stats->system_bytes = now.mapped_bytes;
  stats->system_peak_bytes = now.peak_mapped_bytes;
}

static void heap_print_stats(void)
{
  struct hwi_heap_table table;
  hwi_heap_make_table(&heap, &table);
  hwi_os_print_error(table.text, table.bytes);
}

static bool heap_trim(size_t pad)
{
  return hwi_heap_collect(&heap, own_in(&heap), pad) != 0;
}

static __attribute__((destructor)) void heap_ends(void)
{
  hwi_statistics_end(&heap);
}

HEAPWRIGHT_ALLOCATOR(.alloc = heap_alloc, .free = heap_free, .usable_size = heap_usable_size,
                     .alloc_zeroed = heap_alloc_zeroed, .realloc = heap_realloc, .init = heap_init,
                     .thread_exit = heap_thread_exit, .quick_alloc = heap_quick_alloc, .quick_free = heap_quick_free,
                     .quick_realloc = heap_quick_realloc, .stats = heap_stats, .print_stats = heap_print_stats,
                     .trim = heap_trim, .keeps_errno = true, .quick_before_init = true);
