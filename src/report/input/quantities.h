/* quantities.h - durations, percentages and ranges of sizes as users write them */
#ifndef HWI_REPORT_INPUT_QUANTITIES_H
#define HWI_REPORT_INPUT_QUANTITIES_H

#include <stdbool.h>
#include <stdint.h>

/* The functions return whether `text` is valid. */

/* A duration: a number, which may have a fraction, then ns, us, ms, s, m, min, h or nothing (seconds). */
bool hwi_duration_parse(const char *text, uint64_t *ns);

/* A percentage: digits, which may have a fraction, and "%". */
bool hwi_percent_parse(const char *text, double *percent);

/* "N", "N..M", "N.." or "..M": sizes (base/size_text.h), both included. */
bool hwi_size_range_parse(const char *text, uint64_t *from, uint64_t *to);

#endif
