/* debug_file.h - finds the separate file that holds a module's debug information
 *
 * debug directory   a directory with such files: /usr/lib/debug of the distributions, and those that the user names.
 * by build-id       DIR/.build-id/12/3456....debug
 * by path           DIR/PATH for a module with that path, if the build-id is the same: DIR is the root folder of the
 *                   system that it ran on.
 * by name           DIR/NAME or DIR/NAME.debug for a module NAME, if the build-id is the same: an unstripped copy of
 *                   the module, or the output of objcopy --only-keep-debug.
 * by debuglink      a file name and a checksum in .gnu_debuglink, looked up in the module's directory and below each
 *                   DIR.
 * alternate file    the common parts that dwz moved out of several debug files, named by .gnu_debugaltlink.
 * Files are found on disk only: nothing is ever fetched.
 */
#ifndef HWI_SYMBOLS_DEBUG_FILE_H
#define HWI_SYMBOLS_DEBUG_FILE_H

#include "symbols/elf_file.h"

#define HWI_DEBUG_DIR "/usr/lib/debug" /* of the distributions */

struct hwi_debug_dirs {
  char **dirs;
  size_t count, capacity;
};

/* Returns DIR/.build-id/12/3456....debug, which the caller frees, or NULL if there is no memory or the length is not
 * that of a build-id. */
char *hwi_debug_path_of_build_id(const char *dir, const uint8_t *build_id, size_t bytes);

/* Each of these functions opens `file` and returns true, or leaves it unchanged and returns false. */
bool hwi_debug_file_by_build_id(struct hwi_elf_file *file, const struct hwi_debug_dirs *dirs, const uint8_t *build_id,
                                size_t bytes);
/* By path, too. */
bool hwi_debug_file_by_name(struct hwi_elf_file *file, const struct hwi_debug_dirs *dirs, const char *module_path,
                            const uint8_t *build_id, size_t bytes);
bool hwi_debug_file_by_link(struct hwi_elf_file *file, const struct hwi_debug_dirs *dirs,
                            const struct hwi_elf_file *of);

bool hwi_debug_file_alternate(struct hwi_elf_file *file, const struct hwi_debug_dirs *dirs,
                              const struct hwi_elf_file *of);

/* Returns whether a directory has an ELF file with the module's path or name, whatever its build-id. */
bool hwi_debug_file_is_named(const struct hwi_debug_dirs *dirs, const char *module_path);

#endif
