/* cache_file.h - a cache file next to a trace: it appears whole or not at all, and only its owner can access it
 *
 * A cache file is replaced or removed only if it begins with its magic, or is empty, as after a full disk or a
 * crash. Any other file of this name is the user's and stays. A cache file may be deleted at any time. If it cannot be
 * written, there is none.
 */
#ifndef HWI_TRACE_CACHE_FILE_H
#define HWI_TRACE_CACHE_FILE_H

#include <stdbool.h>
#include <stdint.h>

enum { HWI_CACHE_MAGIC_BYTES = 8 };

struct hwi_cache_file {
  char *temporary; /* the file's name until hwi_cache_file_commit */
  int fd;          /* -1: not begun */
  bool is_named;   /* the file has the temporary name already */
};

/* Opens the file for reading. Returns the descriptor, or -1 if there is no such file. Never blocks. */
int hwi_cache_file_open(const char *path);

/* Begins to write a cache file for `path`. Returns false if there will be none; then `file` needs no further call. */
bool hwi_cache_file_begin(struct hwi_cache_file *file, const char *path, const uint8_t magic[HWI_CACHE_MAGIC_BYTES]);

/* Moves the written file to `path`. Returns false if that failed; the file is then removed. */
bool hwi_cache_file_commit(struct hwi_cache_file *file, const char *path);

/* Discards the written file. A `file` that was never begun is allowed. */
void hwi_cache_file_discard(struct hwi_cache_file *file);

/* Removes the cache file at `path`. */
void hwi_cache_file_remove(const char *path, const uint8_t magic[HWI_CACHE_MAGIC_BYTES]);

#endif
