/* compact.h - turns a raw trace, partly packed or not packed at all, into a packed file: all of it, or what it had at a
 * moment */
#ifndef HWI_LAUNCH_PACK_COMPACT_H
#define HWI_LAUNCH_PACK_COMPACT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "trace/pack/pack.h"

struct hwi_compacted {
  uint64_t event_count;
  uint64_t bytes; /* of the packed file */
};

/* What a trace had at a moment that is certain: no older event is still being written. */
struct hwi_cut {
  struct hw_trace_header header; /* as it was then; its state says whether the program went on */
  uint64_t tick;                 /* events from here on are left out; UINT64_MAX: it had ended */
  uint64_t monotonic_ns;         /* later records of tools are left out */
};

struct hwi_compaction {
  struct hwi_packer *packer; /* its effort is the caller's choice */
  int fd;                    /* of the trace, for reading */
  const char *from;          /* path of the trace */
  const char *to;            /* may be `from` */
  bool (*interrupted)(void); /* called between pieces of work; if it returns true, compaction fails. May be NULL */
  const struct hwi_cut *cut; /* NULL: all of it */
};

/* Packs a trace. If it is not cut, no process may be writing it; but it may be packed meanwhile. The packed file is written under a temporary name in the folder of `to`
 * (a file that a killed process left under that name is replaced) and renamed when it is complete. So `to` is always
 * either the old file or the complete new one; if a new recording has taken the name of `from`, it stays (HW_ERR_BUSY).
 * Returns 0 or a negative status. On failure `from` and `to` are
 * unchanged. */
int hwi_compact(const struct hwi_compaction *compaction, struct hwi_compacted *result, struct hwi_error *error);

#endif
