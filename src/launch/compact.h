/* compact.h - a raw trace, packed in part or not at all, to a packed file */
#ifndef HWI_LAUNCH_COMPACT_H
#define HWI_LAUNCH_COMPACT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "trace/pack.h"

struct hwi_compacted {
  uint64_t event_count;
  uint64_t bytes; /* of the packed file */
};

struct hwi_compaction {
  struct hwi_packer *packer; /* with the effort that it has */
  int fd;                    /* of the trace, for reading */
  const char *from;          /* where it was found */
  const char *to;            /* may be `from` */
  bool (*interrupted)(void); /* asked between pieces of work; true ends it as a failure. NULL: nothing does */
};

/* Packs a trace into a file that is written under a temporary name beside `to`, in place of one that somebody left there who was
 * killed, and renamed when it is whole, so that `to` is always either what it was or complete. Nobody may be writing the trace. On
 * failure `from` and `to` are as they were. */
int hwi_compact(const struct hwi_compaction *compaction, struct hwi_compacted *result, struct hwi_error *error);

#endif
