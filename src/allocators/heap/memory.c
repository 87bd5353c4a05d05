/* memory.c - memory of a general heap from the system: its pages, its node, and whether it is present before it is used
 *
 * What the system refuses is left out: the heap goes on with usual memory. The heap of the process says so, once.
 */
#include "allocators/heap/space.h"

#include <errno.h>

#include "allocators/message.h"
#include "platform/os.h"
#include "platform/os_heap.h"

enum {
  LONG_BLOCK_BYTES = 8 << 20,
  LOST_BYTES = 512 << 10, /* of the last huge page */
};

enum hwi_refusal { REFUSED_HUGE = 1, REFUSED_TRANSPARENT = 2, REFUSED_LOCK = 4, REFUSED_NODE = 8 };

static void note_refusal(struct hw_heap *heap, enum hwi_refusal refusal, const char *text, int error)
{
  bool is_new = !(__atomic_fetch_or(&heap->refusals, (uint8_t)refusal, __ATOMIC_RELAXED) & refusal);
  if (!is_new || !heap->is_of_process)
    return;
  struct hwi_message line;
  hwi_message_begin(&line);
  hwi_message_text(&line, text);
  hwi_message_error(&line, error);
  hwi_message_print(&line);
}

static void ask_for_huge_pages(struct hw_heap *heap, uintptr_t start, size_t bytes)
{
  int error = hwi_os_use_huge_pages((void *)start, bytes);
  if (error)
    note_refusal(
        heap, REFUSED_TRANSPARENT,
        "no huge pages for the heap; see /sys/kernel/mm/transparent_hugepage/enabled. The program goes on without",
        error);
}

/* Returns how many pages of a class are perhaps just being filled: one of each owner. */
static size_t begun_pages(const struct hw_heap *heap, size_t class_index)
{
  size_t pages = heap->page_counts[class_index];
  return pages < heap->owner_count ? pages : heap->owner_count;
}

/* Returns whether at least three quarters of what is in use of the arenas is touched. A link is written to each block
 * before it is given out, so that a page of blocks up to 4 KiB is touched, except the rest of one that is just being
 * filled, on average half of it. A part of the last huge page is lost, too: a heap of one arena must be touched nearly
 * everywhere, and the first arena never has huge pages. */
static bool is_dense(const struct hw_heap *heap)
{
  size_t bytes = 0;
  for (size_t i = 0; i < heap->class_count && heap->class_bytes[i] <= HWI_SYSTEM_PAGE_BYTES; i++)
    bytes += (heap->page_counts[i] * (size_t)2 - begun_pages(heap, i)) * heap->page_bytes[i] / 2;
  return bytes >= heap->taken_bytes / 4 * 3 + LOST_BYTES;
}

/* Returns whether the heap is large without pages that are perhaps just being filled: those of many threads may be
 * hardly used. */
static bool is_large(const struct hw_heap *heap)
{
  size_t begun_bytes = 0;
  for (size_t i = 0; i < heap->class_count; i++)
    begun_bytes += begun_pages(heap, i) * heap->page_bytes[i];
  return heap->mapped_bytes >= HWI_LARGE_HEAP_BYTES + begun_bytes;
}

/* Where the system gives huge pages by itself, they would mostly be memory that is not used: a heap writes to the
 * beginnings of its pages, and programs to the beginnings of their blocks. What is lost in a long block is a small part
 * of it. A large heap needs huge pages for its speed, and one of short blocks takes its memory in less time. Returns
 * whether the system may give them by itself, if it is set to do so. */
static bool choose_pages(struct hw_heap *heap, uintptr_t start, size_t bytes, bool is_dense_or_long)
{
  if (hwi_config_wants_huge_pages(&heap->config)) {
    if (bytes >= HWI_HUGE_PAGE_BYTES)
      ask_for_huge_pages(heap, start, bytes);
    return false;
  }
  if (heap->config.pages == HW_HEAP_PAGES_USUAL && (is_dense_or_long || is_large(heap)))
    return true;
  hwi_os_use_small_pages((void *)start, bytes);
  return false;
}

void hwi_heap_choose_pages_again(struct hw_heap *heap, uintptr_t start, size_t old_bytes, size_t bytes)
{
  if (heap->config.pages == HW_HEAP_PAGES_USUAL && old_bytes < LONG_BLOCK_BYTES && bytes >= LONG_BLOCK_BYTES)
    hwi_os_use_usual_pages((void *)start, bytes);
  if (hwi_config_wants_huge_pages(&heap->config) && old_bytes < HWI_HUGE_PAGE_BYTES && bytes >= HWI_HUGE_PAGE_BYTES)
    ask_for_huge_pages(heap, start, bytes);
}

static void choose_node(struct hw_heap *heap, uintptr_t start, size_t bytes)
{
  if (!heap->config.numa_node)
    return;
  int error = hwi_os_prefer_node((void *)start, bytes, heap->config.numa_node - 1);
  if (error)
    note_refusal(heap, REFUSED_NODE, "the heap's memory cannot be bound to a node. The program goes on without", error);
}

void hwi_heap_make_present(struct hw_heap *heap, uintptr_t start, size_t bytes)
{
  if (bytes == 0)
    return;
  if (heap->config.lock_memory) {
    int error = hwi_os_lock_memory((void *)start, bytes);
    if (!error)
      return;
    note_refusal(heap, REFUSED_LOCK, "the heap's memory cannot be locked; see ulimit -l. The program goes on without",
                 error);
  }
  if (hwi_config_makes_present(&heap->config))
    hwi_os_populate((void *)start, bytes);
}

static uintptr_t map_huge(struct hw_heap *heap, size_t bytes)
{
  uintptr_t start = hwi_space_take(bytes, heap->config.arena_align_bytes, true);
  if (!start)
    note_refusal(
        heap, REFUSED_HUGE,
        "no reserved huge pages are left for the heap; see /proc/sys/vm/nr_hugepages. The program goes on with "
        "transparent ones",
        -ENOMEM);
  return start;
}

uintptr_t hwi_heap_map_arena(struct hw_heap *heap, size_t bytes, enum hwi_huge_pages *pages)
{
  uintptr_t start = heap->config.pages == HW_HEAP_PAGES_HUGE ? map_huge(heap, bytes) : 0;
  *pages = start ? HWI_RESERVED_HUGE : HWI_NEVER_HUGE;
  if (!start && !(start = hwi_space_take(bytes, heap->config.arena_align_bytes, false)))
    return 0;
  choose_node(heap, start, bytes);
  if (*pages != HWI_RESERVED_HUGE && choose_pages(heap, start, bytes, is_dense(heap)))
    *pages = hwi_os_gives_huge_pages() ? HWI_GETS_HUGE : HWI_MAY_BECOME_HUGE;
  return start;
}

uintptr_t hwi_heap_map_large(struct hw_heap *heap, size_t bytes, size_t align)
{
  uintptr_t start = hwi_space_take(bytes, align, false);
  if (!start)
    return 0;
  choose_node(heap, start, bytes);
  choose_pages(heap, start, bytes, bytes >= LONG_BLOCK_BYTES);
  return start;
}
