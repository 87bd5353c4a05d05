/* terminal.h - the heap of a running program on a terminal, like top */
#ifndef HWI_LIVE_TERMINAL_TERMINAL_H
#define HWI_LIVE_TERMINAL_TERMINAL_H

#include "live/analyst.h"

/* Returns 0, or a negative status if the next function could not show anything on standard output. */
int hwi_terminal_check(struct hwi_error *error);

/* Shows what the analyst knows of the run at `trace` until the user ends it or `stop_fd` becomes readable. Returns 0 or a
 * negative status; the terminal is then as it was. */
int hwi_terminal_run(const struct hwi_analyst *analyst, const char *trace, int stop_fd, struct hwi_error *error);

/* Prints one screen of rows on standard output, without control characters. */
int hwi_terminal_print(const struct hwi_analyst *analyst, struct hwi_error *error);

#endif
