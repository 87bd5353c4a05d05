/* smaps.h - divides the resident memory of a process by the purpose of its mappings */
#ifndef HWI_LAUNCH_TARGET_SMAPS_H
#define HWI_LAUNCH_TARGET_SMAPS_H

#include <stdio.h>

#include "trace/format.h"
#include "trace/read/proc.h"

/* Reads a smaps file to its end, and fills the sample's fields on mappings. Mappings of `trace` and of files named
 * `library` belong to the recorder. */
void hwi_smaps_read(FILE *file, const struct hwi_trace_file *trace, const char *library, struct hw_rss_sample *sample);

#endif
