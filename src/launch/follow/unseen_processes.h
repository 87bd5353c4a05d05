/* unseen_processes.h - counts processes that run without being recorded (env -i, sudo, static programs, another user's)
 *
 * A process is counted in two cases. First, if it has no recorder and will not get one at two looks in a row: its
 * environment does not ask for the recorder, or its executable cannot load it. Second, if it has a recorder and has
 * allocated, and there is no trace: it cannot write next to the run's first trace, since it became another user or sees
 * other files. One look is not enough, because a process has neither environment nor libraries while it execs or ends.
 * A process that ends sooner is not counted here. The headers of the traces record which programs the recorded
 * processes executed; those that left no trace are added when the run is over.
 */
#ifndef HWI_LAUNCH_FOLLOW_UNSEEN_PROCESSES_H
#define HWI_LAUNCH_FOLLOW_UNSEEN_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hwi_unseen_process;

struct hwi_unseen {
  struct hwi_unseen_process *known;
  size_t count, capacity;
  uint32_t *pids; /* processes counted so far */
  size_t pid_capacity;
  uint32_t unseen; /* number of these */
  uint32_t look;   /* number of the current look */
};

struct hwi_unseen_run {
  uint32_t pid;      /* of the command */
  bool has_begun;    /* a trace exists; then the command is checked, too, as it may have executed another program */
  const char *trace; /* file name of the run's first trace. NULL: only some images are to be recorded */
};

/* Looks at the run's processes. */
void hwi_unseen_look(struct hwi_unseen *unseen, const struct hwi_unseen_run *run);

/* Returns how many counted processes are not among the `count` in `pids`. */
uint32_t hwi_unseen_count_except(const struct hwi_unseen *unseen, const uint32_t *pids, size_t count);
void hwi_unseen_release(struct hwi_unseen *unseen);

#endif
