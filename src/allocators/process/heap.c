/* heap.c - the heap of a process: one pool, its lock, and how it grows
 *
 * Growth, as heaphook's users know it: a request that cannot be met makes the pool grow by HEAPWRIGHT_POOL_GROWTH, then by twice
 * as much, four times ... until it can. The pieces are linked one by one, each with its line on stderr; since they adjoin, they
 * are one block. What all of them take together is known before: it is mapped at once, so that a request that the system has no
 * memory for changes nothing.
 *
 * A growth need not be whole pages: what is left of the last page is where the next one begins.
 */
#include "allocators/process/heap.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "allocators/process/say.h"
#include "platform/os.h"
#include "platform/os_heap.h"

enum { FALLBACK_BYTES = 64 << 10 };

struct hwi_heap hwi_heap;

static struct hwi_settings settings;
static struct hwi_lock growth_lock; /* of all below; it is taken before the pool's */
static uintptr_t touched_end;       /* of the newest mapping: behind the last page that is touched */
static uintptr_t newest_end;        /* of the newest mapping: where the pool's part ends */
static size_t growth_count, growth_bytes;
static bool is_refusal_said;

/* What the pool found in an allocation: told once its lock is given back. */
static struct {
  enum hw_pool_fault fault;
  void *address;
} found;

static uintptr_t page_up(uintptr_t at)
{
  return (at + HWI_OS_PAGE_BYTES - 1) & ~(uintptr_t)(HWI_OS_PAGE_BYTES - 1);
}

/* --- what there is to say --- */

static void say_with_bytes(const char *before, uint64_t bytes, const char *behind, int error)
{
  struct hwi_saying line;
  hwi_say_begin(&line);
  hwi_say_text(&line, before);
  hwi_say_number(&line, bytes);
  hwi_say_text(&line, behind);
  if (error) {
    hwi_say_text(&line, " (error ");
    hwi_say_number(&line, (uint64_t)-error);
    hwi_say_text(&line, ")");
  }
  hwi_say_print(&line);
}

/* Once: a program that tries how much it can get would fill its log. */
static void say_refusal(uint64_t bytes, const char *why, int error)
{
  if (!is_refusal_said)
    say_with_bytes("TLSF memory pool exhausted: it cannot grow by ", bytes, why, error);
  is_refusal_said = true;
}

void hwi_heap_report(enum hw_pool_fault fault, void *address)
{
  struct hwi_saying line;
  hwi_say_begin(&line);
  hwi_say_text(&line, "block ");
  hwi_say_address(&line, (uintptr_t)address);
  hwi_say_text(&line, ": ");
  hwi_say_text(&line, hw_pool_fault_text(fault));
  hwi_say_text(&line, settings.abort_on_fault ? "; the process ends here" : "; it stays as it is");
  hwi_say_print(&line);
  hwi_say_stack();
  if (settings.abort_on_fault)
    hwi_os_abort();
}

void hwi_heap_say_foreign(const char *function, const void *address)
{
  if (!settings.abort_on_fault)
    return;
  struct hwi_saying line;
  hwi_say_begin(&line);
  hwi_say_text(&line, function);
  hwi_say_text(&line, " of ");
  hwi_say_address(&line, (uintptr_t)address);
  hwi_say_text(&line, ": no block of the pool; the next malloc gets it");
  hwi_say_print(&line);
  hwi_say_stack();
}

static void keep_fault(void *context, struct hw_pool *pool, enum hw_pool_fault fault, void *address)
{
  (void)context, (void)pool;
  found.fault = fault;
  found.address = address;
}

static void report_found(void)
{
  bool is_taken = hwi_lock_enter(&hwi_heap.lock);
  enum hw_pool_fault fault = found.fault;
  void *address = found.address;
  found.fault = HW_POOL_OK;
  hwi_lock_leave(&hwi_heap.lock, is_taken);
  if (fault == HW_POOL_WRITTEN_AFTER_FREE)
    hwi_heap_report(fault, address);
}

static void say_permille(struct hwi_saying *line, unsigned permille)
{
  hwi_say_number(line, permille / 10);
  hwi_say_text(line, ".");
  hwi_say_number(line, permille % 10);
  hwi_say_text(line, " %");
}

void hwi_heap_say_stats(void)
{
  if (!settings.stats)
    return;
  struct hw_pool_stats stats;
  struct hwi_saying line;
  bool is_taken = hwi_lock_enter(&hwi_heap.lock);
  hw_pool_get_stats(hwi_heap.pool, &stats);
  hwi_lock_leave(&hwi_heap.lock, is_taken);
  hwi_say_begin(&line);
  hwi_say_text(&line, "pool: used ");
  hwi_say_number(&line, stats.used_bytes);
  hwi_say_text(&line, " bytes, peak ");
  hwi_say_number(&line, stats.peak_bytes);
  hwi_say_text(&line, ", of ");
  hwi_say_number(&line, stats.capacity_bytes);
  hwi_say_text(&line, "; grown ");
  hwi_say_number(&line, growth_count);
  hwi_say_text(&line, " times by ");
  hwi_say_number(&line, growth_bytes);
  hwi_say_text(&line, "; fragmentation ");
  say_permille(&line, stats.fragmentation_permille);
  hwi_say_text(&line, "; largest free block ");
  hwi_say_number(&line, stats.largest_free_bytes);
  hwi_say_print(&line);
}

/* --- the beginning --- */

/* Where there are none, it is said once: all growth would say the same. */
static void use_huge_pages(uintptr_t start, size_t bytes)
{
  int error = hwi_os_use_huge_pages((void *)start, bytes);
  if (!error)
    return;
  settings.huge_pages = false;
  say_with_bytes("no huge pages for ", bytes,
                 " bytes of the pool; see /sys/kernel/mm/transparent_hugepage/enabled. The program goes on without",
                 error);
}

/* Makes pages present, and keeps them. 0, or negative: there is no memory. */
static int make_present(uintptr_t start, uintptr_t end)
{
  if (start == end)
    return 0;
  if (settings.huge_pages)
    use_huge_pages(start, end - start);
  int error = hwi_os_populate((void *)start, end - start);
  if (error || settings.locking == HWI_LOCKING_OFF)
    return error;
  error = hwi_os_lock_memory((void *)start, end - start);
  if (error && settings.locking == HWI_LOCKING_ON)
    say_with_bytes("cannot lock ", end - start, " bytes of the pool; see ulimit -l. The program goes on without",
                   error);
  return 0;
}

static bool map_pool(void)
{
  void *start;
  int error = hwi_os_map_with_room(settings.pool_bytes, &start);
  if (!error) {
    uintptr_t end = (uintptr_t)start + settings.pool_bytes;
    error = make_present((uintptr_t)start, page_up(end));
    if (!error && (hwi_heap.pool = hw_pool_init(start, settings.pool_bytes, HWI_HEAP_LARGEST_BYTES))) {
      hwi_heap.start = (uintptr_t)start;
      hwi_heap.linked_end = newest_end = end;
      touched_end = page_up(end);
      return true;
    }
    hwi_os_unmap(start, page_up(settings.pool_bytes));
  }
  say_with_bytes("cannot map ", settings.pool_bytes, " bytes for the pool; it begins with next to nothing", error);
  return false;
}

void hwi_heap_begin(const struct hwi_settings *given)
{
  static _Alignas(64) unsigned char fallback[FALLBACK_BYTES];
  settings = *given;
  hwi_lock_begin();
  if (settings.stats)
    hwi_os_keep_error_output();
  if (!map_pool()) {
    hwi_heap.pool = hw_pool_init(fallback, FALLBACK_BYTES, HWI_HEAP_LARGEST_BYTES);
    hwi_heap.start = (uintptr_t)fallback;
    hwi_heap.linked_end = (uintptr_t)fallback + FALLBACK_BYTES;
  }
  hw_pool_on_fault(hwi_heap.pool, keep_fault, NULL);
}

/* --- growth --- */

/* What growth pieces from growth_bytes on add up to when that is at least `bytes`. 0: no such number. */
static size_t sum_of_pieces(size_t bytes)
{
  size_t sum = settings.growth_bytes;
  for (size_t piece = sum; sum < bytes; sum += piece)
    if (__builtin_mul_overflow(piece, 2u, &piece) || piece > HWI_HEAP_LARGEST_BYTES)
      return 0;
  return sum;
}

/* Address space for `bytes`: behind what the pool has, or elsewhere. The place, or 0. */
static uintptr_t map_more(size_t bytes)
{
  uint64_t available = hwi_os_available_bytes();
  if (bytes > available) {
    say_refusal(bytes, " bytes, which is more than the system has available", 0);
    return 0;
  }
  uintptr_t end = page_up(newest_end + bytes);
  if (newest_end && (end == touched_end || hwi_os_map_at((void *)touched_end, end - touched_end) == 0))
    return newest_end;
  void *start;
  int error = hwi_os_map_with_room(bytes, &start);
  if (error) {
    say_refusal(bytes, " bytes", error);
    return 0;
  }
  newest_end = touched_end = (uintptr_t)start;
  return (uintptr_t)start;
}

/* Adds one piece to the pool and tries again. */
static void *link_piece(size_t piece, size_t bytes, size_t align)
{
  uintptr_t start = newest_end, end = start + piece;
  bool is_taken = hwi_lock_enter(&hwi_heap.lock);
  bool is_added = hw_pool_add_region(hwi_heap.pool, (void *)start, piece);
  if (is_added && start == hwi_heap.linked_end)
    __atomic_store_n(&hwi_heap.linked_end, end, __ATOMIC_RELAXED);
  else if (is_added)
    __atomic_store_n(&hwi_heap.has_distant, true, __ATOMIC_RELAXED);
  void *block = hw_pool_alloc_aligned(hwi_heap.pool, align, bytes);
  hwi_lock_leave(&hwi_heap.lock, is_taken);
  newest_end = end;
  growth_count++;
  growth_bytes += piece;
  say_with_bytes("TLSF memory pool exhausted: ", piece, " bytes additionally mmaped.", 0);
  return block;
}

static void *grow(size_t bytes, size_t align)
{
  size_t
      need; /* with what a region's ends, alignment, and the rounding of the search may take: a 64th, and some words */
  if (__builtin_add_overflow(bytes + bytes / 32 + 256, align, &need) || need > HWI_HEAP_LARGEST_BYTES)
    return NULL;
  size_t sum = sum_of_pieces(need);
  if (!sum || !map_more(sum))
    return NULL;
  uintptr_t mapped_end = page_up(newest_end + sum);
  void *block = NULL;
  for (size_t piece = settings.growth_bytes; !block && newest_end + piece <= mapped_end; piece *= 2) {
    uintptr_t pages_end = page_up(newest_end + piece);
    int error = make_present(touched_end, pages_end);
    if (error) {
      say_refusal(piece, " bytes", error);
      break;
    }
    touched_end = pages_end;
    block = link_piece(piece, bytes, align);
  }
  if (touched_end < mapped_end)
    hwi_os_unmap((void *)touched_end, mapped_end - touched_end);
  return block;
}

static _Noreturn void end_exhausted(size_t bytes)
{
  say_with_bytes("TLSF memory pool exhausted: there is no room for ", bytes, " bytes; the process ends here", 0);
  hwi_say_stack();
  hwi_os_abort();
}

/* A block, or NULL. */
static void *alloc_from_pool(size_t bytes, size_t align)
{
  bool is_taken = hwi_lock_enter(&hwi_heap.lock);
  void *block = hw_pool_alloc_aligned(hwi_heap.pool, align, bytes);
  hwi_lock_leave(&hwi_heap.lock, is_taken);
  return block;
}

/* What to do when the pool has no block: grows it, or does as the policy says. NULL: no memory. */
static void *alloc_otherwise(size_t bytes, size_t align)
{
  report_found();
  if (settings.exhausted == HWI_EXHAUSTED_ABORT)
    end_exhausted(bytes);
  if (settings.exhausted == HWI_EXHAUSTED_FAIL)
    return NULL;
  bool is_taken = hwi_lock_enter(&growth_lock);
  void *block = alloc_from_pool(bytes, align); /* while this thread waited, another may have grown the pool */
  if (!block)
    block = grow(bytes, align);
  hwi_lock_leave(&growth_lock, is_taken);
  return block;
}

/* --- what the entry points do not do themselves --- */

void *hwi_heap_alloc_plain(size_t bytes)
{
  bool is_taken = hwi_lock_enter(&hwi_heap.lock);
  void *block = hw_pool_alloc(hwi_heap.pool, bytes);
  hwi_lock_leave(&hwi_heap.lock, is_taken);
  return LIKELY(block) ? block : alloc_otherwise(bytes, HW_POOL_ALIGN);
}

void *hwi_heap_alloc_aligned(size_t bytes, size_t align)
{
  bool is_taken = hwi_lock_enter(&hwi_heap.lock);
  void *block = pool_try_alloc_aligned(hwi_heap.pool, align, bytes);
  hwi_lock_leave(&hwi_heap.lock, is_taken);
  if (UNLIKELY(!block))
    block = alloc_from_pool(bytes, align); /* which looks for longer */
  return LIKELY(block) ? block : alloc_otherwise(bytes, align);
}

enum hw_pool_fault hwi_heap_free(void *block)
{
  bool is_taken = hwi_lock_enter(&hwi_heap.lock);
  enum hw_pool_fault fault = hw_pool_free(hwi_heap.pool, block);
  hwi_lock_leave(&hwi_heap.lock, is_taken);
  return fault;
}

/* --- other things --- */

bool hwi_heap_owns_distant(const void *address)
{
  if (!__atomic_load_n(&hwi_heap.has_distant, __ATOMIC_RELAXED))
    return false;
  bool is_taken = hwi_lock_enter(&hwi_heap.lock);
  bool owns = hw_pool_owns(hwi_heap.pool, address);
  hwi_lock_leave(&hwi_heap.lock, is_taken);
  return owns;
}

void hwi_heap_before_fork(void)
{
  hwi_lock_take_always(&growth_lock);
  hwi_lock_take_always(&hwi_heap.lock);
}

void hwi_heap_after_fork(bool is_child)
{
  if (is_child) {
    hwi_lock_reset(&hwi_heap.lock);
    hwi_lock_reset(&growth_lock);
  } else {
    hwi_lock_give(&hwi_heap.lock);
    hwi_lock_give(&growth_lock);
  }
}
