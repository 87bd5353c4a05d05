/* range.c - which memory around a stack is known to be readable */
#include "record/range.h"

#include "platform/os.h"

enum {
  PAGE = HWI_OS_PAGE_BYTES,
  LARGEST_GAP =
      256, /* pages that a stack may have grown by between two events; beyond that it counts as another stack */
  LARGEST_STEP = 2048, /* pages that one load may extend the range by */
};

bool hwi_range_enter_slow(struct hwi_range *range, uintptr_t sp)
{
  uintptr_t page = sp & ~(uintptr_t)(PAGE - 1);
  if (sp < range->low) {
    size_t gap = (range->low - page) / PAGE - 1; /* pages between sp's and the range */
    if (gap <= LARGEST_GAP && hwi_os_readable_pages(page + PAGE, gap) == gap) {
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
