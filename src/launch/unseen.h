/* unseen.h - counts processes that run without being recorded (env -i, sudo, static programs, another user's)
 *
 * A process counts when at two looks in a row it has no recorder and will not get one: its environment does not ask for it,
 * or its executable cannot have it. Or when it has one and has allocated, and there is no trace: it may not write beside the
 * run's first one, since it became another user or sees other files. One look is not enough, as a process has neither
 * environment nor libraries while it execs or ends. One that ends sooner is not noticed here; what recorded processes executed is
 * in their traces' headers, and is taken from there when the run is over.
 */
#ifndef HWI_LAUNCH_UNSEEN_H
#define HWI_LAUNCH_UNSEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hwi_unseen_process;

struct hwi_unseen {
  struct hwi_unseen_process *known;
  size_t count, capacity;
  uint32_t *pids; /* of those counted so far */
  size_t pid_capacity;
  uint32_t unseen; /* so far */
  uint32_t look;   /* number of the present one */
};

struct hwi_unseen_run {
  uint32_t pid;      /* of the command */
  bool has_begun;    /* there is a trace: the command itself is looked at, too, which may have become another program */
  const char *trace; /* file name of the run's first trace. NULL: not all images are to be recorded */
};

/* Looks at the run's processes. */
void hwi_unseen_look(struct hwi_unseen *unseen, const struct hwi_unseen_run *run);

/* How many were counted that are none of the `count` in `pids`. */
uint32_t hwi_unseen_besides(const struct hwi_unseen *unseen, const uint32_t *pids, size_t count);
void hwi_unseen_release(struct hwi_unseen *unseen);

#endif
