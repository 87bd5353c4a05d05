/* module_bytes.h - bytes of programs and libraries: those in memory, or else those in the file of the module
 *
 * A core dump leaves out what is mapped from a file and was never written to: read-only data, such as texts. It is read from the
 * file, if that is still the one that ran.
 */
#ifndef HWI_MEMORY_IMAGE_MODULE_BYTES_H
#define HWI_MEMORY_IMAGE_MODULE_BYTES_H

#include "memory/image/modules.h"

struct hwi_module_contents;

/* All zero, except for the first two members: nothing was read. */
struct hwi_module_bytes {
  const struct hwi_memory *memory;
  const struct hwi_core_modules *modules;
  struct hwi_memory_reader reader;
  struct hwi_module_contents *files; /* of each module */
};

/* Returns the `count` bytes at an address of the process, or NULL if they are not known. They are valid until the release. */
const unsigned char *hwi_module_bytes_at(struct hwi_module_bytes *bytes, uint64_t address, uint64_t count);

/* Reads the word at an address. Returns false if it is not known. */
bool hwi_module_word(struct hwi_module_bytes *bytes, uint64_t address, uint64_t *word);

void hwi_module_bytes_release(struct hwi_module_bytes *bytes);

#endif
