/* unpack.h - makes a plain file of a compressed one, and of a core dump that systemd holds */
#ifndef HWI_MEMORY_IMAGE_UNPACK_H
#define HWI_MEMORY_IMAGE_UNPACK_H

#include "base/error.h"

/* Decompresses an open file if it begins as a file of zstd, gzip, lz4 or xz does, into a file without a name in TMPDIR (else
 * /var/tmp); pages of zeros become holes. Closes `fd`. Returns the descriptor to read, which is `fd` if the file is not
 * compressed, or a negative status. lz4 and xz are decompressed by the programs of these names. */
int hwi_unpack(int fd, const char *path, struct hwi_error *error);

/* Gets the newest core dump that `coredumpctl` finds for `match` (a PID, a program's name or path), in the same way. Returns a
 * descriptor or a negative status. */
int hwi_unpack_stored(const char *match, struct hwi_error *error);

#endif
