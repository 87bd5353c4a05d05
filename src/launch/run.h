/* run.h - a command on another allocator, in the caller's place */
#ifndef HWI_LAUNCH_RUN_H
#define HWI_LAUNCH_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define HWI_RUN_POOL_DEFAULT UINT64_MAX

struct hwi_run_options {
  const char *allocator;        /* as hwi_allocator_find has it */
  bool children;                /* what the command starts has it, too */
  uint64_t pool_bytes;          /* of the pool of tlsf at the start, or HWI_RUN_POOL_DEFAULT */
  bool pool_stats;              /* tlsf prints its figures when the command ends */
  const char *const *variables; /* NAME=VALUE for the command */
  size_t variable_count;
  /* Told before the command starts. */
  void (*warn)(const char *format, ...) __attribute__((format(printf, 1, 2)));
};

/* Becomes the command, which is ended by NULL and has at least one word. Returns only where that fails: an HWI_LAUNCH_* exit
 * status, with the reason in *error. */
int hwi_run(const struct hwi_run_options *options, char **command, struct hwi_error *error);

#endif
