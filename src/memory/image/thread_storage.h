/* thread_storage.h - where threads have the thread-local storage of the program and of libraries
 *
 * Storage that is there from the start of a thread is below its thread pointer, or above it on some CPUs, each module's at the same
 * distance in all threads. That of libraries which were loaded later is in blocks; glibc has a list of them for each thread.
 */
#ifndef HWI_MEMORY_IMAGE_THREAD_STORAGE_H
#define HWI_MEMORY_IMAGE_THREAD_STORAGE_H

#include "memory/image/modules.h"

/* Where threads have the storage of a module. */
struct hwi_module_storage {
  uint64_t
      below; /* so far below the thread pointer, as a negative number above it; 0: it has none there, or that is not known */
  uint64_t number; /* else: of the block in each thread's list; 0: not known */
};

/* All zero, except for the first two members: nothing was searched. */
struct hwi_thread_storage {
  const struct hwi_memory *memory;
  const struct hwi_core_modules *modules;
  struct hwi_module_storage *of; /* each module */
  size_t program;                /* its index */
  bool is_searched;              /* for that of libraries: all writable memory was read */
};

/* Returns the module that has the storage `below` bytes below a thread pointer, or NULL; *off is the place in it. */
const struct hwi_core_module *hwi_thread_storage_at(struct hwi_thread_storage *storage, uint64_t below, uint64_t *off);

/* Returns the address of the storage that a thread has for a module, both by their index, or 0: it has none, or that is not known. */
uint64_t hwi_thread_storage_of(struct hwi_thread_storage *storage, size_t module, size_t thread);

void hwi_thread_storage_release(struct hwi_thread_storage *storage);

#endif
