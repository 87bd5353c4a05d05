/* itt_heaps.h - the heaps of programs with ITT: a program's own allocator reports what it gives out
 *
 * The calls come in pairs around the allocator's work. An allocation is reported at its end, when its address is known;
 * a free and the free part of a reallocation are reported at their begin, before another thread can get the memory.
 */
#ifndef HWI_RECORD_COLLECTORS_ITT_HEAPS_H
#define HWI_RECORD_COLLECTORS_ITT_HEAPS_H

#include <stddef.h>

/* Returns the heap of this name and domain (NULL: none); NULL if its domain is switched off or there is no memory. */
void *hwi_itt_heap_of(const char *name, const char *domain);

/* `heap`: NULL, or from hwi_itt_heap_of; anything else is ignored. `*address` NULL: the allocator had no room. */
void hwi_itt_heap_allocated(void *heap, void **address, size_t size, int is_zeroed);
void hwi_itt_heap_freeing(void *heap, void *address);
void hwi_itt_heap_reallocating(void *heap, void *address, size_t size, int is_zeroed);
void hwi_itt_heap_reallocated(void *heap, void *old, void **address, size_t size, int is_zeroed);

#endif
