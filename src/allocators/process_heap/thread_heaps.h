/* thread_heaps.h - the heaps that a thread has set and pushed, and the malloc that goes by them */
#ifndef HWI_ALLOCATORS_PROCESS_HEAP_THREAD_HEAPS_H
#define HWI_ALLOCATORS_PROCESS_HEAP_THREAD_HEAPS_H

#include <stdbool.h>

struct hw_heap;

/* The calling thread ends: it has no heap set any more. */
void hwi_thread_heaps_end(void);

/* In the child: other threads have no heaps set any more. */
void hwi_thread_heaps_after_fork(void);

/* --- process_heap.c --- */

/* Makes malloc allocate from this heap in the calling thread; NULL: from the heap of the process. Returns false, and
 * changes nothing, if there is no memory, or if the thread is ending. */
bool hwi_process_heap_use(struct hw_heap *other);

#endif
