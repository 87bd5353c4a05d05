/* missing_names.h - modules of a run without names, since their files are gone or were replaced */
#ifndef HWI_COMPARE_MISSING_NAMES_H
#define HWI_COMPARE_MISSING_NAMES_H

#include "report/names/named_frames.h"

struct hwi_missing_names {
  enum hwi_symbol_reason *reasons; /* by module; HWI_SYMBOL_OK: has names, or occurs in no stack */
  uint32_t count;                  /* of modules without names */
  uint32_t first;                  /* one of them; 0: none */
};

/* Release `missing` even after a failure. */
int hwi_missing_names_init(struct hwi_missing_names *missing, const struct hwi_named_frames *frames,
                           struct hwi_error *error);
void hwi_missing_names_release(struct hwi_missing_names *missing);

#endif
