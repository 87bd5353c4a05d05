/* statistics.h - what the heap of a process writes about itself if HEAPWRIGHT_STATS asks for it */
#ifndef HWI_ALLOCATORS_PROCESS_HEAP_STATISTICS_H
#define HWI_ALLOCATORS_PROCESS_HEAP_STATISTICS_H

#include "allocators/heap/layout.h"

/* Chooses where to write, "stderr" or a file, to whose end all is added, and writes the settings of the heap. From
 * then on the messages of the heap are also in the file. If it cannot be written, that is reported, and nothing more
 * is written. */
void hwi_statistics_begin(const char *to, const struct hw_heap *heap);

/* Writes the figures of the heap, and of the program's others, if begun. */
void hwi_statistics_end(struct hw_heap *heap);

/* Counts an invalid free, which is reported elsewhere. */
void hwi_statistics_count_fault(void);

#endif
