/* exec_command.h - replaces the calling process by a command that runs on another allocator */
#ifndef HWI_LAUNCH_START_EXEC_COMMAND_H
#define HWI_LAUNCH_START_EXEC_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define HWI_EXEC_POOL_DEFAULT UINT64_MAX

struct hwi_exec_options {
  const char *allocator;        /* from hwi_allocator_find */
  bool children;                /* processes that the command starts use it, too */
  uint64_t pool_bytes;          /* initial size of tlsf's pool, or HWI_EXEC_POOL_DEFAULT */
  bool stats;                   /* tlsf and heap print their statistics when the command ends */
  const char *const *variables; /* NAME=VALUE for the command */
  size_t variable_count;
  /* Called with each warning, before the command starts. */
  void (*warn)(const char *format, ...) __attribute__((format(printf, 1, 2)));
};

/* Executes `command`, which is ended by NULL and has at least one word. Returns only on failure: an HWI_LAUNCH_* exit
 * status, with the reason in *error. */
int hwi_exec_command(const struct hwi_exec_options *options, char **command, struct hwi_error *error);

#endif
