/* range.c - the memory around a stack that is known to be readable */
#include "record/unwind/range.h"

#include "platform/os.h"

enum {
  PAGE = HWI_OS_PAGE_BYTES,
  LARGEST_GAP = 256,   /* pages that a stack may grow between two events; if more, it counts as another stack */
  LARGEST_STEP = 2048, /* most pages by which one load may extend the range */
};

/* Returns whether the range is part of the thread's own stack. Then all memory from there to the stack's end is
 * readable, unlike the memory below the stack. Other stacks (of coroutines, allocated by malloc or mmap) may be
 * adjacent: a range must not grow from one of these into the next, which may be unmapped at any moment. */
static bool is_of_own_stack(const struct hwi_range *range)
{
  uintptr_t end = hwi_os_own_stack_end();
  if (end < range->high)
    return end >= range->low;
  size_t pages = (end - range->high) / PAGE + 1;
  return pages <= LARGEST_GAP && hwi_os_readable_pages(range->high, pages) == pages;
}

bool hwi_range_enter_slow(struct hwi_range *range, uintptr_t sp)
{
  uintptr_t page = sp & ~(uintptr_t)(PAGE - 1);
  if (sp < range->low) {
    size_t gap = (range->low - page) / PAGE - 1; /* pages between sp's page and the range */
    bool is_near = gap <= LARGEST_GAP;           /* sufficient if the kernel cannot be asked */
    if (is_near && (hwi_os_is_sealed() || (hwi_os_readable_pages(page + PAGE, gap) == gap && is_of_own_stack(range)))) {
      range->low = page;
      return true;
    }
  }
  *range = (struct hwi_range){.low = page, .high = page + PAGE};
  return false;
}

bool hwi_range_extend(struct hwi_range *range, uintptr_t address)
{
  uintptr_t last = address + sizeof(uintptr_t) - 1;
  if (address < range->low || last < address || (range->wall && last >= range->wall))
    return false;
  size_t pages = ((last & ~(uintptr_t)(PAGE - 1)) - range->high) / PAGE + 1;
  if (pages > LARGEST_STEP)
    return false;
  size_t readable = hwi_os_readable_pages(range->high, pages);
  range->high += readable * PAGE;
  if (readable < pages)
    range->wall = range->high;
  return readable == pages;
}
