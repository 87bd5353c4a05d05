/* compression.h - files that are compressed while they are written, or decompressed while they are read */
#ifndef HWI_EXPORT_COMPRESSION_H
#define HWI_EXPORT_COMPRESSION_H

#include <stddef.h>
#include <stdio.h>

#include "base/error.h"

enum hwi_compression { HWI_COMPRESSION_NONE = 0, HWI_COMPRESSION_GZIP, HWI_COMPRESSION_ZSTD };

/* Returns the compression by the suffix of `path`: ".gz" or ".zst". */
enum hwi_compression hwi_compression_of(const char *path);

/* Returns the length of `path` without that suffix. */
size_t hwi_compression_stem(const char *path);

/* Returns a stream that writes compressed data to `out`, or NULL if there is no memory. `out` stays open when the
 * stream is closed, and has all data only then. fclose fails if the data could not be written (hwi_compressed_close
 * reports why). */
FILE *hwi_compressed_open(FILE *out, enum hwi_compression compression);

/* Closes the stream; `out` stays open. Returns 0, or a negative status if compressing failed. A failed write to `out`
 * is not reported: the owner of `out` checks it. */
int hwi_compressed_close(FILE *compressed, FILE *out, struct hwi_error *error);

/* Opens a file for reading. gzip and zstd are recognized by the content; other files are read unchanged. Reading
 * damaged or truncated data fails with EBADMSG. Returns NULL with the reason in errno. */
FILE *hwi_decompressed_open(const char *path);

#endif
