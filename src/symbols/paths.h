/* paths.h - paths as text: joins and normalizes them */
#ifndef HWI_SYMBOLS_PATHS_H
#define HWI_SYMBOLS_PATHS_H

/* Returns the path of `name` relative to `dir` (NULL: unchanged), without "//", "/./" and "/../", as far as that is
 * possible without the file system. The caller frees it. Returns NULL if there is no memory. */
char *hwi_path_join(const char *dir, const char *name);

/* Concatenates several strings; the list ends with NULL. The caller frees the result. Returns NULL if there is no
 * memory. */
char *hwi_path_concat(const char *first, ...) __attribute__((sentinel));

/* Returns the part of `path` before its last slash. The caller frees it. */
char *hwi_path_parent(const char *path);

#endif
