/* paths.h - paths as text: joined and made plain */
#ifndef HWI_SYMBOLS_PATHS_H
#define HWI_SYMBOLS_PATHS_H

/* `name` seen from `dir` (NULL: from nowhere), without "//", "/./" and "/../" where that needs no look at the disk. The
 * caller frees it. NULL: no memory. */
char *hwi_path_join(const char *dir, const char *name);

/* Several strings in a row; the list ends with NULL. The caller frees it. NULL: no memory. */
char *hwi_path_concat(const char *first, ...) __attribute__((sentinel));

/* What `path` has before its last slash. The caller frees it. */
char *hwi_path_parent(const char *path);

#endif
