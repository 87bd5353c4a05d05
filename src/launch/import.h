/* import.h - packs a recording that was left raw: with LD_PRELOAD alone, --no-pack, or when its launcher was killed */
#ifndef HWI_LAUNCH_IMPORT_H
#define HWI_LAUNCH_IMPORT_H

#include <stdint.h>

#include "base/error.h"

struct hwi_imported {
  uint32_t trace_count;
  uint32_t unreadable; /* files next to them that are not traces of this run; they are left in place */
  uint64_t event_count, packed_bytes;
};

/* Packs the run at `from`, with its children, into `to` and `to`.children. `to` may be `from`: then each trace is
 * replaced. An earlier trace at `to` is replaced; any other file there is an error. Returns 0 or a negative status. */
int hwi_import(const char *from, const char *to, struct hwi_imported *imported, struct hwi_error *error);

#endif
