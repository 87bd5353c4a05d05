/* smaps.h - what the resident memory of a process is there for, by its mappings */
#ifndef HWI_LAUNCH_SMAPS_H
#define HWI_LAUNCH_SMAPS_H

#include <stdio.h>

#include "trace/format.h"
#include "trace/proc.h"

/* Reads a smaps file to its end: fills what the sample says of mappings. `trace` and what is called `library` are the recorder's. */
void hwi_smaps_read(FILE *file, const struct hwi_trace_file *trace, const char *library, struct hw_rss_sample *sample);

#endif
