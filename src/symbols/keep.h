/* keep.h - copies of the files that name a module's code, for when the module is replaced or on another machine */
#ifndef HWI_SYMBOLS_KEEP_H
#define HWI_SYMBOLS_KEEP_H

#include <stddef.h>

#include "symbols/symbols.h"

/* What lies beside the recording at `path` (NAME, NAME.children or a file in it): NAME and the suffix; to be freed. NULL: no
 * memory. */
char *hwi_path_beside_recording(const char *path, const char *suffix);

/* The folder NAME.files that belongs to the recording at `path` (NAME, NAME.children or a file in it); to be freed. NULL: no
 * memory. */
char *hwi_kept_files_folder(const char *path);

/* Where the file with that build-id goes in `folder`, in folders that are made; to be freed. NULL: no memory, or errno says why the
 * folders cannot be made. */
char *hwi_kept_file_place(const char *folder, const uint8_t *build_id, size_t bytes);

struct hwi_kept_files {
  uint32_t kept;      /* copied now, or there already */
  uint32_t nameless;  /* modules without a build-id: no copy could be told to be theirs */
  uint32_t not_found; /* files that are gone, or are others by now */
  uint64_t copied_bytes;
};

/* Copies the file of `module` that has its names into `dir`, which is made, as .build-id/12/3456....debug: so debug directories
 * are laid out (debug_file.h). It appears whole or not at all. The separate debug file is copied where that has the names.
 * 0, or HW_ERR_IO or HW_ERR_MEMORY, worded; what was not copied for want of a file is counted. */
int hwi_symbols_keep(struct hwi_kept_files *files, const char *dir, const struct hwi_symbol_module *module,
                     struct hwi_error *error);

#endif
