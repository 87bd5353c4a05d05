/* core_threads.h - the registers of threads in the notes of a core dump
 *
 * Known are x86-64 and i386. Threads of other machines are not listed: then all of each stack is taken for memory in use.
 */
#ifndef HWI_MEMORY_IMAGE_CORE_THREADS_H
#define HWI_MEMORY_IMAGE_CORE_THREADS_H

#include "memory/image/memory.h"

/* Adds the thread of a note NT_PRSTATUS. The first one has the signal that ended the process. `machine`: as e_machine of ELF. Returns
 * false if there is no memory. */
bool hwi_core_take_thread(struct hwi_memory *memory, unsigned machine, const unsigned char *bytes, size_t size);

/* Takes the vector registers of the thread that was added last, from NT_X86_XSTATE. */
void hwi_core_take_vectors(struct hwi_memory *memory, const unsigned char *bytes, size_t size);

/* Takes the thread pointer of the thread that was added last, from NT_386_TLS. */
void hwi_core_take_segments(struct hwi_memory *memory, const unsigned char *bytes, size_t size);

#endif
