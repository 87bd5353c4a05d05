/* cache_file.h - a file beside a trace that spares its readers work: it appears whole or not at all, for its owner alone
 *
 * Such a file is ours to replace or remove where it begins with its magic, or is empty, as a full disk or a crash leaves it; what
 * else has its name is the user's and stays. Anybody may delete it. Where it cannot be written there is none.
 */
#ifndef HWI_TRACE_CACHE_FILE_H
#define HWI_TRACE_CACHE_FILE_H

#include <stdbool.h>
#include <stdint.h>

enum { HWI_CACHE_MAGIC_BYTES = 8 };

struct hwi_cache_file {
  char *temporary; /* its name until it is kept */
  int fd;          /* of it; -1: not begun */
  bool is_named;   /* it has that name already */
};

/* To be read; -1: there is none. Never blocks. */
int hwi_cache_file_open(const char *path);

/* Begins to write one for `path`. False: there will be none, and nothing is to be done about `file`. */
bool hwi_cache_file_begin(struct hwi_cache_file *file, const char *path, const uint8_t magic[HWI_CACHE_MAGIC_BYTES]);

/* Puts what was written in its place. False: it could not be, and is gone. */
bool hwi_cache_file_keep(struct hwi_cache_file *file, const char *path);

/* What was written goes. One that was never begun is fine. */
void hwi_cache_file_drop(struct hwi_cache_file *file);

/* The one at `path` goes. */
void hwi_cache_file_remove(const char *path, const uint8_t magic[HWI_CACHE_MAGIC_BYTES]);

#endif
