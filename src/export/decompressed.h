/* decompressed.h - reads files that may be compressed */
#ifndef HWI_EXPORT_DECOMPRESSED_H
#define HWI_EXPORT_DECOMPRESSED_H

#include <stdio.h>

/* Opens a file for reading. gzip and zstd are recognized by the content; other files are read unchanged. Reading
 * damaged or truncated data fails with EBADMSG. Returns NULL with the reason in errno. */
FILE *hwi_decompressed_open(const char *path);

#endif
