/* import_heaptrack.h - what heaptrack's raw and its interpreted recordings have in common (private to export/) */
#ifndef HWI_EXPORT_IMPORT_HEAPTRACK_H
#define HWI_EXPORT_IMPORT_HEAPTRACK_H

#include "export/import_foreign.h"

/* The next number of a line, in hexadecimal; *at moves behind it. */
bool hwi_heaptrack_number(char **at, uint64_t *value);

/* Lines that are the same in both: the command (X), moments (c), RSS (R) in pages (I), and what is of no use here. False: it makes
 * no sense. */
bool hwi_heaptrack_take_common(uint64_t *page_bytes, struct hwi_synthetic *trace, char *line);

/* Whether strings come before all that a raw recording begins with. `kinds`: the first bytes of the lines behind the first. */
bool hwi_heaptrack_is_interpreted(const char *first_line, const char *kinds);

#endif
