/* heaps.h - heaps that the program gives out itself (heapwright/monitor.h), as events of their thread's stream
 *
 * All functions are async-signal-safe and do not change errno. An event that cannot be recorded counts as lost. A heap
 * has no memory here: its number and name are in the program's own structure.
 */
#ifndef HWI_RECORD_EVENTS_HEAPS_H
#define HWI_RECORD_EVENTS_HEAPS_H

#include <stdint.h>

#include "heapwright/detail/monitor_table.h"
#include "record/record.h"

void hwi_heap_create(struct hw_custom_heap *heap, uint32_t name);

/* `block` NULL: the heap had no room. While recording is paused, nothing is recorded, as of malloc. */
void hwi_heap_alloc(const struct hw_custom_heap *heap, const struct hwi_caller *caller, const void *block,
                    uint64_t size);
void hwi_heap_free(const struct hw_custom_heap *heap, const void *block);
void hwi_heap_reset(const struct hw_custom_heap *heap);

/* Also empties the structure. */
void hwi_heap_destroy(struct hw_custom_heap *heap);

#endif
