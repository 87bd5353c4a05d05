/* spawn.h - starts the command: first its process, and its program when all is ready */
#ifndef HWI_LAUNCH_START_SPAWN_H
#define HWI_LAUNCH_START_SPAWN_H

#include <sys/types.h>

#include "launch/start/signals.h"

struct hwi_spawned {
  pid_t pid;
  int go;     /* writing a byte here lets the process go on; closing it makes it end */
  int failed; /* yields an errno if the program could not be executed, and end of file if it could */
};

struct hwi_spawn_plan {
  const char *path; /* of the program */
  char **arguments;
  const struct hwi_signals *signals;
};

/* Forks. The new process waits for hwi_spawn_go. Returns 0, or -1 with errno set. */
int hwi_spawn(struct hwi_spawned *spawned, const struct hwi_spawn_plan *plan);

/* Lets the process execute its program with these variables set (NAME=VALUE, ended by NULL). Returns 0, or the errno of
 * execve. */
int hwi_spawn_go(struct hwi_spawned *spawned, char *const *variables);

/* Ends a process that waits for hwi_spawn_go. */
void hwi_spawn_cancel(struct hwi_spawned *spawned);

#endif
