/* heap.c - the heap of a process: one pool, its lock, and its growth
 *
 * The pool grows as heaphook's users know it. If a request cannot be met, the pool grows by HEAPWRIGHT_POOL_GROWTH,
 * then by twice as much, four times as much and so on, until it can. The pieces are added one by one, each with its
 * line on stderr; as they adjoin, they form one block. Their sum is known before: it is mapped at once, so that a
 * request for which the system has no memory changes nothing.
 *
 * A growth need not be whole pages: the next growth begins in the rest of the last page.
 *
 * Memory by which the pool grows is touched like its start. If the program is known to leave most of it unused, this
 * can be switched off (HEAPWRIGHT_POOL_TOUCH=start): then it is only mapped, and calloc asks the kernel for zeroed
 * pages instead of writing them.
 */
#include "allocators/process/heap.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "allocators/fork_heap.h"
#include "allocators/message.h"
#include "allocators/pass_on.h"
#include "platform/os.h"
#include "platform/os_heap.h"

enum {
  FALLBACK_BYTES = 64 << 10,
  LEAST_DROPPED_BYTES = 64 << 10, /* for less, writing is cheaper than a system call */
};

struct hwi_heap hwi_heap;

static struct hwi_settings settings;
static struct hwi_lock growth_lock; /* protects all below; taken before the pool's lock */
static uintptr_t touched_end;       /* in the newest mapping: end of the last page that is touched, or may be */
static uintptr_t newest_end;        /* in the newest mapping: end of the pool's part */
static size_t growth_count, growth_bytes;
static bool is_refusal_said;

/* A fault that the pool found in an allocation. It is reported after the pool's lock is released. */
static struct {
  enum hw_pool_fault fault;
  void *address;
} found;

static uintptr_t page_up(uintptr_t at)
{
  return (at + HWI_OS_PAGE_BYTES - 1) & ~(uintptr_t)(HWI_OS_PAGE_BYTES - 1);
}

/* --- messages --- */

static void print_with_bytes(const char *before, uint64_t bytes, const char *after, int error)
{
  struct hwi_message line;
  hwi_message_begin(&line);
  hwi_message_text(&line, before);
  hwi_message_number(&line, bytes);
  hwi_message_text(&line, after);
  if (error)
    hwi_message_error(&line, error);
  hwi_message_print(&line);
}

/* Reports only once: a program that tries how much memory it can get would fill its log. */
static void print_refusal(uint64_t bytes, const char *why, int error)
{
  if (!is_refusal_said)
    print_with_bytes("TLSF memory pool exhausted: it cannot grow by ", bytes, why, error);
  is_refusal_said = true;
}

void hwi_heap_report(enum hw_pool_fault fault, void *address)
{
  hwi_message_fault((uintptr_t)address, hw_pool_fault_text(fault), settings.abort_on_fault);
}

void hwi_heap_report_foreign(const char *function, const void *address)
{
  if (settings.abort_on_fault)
    hwi_message_foreign(function, address, "pool");
}

static void keep_fault(void *context, struct hw_pool *pool, enum hw_pool_fault fault, void *address)
{
  (void)context, (void)pool;
  found.fault = fault;
  found.address = address;
}

static void report_found(void)
{
  enum hwi_lock_result result = hwi_lock_enter_always(&hwi_heap.lock);
  enum hw_pool_fault fault = found.fault;
  void *address = found.address;
  found.fault = HW_POOL_OK;
  hwi_lock_leave(&hwi_heap.lock, result);
  if (fault == HW_POOL_WRITTEN_AFTER_FREE)
    hwi_heap_report(fault, address);
}

static void put_permille(struct hwi_message *line, unsigned permille)
{
  hwi_message_number(line, permille / 10);
  hwi_message_text(line, ".");
  hwi_message_number(line, permille % 10);
  hwi_message_text(line, " %");
}

void hwi_heap_print_stats(void)
{
  if (!settings.stats)
    return;
  struct hw_pool_stats stats;
  struct hwi_message line;
  enum hwi_lock_result result = hwi_lock_enter_always(&hwi_heap.lock);
  hw_pool_get_stats(hwi_heap.pool, &stats);
  hwi_lock_leave(&hwi_heap.lock, result);
  hwi_message_begin(&line);
  hwi_message_text(&line, "pool: used ");
  hwi_message_number(&line, stats.used_bytes);
  hwi_message_text(&line, " bytes, peak ");
  hwi_message_number(&line, stats.peak_bytes);
  hwi_message_text(&line, ", of ");
  hwi_message_number(&line, stats.capacity_bytes);
  hwi_message_text(&line, "; grown ");
  hwi_message_number(&line, growth_count);
  hwi_message_text(&line, " times by ");
  hwi_message_number(&line, growth_bytes);
  hwi_message_text(&line, "; fragmentation ");
  put_permille(&line, stats.fragmentation_permille);
  hwi_message_text(&line, "; largest free block ");
  hwi_message_number(&line, stats.largest_free_bytes);
  hwi_message_print(&line);
}

/* --- the beginning --- */

/* If there are none, that is reported once: every growth would report the same. */
static void use_huge_pages(uintptr_t start, size_t bytes)
{
  int error = hwi_os_use_huge_pages((void *)start, bytes);
  if (!error)
    return;
  settings.huge_pages = false;
  print_with_bytes("no huge pages for ", bytes,
                   " bytes of the pool; see /sys/kernel/mm/transparent_hugepage/enabled. The program goes on without",
                   error);
}

/* Makes pages present and locks them, or leaves both to the program. Returns 0, or a negative error if there is no
 * memory. */
static int make_present(uintptr_t start, uintptr_t end, bool is_touched)
{
  if (start == end)
    return 0;
  if (settings.huge_pages)
    use_huge_pages(start, end - start);
  if (!is_touched)
    return 0;
  int error = hwi_os_populate((void *)start, end - start);
  if (error || settings.locking == HWI_LOCKING_OFF)
    return error;
  error = hwi_os_lock_memory((void *)start, end - start);
  if (error && settings.locking == HWI_LOCKING_ON)
    print_with_bytes("cannot lock ", end - start, " bytes of the pool; see ulimit -l. The program goes on without",
                     error);
  return 0;
}

static bool map_pool(void)
{
  void *start;
  int error = hwi_os_map_with_room(settings.pool_bytes, &start);
  if (!error) {
    uintptr_t end = (uintptr_t)start + settings.pool_bytes;
    error = make_present((uintptr_t)start, page_up(end), true);
    if (!error && (hwi_heap.pool = hw_pool_init(start, settings.pool_bytes, HWI_HEAP_LARGEST_BYTES))) {
      hwi_heap.start = (uintptr_t)start;
      hwi_heap.linked_end = newest_end = end;
      touched_end = page_up(end);
      return true;
    }
    hwi_os_unmap(start, page_up(settings.pool_bytes));
  }
  print_with_bytes("cannot map ", settings.pool_bytes, " bytes for the pool; it begins with 64 KiB only", error);
  return false;
}

static void use_fallback(void)
{
  static _Alignas(64) unsigned char fallback[FALLBACK_BYTES];
  hwi_heap.pool = hw_pool_init(fallback, FALLBACK_BYTES, HWI_HEAP_LARGEST_BYTES);
  hwi_heap.start = (uintptr_t)fallback;
  hwi_heap.linked_end = (uintptr_t)fallback + FALLBACK_BYTES;
}

void hwi_heap_begin(const struct hwi_settings *given)
{
  settings = *given;
  hwi_lock_begin();
  if (settings.stats)
    hwi_os_keep_error_output();
  if (!map_pool())
    use_fallback();
  hw_pool_on_fault(hwi_heap.pool, keep_fault, NULL);
  hwi_fork_heap_begin(hwi_heap.start);
}

void hwi_heap_begin_passing_on(void)
{
  struct hw_pool_stats left;
  hwi_pass_on_begin();
  settings.exhausted = HWI_EXHAUSTED_PASS_ON;
  hwi_lock_never();
  use_fallback();
  for (hw_pool_get_stats(hwi_heap.pool, &left); left.largest_free_bytes; hw_pool_get_stats(hwi_heap.pool, &left))
    if (!hw_pool_alloc(hwi_heap.pool, left.largest_free_bytes))
      break;
  hwi_fork_heap_begin(hwi_heap.start);
}

/* --- growth --- */

/* Returns the sum of the fewest growth pieces, from settings.growth_bytes on, that have at least `bytes`. Returns 0 if
 * there is none. */
static size_t sum_of_pieces(size_t bytes)
{
  size_t sum = settings.growth_bytes;
  for (size_t piece = sum; sum < bytes; sum += piece)
    if (__builtin_mul_overflow(piece, 2u, &piece) || piece > HWI_HEAP_LARGEST_BYTES)
      return 0;
  return sum;
}

/* Maps address space for `bytes`, directly after the pool's memory or elsewhere. Returns its start, or 0. */
static uintptr_t map_more(size_t bytes)
{
  if (settings.touches_growth && bytes > hwi_os_available_bytes()) {
    print_refusal(bytes, " bytes, which is more than the system has available", 0);
    return 0;
  }
  uintptr_t end = page_up(newest_end + bytes);
  if (newest_end && (end == touched_end || hwi_os_map_at((void *)touched_end, end - touched_end) == 0))
    return newest_end;
  void *start;
  int error = hwi_os_map_with_room(bytes, &start);
  if (error) {
    print_refusal(bytes, " bytes", error);
    return 0;
  }
  newest_end = touched_end = (uintptr_t)start;
  return (uintptr_t)start;
}

/* Adds a piece to the pool's ranges. A thread that reads the ranges without the lock may see it late, but cannot have a
 * block of it before. */
static void note_piece(uintptr_t start, uintptr_t end)
{
  size_t count = hwi_heap.distant_count;
  struct hwi_heap_part *last = count && count <= HWI_MOST_DISTANT ? &hwi_heap.distant[count - 1] : NULL;
  if (start == hwi_heap.linked_end) {
    __atomic_store_n(&hwi_heap.linked_end, end, __ATOMIC_RELAXED);
  } else if (last && start == last->end) {
    __atomic_store_n(&last->end, end, __ATOMIC_RELAXED);
  } else {
    if (count < HWI_MOST_DISTANT)
      hwi_heap.distant[count] = (struct hwi_heap_part){start, end};
    __atomic_store_n(&hwi_heap.distant_count, count + 1, __ATOMIC_RELEASE);
  }
}

/* This line is known to heaphook's users. The first one also states that touching may take long, and how to avoid
 * it. */
static void print_growth(size_t piece)
{
  bool is_touched = settings.touches_growth && !growth_count;
  print_with_bytes("TLSF memory pool exhausted: ", piece,
                   is_touched
                       ? " bytes additionally mmaped. All of it is touched; HEAPWRIGHT_POOL_TOUCH=start avoids that"
                       : " bytes additionally mmaped.",
                   0);
}

/* Adds one piece to the pool and tries again. */
static void *link_piece(size_t piece, size_t bytes, size_t align)
{
  uintptr_t start = newest_end, end = start + piece;
  enum hwi_lock_result result = hwi_lock_enter_always(&hwi_heap.lock);
  if (hw_pool_add_region(hwi_heap.pool, (void *)start, piece))
    note_piece(start, end);
  newest_end = end;
  void *block = hw_pool_alloc_aligned(hwi_heap.pool, align, bytes);
  hwi_lock_leave(&hwi_heap.lock, result);
  print_growth(piece);
  growth_count++;
  growth_bytes += piece;
  return block;
}

static void *grow(size_t bytes, size_t align)
{
  size_t need; /* adds what the ends of a region, alignment and the search's rounding take */
  if (__builtin_add_overflow(bytes + bytes / 32 + 256, align, &need) || need > HWI_HEAP_LARGEST_BYTES)
    return NULL;
  size_t sum = sum_of_pieces(need);
  if (!sum || !map_more(sum))
    return NULL;
  uintptr_t mapped_end = page_up(newest_end + sum);
  void *block = NULL;
  for (size_t piece = settings.growth_bytes; !block && newest_end + piece <= mapped_end; piece *= 2) {
    uintptr_t pages_end = page_up(newest_end + piece);
    int error = make_present(touched_end, pages_end, settings.touches_growth);
    if (error) {
      print_refusal(piece, " bytes", error);
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
  print_with_bytes("TLSF memory pool exhausted: there is no room for ", bytes, " bytes; the process ends here", 0);
  hwi_message_stack();
  hwi_os_abort();
}

/* Returns a block, or NULL. */
static void *alloc_from_pool(size_t bytes, size_t align)
{
  enum hwi_lock_result result = hwi_lock_enter_always(&hwi_heap.lock);
  void *block = hw_pool_alloc_aligned(hwi_heap.pool, align, bytes);
  hwi_lock_leave(&hwi_heap.lock, result);
  return block;
}

/* Used during a fork: returns a block from the kernel. If there is none, waits for the end of the fork. */
static HWI_COLD void *alloc_in_fork(size_t bytes, size_t align)
{
  void *block = hwi_fork_heap_alloc(bytes, align, NULL);
  return block ? block : alloc_from_pool(bytes, align);
}

/* The pool has no block: grows it, or acts according to the policy. Returns NULL if there is no memory. */
static void *alloc_otherwise(size_t bytes, size_t align)
{
  if (settings.exhausted == HWI_EXHAUSTED_PASS_ON)
    return hwi_pass_on(bytes, align);
  report_found();
  if (settings.exhausted == HWI_EXHAUSTED_ABORT)
    end_exhausted(bytes);
  if (settings.exhausted == HWI_EXHAUSTED_FAIL)
    return NULL;
  enum hwi_lock_result result = hwi_lock_enter(&growth_lock);
  if (result == HWI_LOCK_CLOSED)
    return alloc_in_fork(bytes, align);
  void *block = alloc_from_pool(bytes, align); /* another thread may have grown the pool meanwhile */
  if (!block)
    block = grow(bytes, align);
  hwi_lock_leave(&growth_lock, result);
  return block;
}

/* --- the slow paths of the entry points --- */

void *hwi_heap_alloc_plain(size_t bytes)
{
  enum hwi_lock_result result = hwi_lock_enter(&hwi_heap.lock);
  if (UNLIKELY(result == HWI_LOCK_CLOSED))
    return alloc_in_fork(bytes, HW_POOL_ALIGN);
  void *block = hw_pool_alloc(hwi_heap.pool, bytes);
  hwi_lock_leave(&hwi_heap.lock, result);
  return LIKELY(block) ? block : alloc_otherwise(bytes, HW_POOL_ALIGN);
}

void *hwi_heap_alloc_aligned(size_t bytes, size_t align)
{
  enum hwi_lock_result result = hwi_lock_enter(&hwi_heap.lock);
  if (UNLIKELY(result == HWI_LOCK_CLOSED))
    return alloc_in_fork(bytes, align);
  void *block = pool_try_alloc_aligned(hwi_heap.pool, align, bytes);
  if (UNLIKELY(!block))
    block = hw_pool_alloc_aligned(hwi_heap.pool, align, bytes); /* with the full search */
  hwi_lock_leave(&hwi_heap.lock, result);
  return LIKELY(block) ? block : alloc_otherwise(bytes, align);
}

bool hwi_heap_free(void *block, enum hw_pool_fault *fault)
{
  enum hwi_lock_result result = hwi_lock_enter(&hwi_heap.lock);
  if (UNLIKELY(result == HWI_LOCK_CLOSED))
    return false;
  *fault = hw_pool_free(hwi_heap.pool, block);
  hwi_lock_leave(&hwi_heap.lock, result);
  return true;
}

/* --- other things --- */

/* The start of the pool stays touched and locked. Of a block that extends past the start, only the part after it may be
 * dropped. */
static uintptr_t first_to_drop(uintptr_t block)
{
  uintptr_t start_end = hwi_heap.start + settings.pool_bytes;
  return page_up(block - hwi_heap.start < settings.pool_bytes ? start_end : block);
}

void hwi_heap_clear(void *block, size_t bytes)
{
  uintptr_t start = (uintptr_t)block, end = start + bytes;
  uintptr_t from = first_to_drop(start), to = end & ~(uintptr_t)(HWI_OS_PAGE_BYTES - 1);
  bool may_drop = !settings.touches_growth && from < to && to - from >= LEAST_DROPPED_BYTES;
  if (!may_drop || hwi_os_drop_pages((void *)from, to - from) != 0)
    from = to = end;
  memset(block, 0, from - start);
  memset((void *)to, 0, end - to);
}

bool hwi_heap_owns_distant(const void *address)
{
  size_t count = __atomic_load_n(&hwi_heap.distant_count, __ATOMIC_ACQUIRE);
  for (size_t i = 0; i < count && i < HWI_MOST_DISTANT; i++) {
    const struct hwi_heap_part *part = &hwi_heap.distant[i];
    uintptr_t end = __atomic_load_n(&part->end, __ATOMIC_RELAXED);
    if ((uintptr_t)address - part->start < end - part->start)
      return true;
  }
  if (count <= HWI_MOST_DISTANT)
    return false;
  enum hwi_lock_result result = hwi_lock_enter_always(&hwi_heap.lock);
  bool owns = hw_pool_owns(hwi_heap.pool, address);
  hwi_lock_leave(&hwi_heap.lock, result);
  return owns;
}

/* Uses only the block's own header: the next header may be changing, and AFTER_FREE is part of this one word. */
size_t hwi_heap_own_bytes(const void *payload)
{
  const struct block *block = block_of_payload(payload);
  if ((uintptr_t)payload % ALIGN || !hwi_heap_owns(block))
    return 0;
  size_t head = head_without_after_free(__atomic_load_n(&block->head, __ATOMIC_RELAXED)), size = head_word(head);
  return head_is_sealed(hwi_heap.pool, block, head) && !(size & BLOCK_FLAGS) && size ? size - WORD : 0;
}

/* --- forks --- */

static struct hwi_lock *next_lock(const struct hwi_lock *lock)
{
  return lock == &growth_lock ? &hwi_heap.lock : NULL;
}

static const struct hwi_lock_set locks = {&growth_lock, &hwi_heap.lock, next_lock};

void hwi_heap_before_fork(void)
{
  hwi_lock_before_fork(&locks, hwi_lock_is_mine(&hwi_heap.lock));
}

bool hwi_heap_after_fork(bool is_child)
{
  bool is_open = hwi_lock_after_fork(&locks, is_child);
  if (is_open)
    hwi_lock_give(&growth_lock);
  return is_open;
}
