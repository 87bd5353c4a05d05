/* saving.h - saves the recording up to now as a trace of its own, in a process that the server does not wait for */
#ifndef HWI_LIVE_SAVING_H
#define HWI_LIVE_SAVING_H

#include "live/analyst.h"

struct hwi_saving {
  pid_t pid;    /* 0: nothing is being saved */
  int ended;    /* readable when it has ended; -1: nothing is being saved */
  int document; /* what it writes: {"path":TEXT,"until_ns":N}, or why it failed */
};

/* Begins to save the run at `path` next to it, as NAME.saved-PID-N.hwt, with the viewer's process ID. Returns false with errno if it cannot begin. */
bool hwi_saving_begin(struct hwi_saving *saving, const char *path);

/* Takes the answer when it has ended. */
void hwi_saving_take(struct hwi_saving *saving, struct hwi_live_answer *answer);

/* Ends what is not complete, without a trace of it. */
void hwi_saving_stop(struct hwi_saving *saving);

#endif
