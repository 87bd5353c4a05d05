/* units.h - sizes, durations and percentages as users write them */
#ifndef HWI_REPORT_UNITS_H
#define HWI_REPORT_UNITS_H

#include <stdbool.h>
#include <stdint.h>

/* A size as coreutils read them: a whole number, then nothing (bytes), K M G T P E or KiB MiB ... (powers of 1024), or
 * kB MB GB ... (powers of 1000). False where it is anything else or does not fit. */
bool hwi_size_parse(const char *text, uint64_t *bytes);

/* A duration: a number, which may have a fraction, then ns, us, ms, s, m, min, h or nothing (seconds). */
bool hwi_duration_parse(const char *text, uint64_t *ns);

/* A percentage: digits, which may have a fraction, and "%". */
bool hwi_percent_parse(const char *text, double *percent);

/* "N", "N..M", "N.." or "..M": sizes, both included. */
bool hwi_size_range_parse(const char *text, uint64_t *from, uint64_t *to);

#endif
