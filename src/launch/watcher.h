/* watcher.h - watches the traces in a separate process, so that the process that waits for the command does nothing
 * else
 *
 * Counting and packing need memory, and in a container one memory limit applies to the command and the watcher
 * together. When that limit is reached, the kernel should kill the watcher rather than the command, and never the
 * launcher, which has to pass on the command's exit status. If a watcher is killed or crashes, a second one starts when
 * the command has ended, and packs the traces.
 */
#ifndef HWI_LAUNCH_WATCHER_H
#define HWI_LAUNCH_WATCHER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "launch/signals.h"
#include "launch/watch.h"

struct hwi_watcher_page;

struct hwi_watcher {
  struct hwi_watch_options options;
  const struct hwi_signals *signals;
  struct hwi_watcher_page *page; /* shared with the process */
  pid_t pid;
};

/* Forks. Signals must be blocked, as hwi_signals_take does it. `options` are copied, but not what they point to. If no
 * process can be made now, it is tried again when the command has ended. Returns 0, or HW_ERR_MEMORY: then
 * hwi_watcher_finish must not be called. */
int hwi_watcher_start(struct hwi_watcher *watcher, const struct hwi_watch_options *options,
                      const struct hwi_signals *signals);

/* Returns true if a trace of the run has been seen. Makes no system call. */
bool hwi_watcher_has_begun(const struct hwi_watcher *watcher);

/* To be called when the command has ended. Waits until its traces are packed; SIGINT, SIGTERM, SIGQUIT or SIGHUP ends
 * the packing early. Releases the watcher. */
void hwi_watcher_finish(struct hwi_watcher *watcher, const struct hwi_watch_end *end,
                        struct hwi_watch_outcome *outcome);

#endif
