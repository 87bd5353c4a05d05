/* compact.h - a raw trace, packed in part or not at all, to a packed file */
#ifndef HWI_LAUNCH_COMPACT_H
#define HWI_LAUNCH_COMPACT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "trace/pack.h"

struct hwi_compacted {
  uint64_t event_count;
  uint64_t bytes;     /* of the packed file */
  uint64_t raw_bytes; /* of events as the program wrote them */
};

/* Packs the trace open at `fd` (found at `from`) into a file at `to`, which may be `from`: written under a temporary name beside
 * it, and renamed when it is whole, so that `to` is always either what it was or complete. Nobody may be writing the trace.
 * On failure `from` and `to` are as they were. */
int hwi_compact(struct hwi_packer *packer, int fd, const char *from, const char *to, struct hwi_compacted *result,
                struct hwi_error *error);

#endif
