/* os_large.h - the seam to the kernel for lists of many megabytes, as the tools have them
 *
 * huge page   some megabytes of memory under one entry of the page table. A large list that is walked at random would miss the
 *             processor's cache of such entries at nearly every step, and small pages come one fault at a time.
 */
#ifndef HWI_PLATFORM_OS_LARGE_H
#define HWI_PLATFORM_OS_LARGE_H

#include <stddef.h>

#define HWI_OS_HUGE_PAGE_BYTES ((size_t)1 << 21)

/* Private zeroed memory that begins where a huge page does. `bytes` are whole ones. NULL: there is none. Given back by
 * hwi_os_unmap. */
void *hwi_os_map_large(size_t bytes);

/* The same memory with zeros behind it, most likely at another place, to which its pages move: nothing is copied. NULL: there is
 * none, and nothing changed. */
void *hwi_os_enlarge(void *start, size_t bytes, size_t larger);

/* Asks for huge pages for memory that is not touched yet; a kernel that has none goes on as it was. */
void hwi_os_wish_for_huge_pages(void *start, size_t bytes);

#endif
