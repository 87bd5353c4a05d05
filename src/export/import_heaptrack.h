/* import_heaptrack.h - common code for heaptrack's raw and interpreted recordings (private to export/) */
#ifndef HWI_EXPORT_IMPORT_HEAPTRACK_H
#define HWI_EXPORT_IMPORT_HEAPTRACK_H

#include "export/import_foreign.h"

/* Reads the next hexadecimal number of a line and moves *at after it. */
bool hwi_heaptrack_number(char **at, uint64_t *value);

/* Takes lines that are the same in both: the command (X), moments (c), RSS (R) in pages (I), and ignored ones. Returns
 * false if the line is invalid. */
bool hwi_heaptrack_take_common(uint64_t *page_bytes, struct hwi_synthetic *trace, char *line);

/* Returns whether strings come before the lines that a raw recording begins with. `kinds` are the first bytes of the
 * lines after the first one. */
bool hwi_heaptrack_is_interpreted(const char *first_line, const char *kinds);

#endif
