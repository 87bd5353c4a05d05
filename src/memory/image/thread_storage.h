/* thread_storage.h - where threads have the thread-local storage of the program and of libraries
 *
 * Storage that is there from the start of a thread is below its thread pointer, each module's at the same distance in all threads. That of
 * libraries which were loaded later is in blocks, which have no such distance. On CPUs
 * where the storage is above the thread pointer, it is not known.
 */
#ifndef HWI_MEMORY_IMAGE_THREAD_STORAGE_H
#define HWI_MEMORY_IMAGE_THREAD_STORAGE_H

#include "memory/image/modules.h"

/* All zero, except for the first two members: nothing was searched. */
struct hwi_thread_storage {
  const struct hwi_memory *memory;
  const struct hwi_core_modules *modules;
  uint64_t *
      below; /* of each module: how far below a thread pointer its storage begins; 0: it has none, or it is not known */
};

/* Returns the module that has the storage `below` bytes below a thread pointer, or NULL; *off is the place in it. The first call reads
 * all writable memory. */
const struct hwi_core_module *hwi_thread_storage_at(struct hwi_thread_storage *storage, uint64_t below, uint64_t *off);

void hwi_thread_storage_release(struct hwi_thread_storage *storage);

#endif
