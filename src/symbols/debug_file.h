/* debug_file.h - finds the separate file that holds a module's debug information
 *
 * debug directory   where distributions put such files: /usr/lib/debug and those that the user names.
 * by build-id       DIR/.build-id/12/3456....debug
 * by name           DIR/NAME or DIR/NAME.debug where the module is called NAME: the program before it was stripped or built anew,
 *                   or what objcopy --only-keep-debug made of it, if the build-id is the same.
 * by debuglink      a file name and a checksum in .gnu_debuglink, looked for beside the module and below each DIR.
 * alternate file    what dwz moved out of several debug files, named by .gnu_debugaltlink.
 * Files are found on disk only: nothing is ever fetched.
 */
#ifndef HWI_SYMBOLS_DEBUG_FILE_H
#define HWI_SYMBOLS_DEBUG_FILE_H

#include "symbols/elf_file.h"

#define HWI_DEBUG_DIR "/usr/lib/debug" /* the distributions' own */

struct hwi_debug_dirs {
  char **dirs;
  size_t count, capacity;
};

/* DIR/.build-id/12/3456....debug; to be freed. NULL: no memory, or no build-id is so long. */
char *hwi_debug_path_of_build_id(const char *dir, const uint8_t *build_id, size_t bytes);

/* Each opens `file` and returns true, or leaves it and returns false. */
bool hwi_debug_file_by_build_id(struct hwi_elf_file *file, const struct hwi_debug_dirs *dirs, const uint8_t *build_id,
                                size_t bytes);
bool hwi_debug_file_by_name(struct hwi_elf_file *file, const struct hwi_debug_dirs *dirs, const char *module_path,
                            const uint8_t *build_id, size_t bytes);
bool hwi_debug_file_by_link(struct hwi_elf_file *file, const struct hwi_debug_dirs *dirs,
                            const struct hwi_elf_file *of);

bool hwi_debug_file_alternate(struct hwi_elf_file *file, const struct hwi_debug_dirs *dirs,
                              const struct hwi_elf_file *of);

#endif
