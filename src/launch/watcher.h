/* watcher.h - a process of its own that watches the traces, so that whoever waits for the command does nothing else
 *
 * Counting and packing want memory, and a limit on memory is the command's and the watcher's together (a container's). Where it
 * is reached the watcher is what the kernel should take, rather than the command, and never whoever has the command's exit
 * status to pass on. A watcher that was killed, or crashed, is followed by another when the command has ended: it packs what is
 * there.
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

/* Forks; signals are blocked, as hwi_signals_take has it. `options` are copied, what they point to is not. Where no process can be
 * made now, it is tried again when the command has ended. 0, or HW_ERR_MEMORY: nothing is to be finished. */
int hwi_watcher_start(struct hwi_watcher *watcher, const struct hwi_watch_options *options,
                      const struct hwi_signals *signals);

/* A trace of the run has been seen. No system call. */
bool hwi_watcher_has_begun(const struct hwi_watcher *watcher);

/* The command has ended: waits until its traces are packed, or as far as they are when SIGINT, SIGTERM, SIGQUIT or SIGHUP comes.
 * Releases the watcher. */
void hwi_watcher_finish(struct hwi_watcher *watcher, const struct hwi_watch_end *end,
                        struct hwi_watch_outcome *outcome);

#endif
