/* heap.c - the general heap of heap.h: its config, its threads, and its calls */
#define _GNU_SOURCE
#include "allocators/heap/config.h"
#include "allocators/heap/heap_lock.h"
#include "allocators/heap/libc_blocks.h"
#include "allocators/heap/process_owner.h"
#include "allocators/heap/space.h"

#include <stdlib.h>
#include <string.h>

#include "platform/os.h"

/* --- config --- */

const char *hw_heap_fault_text(enum hw_heap_fault fault)
{
  switch (fault) {
  case HW_HEAP_OK:
    return "no fault";
  case HW_HEAP_FOREIGN:
    return "not in the memory of this heap";
  case HW_HEAP_NOT_A_BLOCK:
    return "no block begins there, perhaps because it was freed";
  case HW_HEAP_FREED:
    return "the block is free already";
  case HW_HEAP_DAMAGED:
    return "the heap's own records were overwritten";
  case HW_HEAP_DESTROYED:
    return "the heap was destroyed";
  }
  return "unknown fault";
}

static bool fail_without_memory(struct hw_heap_error *error)
{
  if (error)
    *error = (struct hw_heap_error){.rule = "there is no memory"};
  return false;
}

static void set_up(struct hw_heap *heap, const struct hw_heap_config *config)
{
  heap->config = *config;
  hwi_heap_config_complete(&heap->config, heap->class_bytes, heap->page_bytes, heap->thread_pages);
  heap->is_alive = true;
  heap->has_lock = heap->config.lock != HW_HEAP_LOCK_NONE;
  heap->class_count = heap->config.class_count;
  heap->next_arena_bytes = heap->config.arena_bytes;
  for (size_t i = 0; i < heap->class_count; i++)
    heap->most_kept[i] = (int8_t)hwi_most_kept(heap->class_bytes[i]);
  size_t class_index = 0;
  for (size_t i = 0; i <= HWI_GRANULES; i++) {
    class_index += i << HWI_GRANULE_BITS > heap->class_bytes[class_index];
    heap->class_of[i] = (uint8_t)class_index;
  }
}

/* --- all heaps, and the threads that use them --- */

struct hw_heap *hwi_heaps;
static uint64_t generations;
static bool has_begun, can_end_threads;
static const struct hwi_heap_malloc *malloc_on_heaps; /* NULL: malloc of the process is not on these heaps */

HWI_THREAD_LOCAL hwi_thread_flag hwi_is_in_malloc;
HWI_THREAD_LOCAL struct hwi_lock *hwi_heap_lock_of_thread;

/* A heap that this thread has used, and its owner there. */
struct used {
  uint64_t generation; /* 0: none */
  struct hwi_owner *owner;
};

/* No heap has this generation; a heap that was destroyed has 0. */
#define NO_GENERATION UINT64_MAX

/* The heap that this thread used last. Its address identifies the thread. */
static HWI_THREAD_LOCAL struct used last = {NO_GENERATION, NULL};

/* All that it has used, and perhaps some that were destroyed: a hash table by the generation, with open addressing. */
enum { FIRST_SLOTS = 4, SLOTS_OF_MAPPING = HWI_SYSTEM_PAGE_BYTES / sizeof(struct used) };
struct used_table {
  struct used *mapped; /* NULL: the first slots are used */
  uint32_t slot_count, used_count;
  struct used first[FIRST_SLOTS];
};
static HWI_THREAD_LOCAL struct used_table all_used;

static enum hwi_lock_result take_heaps(void)
{
  return hwi_lock_take_or_have(&hwi_space.heaps_lock);
}

static void give_heaps(enum hwi_lock_result result)
{
  hwi_lock_leave(&hwi_space.heaps_lock, result);
}

void hwi_heaps_each(void (*see)(void *context, struct hw_heap *heap), void *context)
{
  enum hwi_lock_result heaps = take_heaps();
  for (struct hw_heap *heap = hwi_heaps; heap; heap = heap->next)
    see(context, heap);
  give_heaps(heaps);
}

const void *hwi_heap_thread(void)
{
  return &last;
}

/* Returns the slot of a heap, or the empty one where it belongs. */
static struct used *find_slot(struct used_table *table, uint64_t generation)
{
  struct used *slots = table->mapped ? table->mapped : table->first;
  size_t slot_count = table->mapped ? table->slot_count : FIRST_SLOTS;
  for (size_t i = generation;; i++) {
    struct used *slot = &slots[i & (slot_count - 1)];
    if (slot->generation == generation || slot->generation == 0)
      return slot;
  }
}

/* Returns NULL if this thread has not used the heap. A signal handler may find a slot that is just being filled. */
static struct used *used_of(const struct hw_heap *heap)
{
  struct used *slot = find_slot(&all_used, heap->generation);
  bool is_its = heap->generation != 0 && slot->generation == heap->generation;
  return is_its && slot->owner ? slot : NULL;
}

/* To be called with the lock of the heaps, as the next one: only heaps in their list exist, and others may be
 * unmapped. */
static size_t count_existing(void)
{
  size_t count = 0;
  for (const struct hw_heap *heap = hwi_heaps; heap; heap = heap->next)
    count += used_of(heap) != NULL;
  return count;
}

static void copy_existing(struct used_table *to)
{
  for (const struct hw_heap *heap = hwi_heaps; heap; heap = heap->next) {
    const struct used *used = used_of(heap);
    if (used) {
      *find_slot(to, heap->generation) = *used;
      to->used_count++;
    }
  }
}

static bool has_room(const struct used_table *table)
{
  size_t slot_count = table->mapped ? table->slot_count : FIRST_SLOTS;
  return 4 * (table->used_count + 1) <= 3 * slot_count;
}

/* What exists fills at most half of the new table's room, so that this is rarely needed, however many heaps come and
 * go. */
static bool map_table(struct used_table *table)
{
  table->slot_count = SLOTS_OF_MAPPING;
  enum hwi_lock_result heaps = take_heaps();
  size_t existing = count_existing();
  give_heaps(heaps);
  while (8 * existing > 3 * table->slot_count)
    table->slot_count *= 2;
  table->mapped = (struct used *)hwi_os_map(table->slot_count * sizeof *table->mapped);
  return table->mapped;
}

/* A signal handler that frees a block finds the old table, one that has less, or the new one. */
static void replace_table(const struct used_table *table)
{
  struct used_table old = all_used;
  all_used.mapped = NULL;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  all_used.slot_count = table->slot_count;
  all_used.used_count = table->used_count;
  memcpy(all_used.first, table->first, sizeof table->first);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  all_used.mapped = table->mapped;
  if (old.mapped)
    hwi_os_unmap(old.mapped, old.slot_count * sizeof *old.mapped);
}

/* Makes room for one more heap: in a new table, without the heaps that were destroyed. Returns false if there is no
 * memory. */
static bool make_room(void)
{
  struct used_table table = {0};
  if (has_room(&all_used))
    return true;
  if (!map_table(&table))
    return false;
  enum hwi_lock_result heaps = take_heaps();
  copy_existing(&table);
  give_heaps(heaps);
  replace_table(&table);
  return true;
}

/* In the process's malloc, this may be before the thread's last calls of it. */
static void thread_ends(void *key)
{
  const struct used_table none = {0};
  (void)key;
  if (malloc_on_heaps)
    malloc_on_heaps->leave();
  enum hwi_lock_result heaps = take_heaps();
  for (const struct hw_heap *heap = hwi_heaps; heap; heap = heap->next) {
    const struct used *used = heap->sole ? NULL : used_of(heap);
    if (used)
      hwi_owner_end(used->owner);
  }
  replace_table(&none);
  last.generation = NO_GENERATION;
  give_heaps(heaps);
}

struct hwi_owner *hwi_heap_existing_owner(const struct hw_heap *heap)
{
  const struct used *used = heap->sole ? NULL : used_of(heap);
  return used ? used->owner : heap->sole;
}

static struct hwi_owner *find_owner(struct hw_heap *heap)
{
  if (hwi_heap_is_central(heap))
    return heap->sole; /* the fast paths, which take no lock, must not know it */
  const struct used *used = used_of(heap);
  if (used) {
    last = *used;
    return last.owner;
  }
  if (!heap->is_alive || !make_room())
    return NULL;
  struct hwi_owner *owner = heap->sole;
  if (!owner && !(owner = hwi_owner_begin(heap, &last, hwi_heap_thread_value(heap), NULL)))
    return NULL;
  last = (struct used){heap->generation, owner};
  *find_slot(&all_used, heap->generation) = last;
  all_used.used_count++;
  if (can_end_threads && !heap->sole)
    hwi_os_at_thread_end(&last); /* after that: it may call malloc, which may be on a heap of these */
  return owner;
}

static inline struct hwi_owner *owner_in(struct hw_heap *heap)
{
  return __builtin_expect(last.generation == heap->generation, 1) ? last.owner : find_owner(heap);
}

struct hwi_owner *hwi_heap_owner(struct hw_heap *heap)
{
  return owner_in(heap);
}

static void after_fork_in_parent(void)
{
  hwi_heaps_after_fork(false, &last, NULL);
}

static void after_fork_in_child(void)
{
  hwi_heaps_after_fork(true, &last, NULL);
}

/* A heap without caches of threads has one owner. */
static bool begin_sole(struct hw_heap *heap)
{
  if (heap->config.threads != HW_HEAP_CACHING)
    heap->sole = hwi_owner_begin(heap, heap, 0, NULL);
  return heap->sole || heap->config.threads == HW_HEAP_CACHING;
}

/* The first heap stays the first one: malloc's, if it is one of these. A thread that has closed all locks has this
 * one, too. */
static void add_to_heaps(struct hw_heap *heap)
{
  struct hw_heap **at = hwi_heaps ? &hwi_heaps->next : &hwi_heaps;
  if (hwi_lock_is_closed_by_me())
    hwi_lock_take_always(&heap->lock);
  heap->prev = hwi_heaps;
  heap->next = *at;
  if (heap->next)
    heap->next->prev = heap;
  *at = heap;
}

bool hwi_heap_begin(struct hw_heap *heap, const struct hw_heap_config *config, struct hw_heap_error *error)
{
  static const struct hw_heap_config defaults = {0};
  if (!config)
    config = &defaults;
  if (!hwi_heap_config_check(config, error))
    return false;
  set_up(heap, config);
  if (!begin_sole(heap))
    return fail_without_memory(error);
  hwi_heap_count_mapped(heap, sizeof *heap);
  enum hwi_lock_result heaps = take_heaps();
  hwi_space_begin(); /* if there is no memory now, the first arena tries again */
  heap->generation = ++generations;
  add_to_heaps(heap);
  give_heaps(heaps);
  return true;
}

void hwi_heaps_begin_in_malloc(const struct hwi_heap_malloc *its)
{
  malloc_on_heaps = its;
}

/* Once in a process. */
static void begin_all(void)
{
  enum hwi_lock_result heaps = take_heaps();
  if (!has_begun) {
    if (!malloc_on_heaps)
      hwi_os_at_fork(hwi_heaps_before_fork, after_fork_in_parent, after_fork_in_child);
    can_end_threads = hwi_os_prepare_thread_end(thread_ends, true) == 0;
    has_begun = true;
  }
  give_heaps(heaps);
}

static const char *value_of(const char *name)
{
  return secure_getenv(name);
}

struct hw_heap *hw_heap_create(const struct hw_heap_config *config, struct hw_heap_error *error)
{
  begin_all();
  struct hw_heap *heap = (struct hw_heap *)hwi_os_map(sizeof *heap);
  if (!heap) {
    fail_without_memory(error);
    return NULL;
  }
  heap->uses_libc = !malloc_on_heaps && hwi_libc_is_wanted(value_of); /* malloc of the process may be such a heap */
  if (hwi_heap_begin(heap, config, error))
    return heap;
  hwi_os_unmap(heap, sizeof *heap);
  return NULL;
}

static void unmap_owners(struct hw_heap *heap)
{
  for (struct hwi_owner *owner = heap->owners, *next; owner; owner = next) {
    next = owner->next;
    hwi_os_unmap(owner, sizeof *owner);
  }
}

static void unmap_all(struct hw_heap *heap)
{
  enum hwi_lock_result result = hwi_heap_lock(heap);
  hwi_large_unmap_all(heap);
  hwi_arena_unmap_all(heap);
  hwi_heap_unlock(heap, result);
  unmap_owners(heap);
}

/* Its generation is 0, which no thread has used last, so that each call goes to slow paths, which find out. It needs
 * no memory then, unless the system refuses that. */
static void set_destroyed(struct hw_heap *heap)
{
  *heap = (struct hw_heap){0};
  (void)hwi_os_make_zeros(heap, sizeof *heap);
}

enum { MOST_DESTROYED = 4096 };
static struct hw_heap *destroyed[MOST_DESTROYED]; /* the last ones, whose addresses are not used again yet */

/* Returns the heap that was destroyed so long ago that its address may be used again, or NULL. */
static struct hw_heap *remember(struct hw_heap *heap)
{
  static size_t next;
  enum hwi_lock_result heaps = take_heaps();
  struct hw_heap *oldest = destroyed[next];
  destroyed[next] = heap;
  next = (next + 1) % MOST_DESTROYED;
  give_heaps(heaps);
  return oldest;
}

static void unlink_heap(struct hw_heap *heap)
{
  if (heap->next)
    heap->next->prev = heap->prev;
  if (heap->prev)
    heap->prev->next = heap->next;
  else
    hwi_heaps = heap->next;
}

/* Returns false if the heap may not be destroyed. */
static bool remove_from_heaps(struct hw_heap *heap)
{
  enum hwi_lock_result heaps = take_heaps();
  bool may_go = heap->is_alive && __atomic_load_n(&heap->set_count, __ATOMIC_ACQUIRE) == 0;
  if (may_go) {
    if (malloc_on_heaps)
      malloc_on_heaps->forget(heap);
    unlink_heap(heap);
    heap->is_alive = false;
  }
  give_heaps(heaps);
  return may_go;
}

bool hw_heap_destroy(struct hw_heap *heap)
{
  if (!heap)
    return true;
  if (!remove_from_heaps(heap))
    return false;
  hwi_libc_free_all(heap);
  unmap_all(heap);
  set_destroyed(heap);
  struct hw_heap *oldest = remember(heap);
  if (oldest)
    hwi_os_unmap(oldest, sizeof *oldest);
  return true;
}

/* --- the end --- */

static void forget_destroyed(void)
{
  for (size_t i = 0; i < MOST_DESTROYED && destroyed[i]; i++) {
    hwi_os_unmap(destroyed[i], sizeof *destroyed[i]);
    destroyed[i] = NULL;
  }
}

/* The code is unloaded, or the process ends, perhaps by a signal handler, and while other threads run: nothing is
 * waited for. A library without heaps leaves nothing, since it may be loaded any number of times. What the library
 * destroys itself comes first: this is of the priority that is the last one, also after the end of C++ objects. */
static __attribute__((destructor(101))) void end_all(void)
{
  hwi_os_forget_thread_end();
  if (__atomic_load_n(&hwi_heaps, __ATOMIC_RELAXED) || hwi_heaps_has_lock() || !hwi_os_may_be_unloaded() ||
      !hwi_lock_try_take(&hwi_space.heaps_lock))
    return;
  if (!hwi_heaps) {
    forget_destroyed();
    hwi_space_end();
  }
  hwi_lock_give(&hwi_space.heaps_lock);
}

/* --- calls --- */

static void report(struct hw_heap *heap, enum hw_heap_fault fault, void *address)
{
  if (fault != HW_HEAP_OK && heap->config.on_fault)
    heap->config.on_fault(heap->config.fault_context, heap, fault, address);
}

typedef void *alloc_fn(struct hwi_owner *owner, size_t align, size_t bytes);

static void *try_alloc(alloc_fn *alloc, struct hw_heap *heap, size_t align, size_t bytes)
{
  enum hwi_lock_result result = hwi_heap_enter_central(heap);
  struct hwi_owner *owner = owner_in(heap);
  void *block = owner ? alloc(owner, align, bytes) : NULL;
  hwi_heap_leave_central(heap, result);
  return block;
}

/* If there is no memory, all that is free in any heap goes back to the system first, unless that is never enough. */
static __attribute__((noinline)) void *alloc_by(alloc_fn *alloc, struct hw_heap *heap, size_t align, size_t bytes)
{
  if (heap->uses_libc) /* checkers end the program for what no memory can have */
    return hwi_space_can_have(align) ? hwi_libc_alloc(heap, align, bytes, alloc == hwi_owner_alloc_zeroed) : NULL;
  void *block = try_alloc(alloc, heap, align, bytes);
  if (block || hwi_lock_is_closed() || !hwi_space_can_have(bytes))
    return block;
  hwi_heaps_return_all(heap);
  return try_alloc(alloc, heap, align, bytes);
}

void *hw_heap_alloc(struct hw_heap *heap, size_t bytes)
{
  bool is_quick = last.generation == heap->generation && bytes <= HW_HEAP_LARGEST_CLASS_BYTES;
  void *block = is_quick ? hwi_owner_try_alloc(last.owner, bytes) : NULL;
  return block ? block : alloc_by(hwi_owner_alloc_aligned, heap, HW_HEAP_ALIGN, bytes);
}

void *hw_heap_alloc_zeroed(struct hw_heap *heap, size_t bytes)
{
  return alloc_by(hwi_owner_alloc_zeroed, heap, HW_HEAP_ALIGN, bytes);
}

void *hw_heap_alloc_aligned(struct hw_heap *heap, size_t align, size_t bytes)
{
  return align && !(align & (align - 1)) ? alloc_by(hwi_owner_alloc_aligned, heap, align, bytes) : NULL;
}

/* The owner is compared, not the thread: the block may be of another heap. */
static inline bool try_free(struct hw_heap *heap, void *address)
{
  struct hwi_free_block *block = (struct hwi_free_block *)address;
  if (last.generation != heap->generation || !hwi_is_in_space(block) || heap->config.check_all_frees)
    return false;
  struct hwi_page *page = hwi_slice_of(block);
  if (__atomic_load_n(&page->owner, __ATOMIC_RELAXED) != last.owner || page->kind != HWI_PAGE_SMALL ||
      block->page == page)
    return false;
  hwi_page_push(page, block);
  return true;
}

static enum hw_heap_fault free_otherwise(struct hw_heap *heap, void *block)
{
  enum hwi_lock_result result = hwi_heap_enter_central(heap);
  enum hw_heap_fault fault = (enum hw_heap_fault)hwi_owner_free(heap, owner_in(heap), block);
  hwi_heap_leave_central(heap, result);
  bool is_of_malloc = fault == HW_HEAP_FOREIGN && malloc_on_heaps && malloc_on_heaps->free(heap, block);
  return is_of_malloc ? HW_HEAP_OK : fault;
}

enum hw_heap_fault hw_heap_free(struct hw_heap *heap, void *block)
{
  if (!block || try_free(heap, block))
    return HW_HEAP_OK;
  enum hw_heap_fault fault = heap->uses_libc ? hwi_libc_free(heap, block) : free_otherwise(heap, block);
  report(heap, fault, block);
  return fault;
}

static size_t block_bytes(struct hw_heap *heap, void *block, enum hw_heap_fault *fault)
{
  size_t bytes = hwi_heap_block_bytes(heap, block, fault);
  if (*fault == HW_HEAP_FOREIGN && malloc_on_heaps && (bytes = malloc_on_heaps->block_bytes(heap, block)))
    *fault = HW_HEAP_OK;
  return bytes;
}

size_t hw_heap_usable_bytes(struct hw_heap *heap, void *block)
{
  enum hw_heap_fault fault;
  if (!block)
    return 0;
  size_t bytes = heap->uses_libc ? hwi_libc_block_bytes(heap, block, &fault) : block_bytes(heap, block, &fault);
  report(heap, fault, block);
  return bytes;
}
