/* unseen.h - counts descendants that run without the recorder (env -i, sudo, static programs)
 *
 * A process counts when at two looks in a row it has no recorder and will not get one: its environment does not ask for it,
 * or its executable cannot have it. One look is not enough, since a process has neither environment nor libraries while it
 * execs or ends. One that ends sooner is not noticed.
 */
#ifndef HWI_LAUNCH_UNSEEN_H
#define HWI_LAUNCH_UNSEEN_H

#include <stddef.h>
#include <stdint.h>

struct hwi_unseen_process;

struct hwi_unseen {
  struct hwi_unseen_process *known;
  size_t count, capacity;
  uint32_t unseen; /* so far */
  uint32_t look;   /* number of the present one */
};

/* Looks at the descendants of `pid`. */
void hwi_unseen_look(struct hwi_unseen *unseen, uint32_t pid);
void hwi_unseen_release(struct hwi_unseen *unseen);

#endif
