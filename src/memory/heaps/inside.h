/* inside.h - the threads that stopped inside of an allocator: what they were changing may be inconsistent, and is no damage
 *
 * A thread is inside if its program counter is in the allocator's library, or if one of the words next to its stack pointer is an address
 * there: it is in a function that was called from there, and copies or waits for a lock. Not the thread that got the signal of a crash:
 * it would not have gone on.
 */
#ifndef HWI_MEMORY_HEAPS_INSIDE_H
#define HWI_MEMORY_HEAPS_INSIDE_H

#include "memory/image/memory.h"

/* All zero: there are none. */
struct hwi_inside {
  uint64_t *thread_pointers; /* sorted */
  size_t count;
};

/* `library` is the begin of its file's name, after a slash: "/libjemalloc". Takes logarithmic time for each thread. Returns false if
 * there is no memory. */
bool hwi_inside_find(struct hwi_inside *inside, const struct hwi_memory *memory, const char *library);

/* Returns whether the thread with that thread pointer is one of them. Takes logarithmic time. */
bool hwi_inside_has(const struct hwi_inside *inside, uint64_t thread_pointer);

void hwi_inside_release(struct hwi_inside *inside);

#endif
