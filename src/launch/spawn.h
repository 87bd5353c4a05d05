/* spawn.h - starts the command: first its process, then, when all is ready, its program */
#ifndef HWI_LAUNCH_SPAWN_H
#define HWI_LAUNCH_SPAWN_H

#include <sys/types.h>

#include "launch/signals.h"

struct hwi_spawned {
  pid_t pid;
  int go;     /* a byte written here lets it go on; closing it makes it end */
  int failed; /* gives an errno when the program could not be executed, and ends when it could */
};

struct hwi_spawn_plan {
  const char *path; /* of the program */
  char **arguments;
  const struct hwi_signals *signals;
};

/* Forks. The process waits for hwi_spawn_go. 0, or -1 with errno. */
int hwi_spawn(struct hwi_spawned *spawned, const struct hwi_spawn_plan *plan);

/* Lets it execute its program with these variables set (NAME=VALUE, ended by NULL). 0, or the errno of execve. */
int hwi_spawn_go(struct hwi_spawned *spawned, char *const *variables);

/* Ends a process that was not let go. */
void hwi_spawn_cancel(struct hwi_spawned *spawned);

#endif
