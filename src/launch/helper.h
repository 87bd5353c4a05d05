/* helper.h - runs heapwright-conform, the program that a malloc is tried with, and keeps what it says */
#ifndef HWI_LAUNCH_HELPER_H
#define HWI_LAUNCH_HELPER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct hwi_helper_run {
  const char *const *arguments; /* behind its name, ended by NULL */
  const char *preload;          /* LD_PRELOAD; NULL: none */
  unsigned seconds;             /* after so long it is killed, with all that it started */
  unsigned idle_seconds;        /* and after so long in which it has not used the processor */
};

struct hwi_helper_end {
  int wait_status;
  bool is_late; /* it was killed */
  uint64_t duration_ns;
  char said[512];       /* on stdout, cut where it is longer */
  char complained[512]; /* on stderr */
};

/* 0, or negative where it could not be started. */
int hwi_helper_run(const struct hwi_helper_run *run, struct hwi_helper_end *end, struct hwi_error *error);

#endif
