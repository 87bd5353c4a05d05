/* recording.h - a recording that `heapwright live -- COMMAND` starts: a process of `heapwright record`
 *
 * The recording does not depend on the viewer: it goes on if the viewer is killed.
 */
#ifndef HWI_LIVE_RECORDING_H
#define HWI_LIVE_RECORDING_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "trace/format.h"

struct hwi_recording {
  pid_t pid;
  const char *path;
  uint8_t earlier[HW_ID_BYTES]; /* of the recording that was at the path before; zeros: none */
  bool has_ended;
  int exit_status; /* if it has ended: as a shell has it */
};

/* Starts recording a command into `path`, which must outlive it. `words`, ended by NULL: options of `heapwright record`, "--", and
 * the command. `leaves_terminal`: where the standard streams
 * are a terminal, the command gets others: /dev/null, and the files PATH.out and PATH.err. Returns 0 or a negative status. */
int hwi_recording_start(struct hwi_recording *recording, const char *path, char *const *words, bool leaves_terminal,
                        struct hwi_error *error);

/* Waits until the trace has begun. Returns false if the recording ended before, or `stop` became readable. */
bool hwi_recording_begins(struct hwi_recording *recording, int stop);

/* Returns whether it has ended. */
bool hwi_recording_has_ended(struct hwi_recording *recording);

/* Waits for the recording's end. Returns its exit status. */
int hwi_recording_end(struct hwi_recording *recording);

#endif
