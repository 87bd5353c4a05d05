/* core_threads.h - the registers of threads in the notes of a core dump
 *
 * The layout of registers is known for the CPUs of platform/machine.h. Threads of others are not listed: then all of each stack is
 * taken for memory in use.
 */
#ifndef HWI_MEMORY_IMAGE_CORE_THREADS_H
#define HWI_MEMORY_IMAGE_CORE_THREADS_H

#include "memory/image/memory.h"

/* Adds the thread of a note NT_PRSTATUS. The first one has the signal that ended the process. `machine` may be NULL. Returns false if
 * there is no memory. */
bool hwi_core_take_thread(struct hwi_memory *memory, const struct hwi_machine *machine, const unsigned char *bytes,
                          size_t size);

/* Takes a note that follows that of the thread, if it is one of its CPU: vector registers, its thread pointer. */
void hwi_core_take_more_of_thread(struct hwi_memory *memory, uint32_t note, const unsigned char *bytes, size_t size);

#endif
