/* core_file.h - reads the memory of a process from an ELF core dump */
#ifndef HWI_MEMORY_IMAGE_CORE_FILE_H
#define HWI_MEMORY_IMAGE_CORE_FILE_H

#include "memory/image/memory.h"

/* Returns whether the file is an ELF core dump that is not compressed. */
bool hwi_core_file_is(const char *path);

/* Opens a core dump of a 32-bit or 64-bit process of either byte order. Its bytes are mapped, not copied. A truncated file
 * has what is left of it. A compressed one is decompressed into TMPDIR. Returns 0 or a negative status. */
int hwi_core_file_open(struct hwi_memory *memory, const char *path, struct hwi_error *error);

/* The same for the newest core dump that systemd holds of `match`: a PID, or the name or path of a program. */
int hwi_core_file_open_stored(struct hwi_memory *memory, const char *match, struct hwi_error *error);

#endif
