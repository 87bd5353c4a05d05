/* returns.c - memory that a general heap returns to the system: when, and how without the lock
 *
 * When. Free slices that are still in memory are kept for a while: returning memory and taking it again costs more
 * than all else here. Every 25 ms, when a thread gives a page or looks for pages to give, what was not needed since
 * the last time goes back, except for a share of the heap, or 2 MiB; what was not needed of these for 0.2 s goes
 * back, too. What exceeds a larger share goes back at once, since perhaps no thread passes by later; that share is
 * the largest while memory was taken a moment ago. The heap learns from its mistakes: if half of what was returned is
 * taken from the system again within a second, or longer if it was much, it was returned too early, and the time and
 * the larger share grow to 800 ms and all that the heap has had. They halve when memory is returned and the last time
 * was no mistake. So a program that goes up and down pays for that once, if at all.
 *
 * How. The system calls take as long as the memory is large, so no other thread may have to wait for them. What is to
 * go back becomes pending: its slices are neither free nor used, and its units stay taken, so that no thread gets
 * them. The thread that leaves the lock takes the lists of what is pending, makes the system calls, and pushes each
 * part on a list of what is settled. The next thread that has the lock and needs memory takes that list, and only
 * then the slices and units are free. Memory that the config wants to be present comes in the same way. While a fork
 * has closed the lock, this goes on; the child does not have what was pending in other threads. In a heap without a
 * lock, what is settled is free at once.
 */
#include "allocators/heap/heap_lock.h"
#include "allocators/heap/process_owner.h"
#include "allocators/heap/space.h"

#include "platform/os.h"
#include "platform/os_heap.h"

enum {
  LEAST_KEPT_BYTES = 2 << 20,
  KEPT_PART = 32, /* of what is in use */
  EXCESS_BYTES = 8 << 20,
  EXCESS_IF_RECENT_BYTES = 128 << 20, /* if memory was taken less than return_after_ms ago */
  EXCESS_OF_LARGE_BYTES = 2 << 20,    /* of a heap that has had */
  EXCESS_AFTER_MISTAKE_BYTES = 32 << 20,
  EXCESS_PART = 4,
  NS_PER_MS = 1000000,
  SOON_MS = 1000,
  IDLE_MS = 200,
  SOON_NS_PER_BYTE = 16, /* to return a byte and to touch it again takes some 0.5 ns, which may be 3 % of the time */
  PATIENCE_AFTER_MISTAKE = 5, /* 32 times as much */
};

/* --- how --- */

void hwi_page_push_settled(struct hwi_page **list, struct hwi_page *page)
{
  page->next = __atomic_load_n(list, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(list, &page->next, page, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
    ;
}

/* The system makes huge pages also of memory with holes, so that what went back would be there again. */
static void refuse_huge_pages(struct hwi_page *arena)
{
  if (hwi_huge_pages_of(arena) == HWI_NEVER_HUGE)
    return;
  __atomic_store_n(&arena->huge_pages, HWI_NEVER_HUGE, __ATOMIC_RELAXED);
  if (hwi_os_gives_huge_pages())
    hwi_os_use_small_pages((void *)hwi_page_start(arena), HWI_UNIT_BYTES);
}

/* The system refuses memory that the program has locked itself: it stays. */
static void settle_slices(struct hw_heap *heap, struct hwi_page *page)
{
  uintptr_t start = hwi_page_start(page);
  size_t bytes = page->slice_count * HWI_SLICE_BYTES;
  if (page->is_coming)
    hwi_heap_make_present(heap, start, bytes);
  else if (page->slice_count < HWI_SLICES)
    refuse_huge_pages(hwi_unit_of(page));
  page->is_clean = !page->is_coming && hwi_os_drop_pages((void *)start, bytes) == 0;
  if (heap->has_lock)
    hwi_page_push_settled(&heap->settled, page);
  else
    hwi_arena_settle(page);
}

void hwi_heap_unlock_and_settle(struct hw_heap *heap, enum hwi_lock_result result)
{
  struct hwi_page *slices = heap->pending_slices, *units = heap->pending_units, *next;
  bool has_units = units;
  heap->pending_slices = heap->pending_units = NULL;
  hwi_heap_give_lock(heap, result);
  for (; slices; slices = next) {
    next = slices->next;
    settle_slices(heap, slices);
  }
  for (; units; units = next) {
    next = units->next;
    hwi_os_unmap((void *)hwi_page_start(units), units->block_bytes);
    hwi_space_give(hwi_page_start(units), units->block_bytes);
  }
  if (has_units)
    hwi_space_try_collect();
}

void hwi_heap_collect_settled(struct hw_heap *heap)
{
  if (!__atomic_load_n(&heap->settled, __ATOMIC_RELAXED))
    return;
  struct hwi_page *page = __atomic_exchange_n(&heap->settled, NULL, __ATOMIC_ACQUIRE), *next;
  for (; page; page = next) {
    next = page->next;
    hwi_arena_settle(page);
  }
}

void hwi_heap_unmap_later(struct hw_heap *heap, struct hwi_page *unit)
{
  unit->next = heap->pending_units;
  heap->pending_units = unit;
}

void hwi_heap_trim(struct hw_heap *heap, size_t most_bytes, bool is_for_small)
{
  hwi_heap_collect_settled(heap);
  hwi_large_drop_cached(heap, most_bytes);
  hwi_arena_unmap_free(heap, most_bytes, heap->config.arena_bytes);
  if (!heap->config.lock_memory) /* the system takes no part of what is locked */
    hwi_arena_drop_kept(heap, most_bytes, is_for_small);
}

/* --- when --- */

static uint64_t larger(uint64_t a, uint64_t b)
{
  return a > b ? a : b;
}

static uint64_t used_bytes(const struct hw_heap *heap)
{
  return heap->taken_bytes + heap->large_bytes;
}

/* Returns how much free memory may be kept for any time, but `least_bytes` also if little is in use. */
static size_t most_kept_bytes(const struct hw_heap *heap, size_t least_bytes)
{
  switch (heap->config.returns) {
  case HW_HEAP_RETURNS_AT_ONCE:
    return 0;
  case HW_HEAP_RETURNS_ON_COLLECT:
    return SIZE_MAX;
  default:
    return heap->config.keep_free_bytes ? heap->config.keep_free_bytes
                                        : (size_t)larger(least_bytes, used_bytes(heap) / KEPT_PART);
  }
}

/* Is what was returned last taken again too early, if at all? */
static bool is_soon_after_return(const struct hw_heap *heap, uint64_t now)
{
  return now - heap->returned_ns <
         larger((uint64_t)SOON_MS * NS_PER_MS, (uint64_t)heap->returned_bytes * SOON_NS_PER_BYTE);
}

/* Before memory is returned: was the last return right? */
static void learn(struct hw_heap *heap, uint64_t now)
{
  bool is_soon = is_soon_after_return(heap, now);
  bool was_wrong = is_soon && heap->returned_bytes && heap->new_bytes >= heap->returned_bytes / 2;
  if (was_wrong) {
    heap->patience = PATIENCE_AFTER_MISTAKE;
    heap->returned_ns = now;
  } else if (!is_soon && heap->patience > 0)
    heap->patience--;
  if (was_wrong || !is_soon)
    heap->returned_bytes = 0;
  if (heap->returned_bytes == 0)
    heap->new_bytes = 0;
}

static uint64_t return_after_ns(const struct hw_heap *heap)
{
  return (uint64_t)heap->config.return_after_ms * NS_PER_MS;
}

static bool is_old(const struct hw_heap *heap, uint64_t now)
{
  return now - heap->excess_since_ns >= return_after_ns(heap) << heap->patience;
}

/* Of a heap that was large, and is small now, no more is kept than of its size: it may never be needed again, and
 * then no thread passes by. What was needed a moment ago is more likely to be. And a heap that has been mistaken
 * seems to go up and down: it keeps all. */
static uint64_t least_excess_bytes(const struct hw_heap *heap, uint64_t now)
{
  if (heap->patience > 0)
    return larger(EXCESS_AFTER_MISTAKE_BYTES, heap->peak_mapped_bytes >> PATIENCE_AFTER_MISTAKE);
  if (heap->peak_mapped_bytes >= HWI_LARGE_HEAP_BYTES)
    return EXCESS_OF_LARGE_BYTES;
  return now - heap->needed_ns < return_after_ns(heap) ? EXCESS_IF_RECENT_BYTES : EXCESS_BYTES;
}

/* The larger the heap was, compared with what is in use, the smaller is the part of it. */
static uint64_t most_excess_bytes(const struct hw_heap *heap, uint64_t now)
{
  uint64_t used = used_bytes(heap), times_as_much = larger(heap->peak_mapped_bytes / larger(used, 1), 1);
  uint64_t part = used / EXCESS_PART / times_as_much;
  return larger(least_excess_bytes(heap, now), part) << heap->patience;
}

/* Returns how much of the kept memory stays; `most` needs no reason. */
static size_t bytes_to_keep(const struct hw_heap *heap, size_t most, uint64_t now)
{
  uint64_t excess = most_excess_bytes(heap, now);
  if (heap->kept_bytes - most > excess)
    return most + (size_t)(excess / 2);
  size_t unneeded = heap->least_kept_bytes > most ? heap->least_kept_bytes - most : 0;
  return is_old(heap, now) ? heap->kept_bytes - unneeded : heap->kept_bytes;
}

static void return_kept(struct hw_heap *heap, size_t most_bytes, uint64_t now)
{
  size_t before = heap->kept_bytes;
  hwi_heap_trim(heap, most_bytes, false);
  heap->returned_bytes += before - heap->kept_bytes;
  heap->returned_ns = now;
}

void hwi_heap_count_taken(struct hw_heap *heap, size_t kept_bytes, size_t new_bytes)
{
  heap->kept_bytes -= kept_bytes;
  heap->least_kept_bytes = hwi_smaller(heap->least_kept_bytes, heap->kept_bytes);
  heap->least_idle_bytes = hwi_smaller(heap->least_idle_bytes, heap->kept_bytes);
  heap->new_bytes += new_bytes;
  if (heap->config.returns == HW_HEAP_RETURNS_LATER)
    heap->needed_ns = hwi_os_coarse_ns();
}

/* Of the least that is kept in any case, too, what was not needed for a while goes back. Huge pages are worth more
 * than that. */
static void return_idle(struct hw_heap *heap)
{
  uint64_t now = hwi_os_coarse_ns();
  if (now - heap->idle_since_ns < (uint64_t)IDLE_MS * NS_PER_MS)
    return;
  size_t most = most_kept_bytes(heap, 0), idle = hwi_smaller(heap->least_idle_bytes, heap->kept_bytes);
  if (idle > most)
    hwi_heap_trim(heap, heap->kept_bytes - (idle - most), true);
  heap->idle_since_ns = now;
  heap->least_idle_bytes = heap->kept_bytes;
}

void hwi_heap_pass_by(struct hw_heap *heap)
{
  size_t most = most_kept_bytes(heap, LEAST_KEPT_BYTES);
  if (heap->kept_bytes <= most) {
    if (heap->config.returns == HW_HEAP_RETURNS_LATER)
      return_idle(heap);
    return;
  }
  if (heap->config.returns != HW_HEAP_RETURNS_LATER) {
    hwi_heap_trim(heap, most, false);
    return;
  }
  uint64_t now = hwi_os_coarse_ns();
  if (bytes_to_keep(heap, most, now) < heap->kept_bytes)
    learn(heap, now);
  size_t keep = bytes_to_keep(heap, most, now);
  bool is_less = keep < heap->kept_bytes;
  if (is_less)
    return_kept(heap, keep, now);
  if (is_less || is_old(heap, now)) {
    heap->excess_since_ns = now;
    heap->least_kept_bytes = heap->kept_bytes;
  }
}

/* --- on demand --- */

/* Returns how many bytes went back. Arenas that are free only then are unmapped in the second round; `least_bytes` of
 * them stay. */
static size_t return_free(struct hw_heap *heap, size_t most_bytes, size_t least_bytes)
{
  size_t before = 0, after = 0;
  for (int round = 0; round < 2; round++) {
    enum hwi_lock_result result = hwi_heap_lock(heap);
    if (result == HWI_LOCK_CLOSED)
      return 0;
    hwi_heap_collect_settled(heap);
    if (round == 0) {
      before = heap->kept_bytes;
      hwi_heap_trim(heap, most_bytes, false);
    } else {
      hwi_arena_unmap_free(heap, most_bytes, least_bytes);
      after = heap->kept_bytes;
    }
    hwi_heap_unlock(heap, result);
  }
  return before > after ? before - after : 0;
}

size_t hwi_heap_collect(struct hw_heap *heap, struct hwi_owner *owner, size_t most_bytes)
{
  hwi_owner_drain_orphans(heap);
  enum hwi_lock_result result = hwi_heap_enter_central(heap);
  if (owner && !hwi_lock_is_closed_by_me() && result != HWI_LOCK_CLOSED) {
    hwi_owner_drain(owner);
    hwi_owner_give_empty_pages(owner);
  }
  hwi_heap_leave_central(heap, result);
  return return_free(heap, most_bytes, heap->config.arena_bytes);
}

/* In malloc, a thread may have a lock of libc's that the fork needs: it does not wait for the end of the fork. */
void hwi_heaps_return_all(const struct hw_heap *its)
{
  enum hwi_lock_result result =
      hwi_is_in_malloc ? hwi_lock_enter(&hwi_space.heaps_lock) : hwi_lock_take_or_have(&hwi_space.heaps_lock);
  if (result == HWI_LOCK_CLOSED)
    return;
  for (struct hw_heap *heap = hwi_heaps; heap; heap = heap->next)
    if (heap->has_lock || heap == its)
      return_free(heap, 0, 0);
  hwi_lock_leave(&hwi_space.heaps_lock, result);
}

void hw_heap_collect(struct hw_heap *heap)
{
  if (heap->is_alive)
    hwi_heap_collect(heap, hwi_heap_existing_owner(heap), 0);
}
