/* os_large.h - the interface to the kernel for the tools' lists of many megabytes
 *
 * huge page   some megabytes of memory under one entry of the page table. Random access to a large list would miss the
 *             processor's cache of such entries (TLB) at nearly every step, and small pages cost one page fault each.
 */
#ifndef HWI_PLATFORM_OS_LARGE_H
#define HWI_PLATFORM_OS_LARGE_H

#include <stddef.h>

#define HWI_OS_HUGE_PAGE_BYTES ((size_t)1 << 21)

/* Returns private zeroed memory that is aligned to a huge page, or NULL if there is none. `bytes` is a multiple of a
 * huge page. The caller frees it with hwi_os_unmap. */
void *hwi_os_map_large(size_t bytes);

/* Enlarges the memory; the new part is zero. Its pages are usually moved to another address, but not copied. Returns
 * the new address, or NULL if there is no memory; then nothing has changed. */
void *hwi_os_enlarge(void *start, size_t bytes, size_t larger);

/* Asks for huge pages for memory that is not touched yet; has no effect if the kernel has none. */
void hwi_os_wish_for_huge_pages(void *start, size_t bytes);

#endif
