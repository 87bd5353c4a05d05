/* symbol_files.h - copies the files with a module's symbols, for later reports when the module was replaced or is on
 * another machine */
#ifndef HWI_SYMBOLS_SYMBOL_FILES_H
#define HWI_SYMBOLS_SYMBOL_FILES_H

#include <stddef.h>

#include "symbols/symbols.h"

/* Returns NAME and the suffix, for a file next to the recording at `path` (NAME, NAME.children or a file in it). The
 * caller frees it. Returns NULL if there is no memory. */
char *hwi_path_next_to_recording(const char *path, const char *suffix);

/* Returns the folder NAME.files of the recording at `path` (as above). The caller frees it. Returns NULL if there is no
 * memory. */
char *hwi_symbol_files_folder(const char *path);

/* Returns the path of the file with that build-id in `folder`, and makes the folders for it. The caller frees it.
 * Returns NULL if there is no memory, or the folders cannot be made (errno is set). */
char *hwi_symbol_file_place(const char *folder, const uint8_t *build_id, size_t bytes);

struct hwi_symbol_files {
  uint32_t copied;    /* now, or before */
  uint32_t nameless;  /* modules without a build-id: a copy could not be matched to them */
  uint32_t not_found; /* files that do not exist any more, or were replaced */
  uint64_t copied_bytes;
};

/* Copies the file with the symbols of `module`, which may be its separate debug file, to .build-id/12/3456....debug in
 * `dir`. That is the layout of debug directories (debug_file.h). Folders are made as needed. The copy appears whole or
 * not at all. Returns 0, HW_ERR_IO or HW_ERR_MEMORY, with a message in *error; a module whose file was not found is
 * only counted. */
int hwi_symbol_files_copy(struct hwi_symbol_files *files, const char *dir, const struct hwi_symbol_module *module,
                          struct hwi_error *error);

#endif
