/* modules.h - the program and the libraries that a process had mapped */
#ifndef HWI_MEMORY_IMAGE_MODULES_H
#define HWI_MEMORY_IMAGE_MODULES_H

#include "memory/image/memory.h"

enum { HWI_CORE_BUILD_ID_BYTES = 20 };

struct hwi_core_module {
  const char *path;     /* borrowed from the memory, or of `paths` */
  uint64_t begin, end;  /* of its regions */
  uint64_t bias;        /* run-time address - bias = address in the file */
  uint64_t local_begin; /* address in the file of what thread-local storage begins with */
  uint64_t local_file_bytes, local_bytes, local_align; /* bytes: 0: the module has no such storage */
  uint8_t build_id[HWI_CORE_BUILD_ID_BYTES];
  uint8_t build_id_bytes; /* 0: unknown */
};

/* All zero: none. In the order of their addresses. */
struct hwi_core_modules {
  struct hwi_core_module *modules;
  size_t count, capacity;
  char **paths; /* below the sysroot: of modules that were found there */
  size_t path_count, path_capacity;
};

/* Finds the ELF files among the mapped files, by their headers, which a core dump usually has; else those of the files on
 * disk. `sysroot` is a folder with the files of the machine on which the process ran, or NULL: a module that is there, with the same
 * build-id, has its path there. Returns false if there is no memory. */
bool hwi_core_modules_find(struct hwi_core_modules *modules, const struct hwi_memory *memory, const char *sysroot);

/* Returns whether both have the same build-id. */
bool hwi_core_module_is_same(const struct hwi_core_module *a, const struct hwi_core_module *b);

/* Reads the headers of a file on disk, as if it were loaded at 0. Returns whether it is an ELF file that can be loaded. */
bool hwi_core_module_read(struct hwi_core_module *module, const char *path);

/* Returns whether the file at the module's path can be read, and is the one that ran: it has the same build-id, or both have none. */
bool hwi_core_module_is_file(const struct hwi_core_module *module);

/* Returns whether the module's name is that of a library. */
bool hwi_core_module_is_library(const struct hwi_core_module *module);

/* Adds a program that is linked for fixed addresses, for memory of which no mapped file is known. Does nothing if it is no such
 * program. Returns false if there is no memory. */
bool hwi_core_modules_add_fixed(struct hwi_core_modules *modules, const char *path);

void hwi_core_modules_release(struct hwi_core_modules *modules);

/* Returns the module that contains the address, or NULL. */
const struct hwi_core_module *hwi_core_modules_of(const struct hwi_core_modules *modules, uint64_t address);

#endif
