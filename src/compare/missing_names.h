/* missing_names.h - modules of a run whose names can no longer be had, since their files are gone or others by now */
#ifndef HWI_COMPARE_MISSING_NAMES_H
#define HWI_COMPARE_MISSING_NAMES_H

#include "report/names/named_frames.h"

struct hwi_missing_names {
  enum hwi_symbol_reason *reasons; /* by module; HWI_SYMBOL_OK: has names, or was not in any stack */
  uint32_t count;                  /* of modules without */
  uint32_t first;                  /* one of them; 0: none */
};

/* To be released, even after a failure. */
int hwi_missing_names_init(struct hwi_missing_names *missing, const struct hwi_named_frames *frames,
                           struct hwi_error *error);
void hwi_missing_names_release(struct hwi_missing_names *missing);

#endif
