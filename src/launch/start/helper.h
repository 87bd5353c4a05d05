/* helper.h - runs heapwright-conform, the program that tests a malloc, and captures its output */
#ifndef HWI_LAUNCH_START_HELPER_H
#define HWI_LAUNCH_START_HELPER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct hwi_helper_run {
  const char *const *arguments; /* without the program's name, ended by NULL */
  const char *preload;          /* LD_PRELOAD; NULL: none */
  unsigned seconds;             /* time limit: it is killed then, with all processes that it started */
  unsigned idle_seconds;        /* limit for the time in which it does not use the processor */
};

struct hwi_helper_end {
  int wait_status;
  bool is_late; /* it was killed */
  uint64_t duration_ns;
  char said[512];       /* on stdout; truncated if longer */
  char complained[512]; /* on stderr */
};

/* Returns 0, or a negative hw_error if it could not be started. */
int hwi_helper_run(const struct hwi_helper_run *run, struct hwi_helper_end *end, struct hwi_error *error);

#endif
