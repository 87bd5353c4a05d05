/* monitor_process.h - watches the traces in a separate process, so that the process that waits for the command does
 * nothing else
 *
 * Counting and packing need memory, and in a container one memory limit applies to the command and the monitor process
 * together. When that limit is reached, the kernel should kill the monitor process rather than the command, and never
 * the launcher, which has to pass on the command's exit status. If a monitor process is killed or crashes, a second one
 * starts when the command has ended, and packs the traces.
 */
#ifndef HWI_LAUNCH_START_MONITOR_PROCESS_H
#define HWI_LAUNCH_START_MONITOR_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "launch/follow/monitor.h"
#include "launch/start/signals.h"

struct hwi_monitor_process_page;

struct hwi_monitor_process {
  struct hwi_monitor_options options;
  const struct hwi_signals *signals;
  struct hwi_monitor_process_page *page; /* shared with the process */
  pid_t pid;
};

/* Forks. Signals must be blocked, as hwi_signals_take does it. `options` are copied, but not what they point to. If no
 * process can be made now, it is tried again when the command has ended. Returns 0, or HW_ERR_MEMORY: then
 * hwi_monitor_process_finish must not be called. */
int hwi_monitor_process_start(struct hwi_monitor_process *monitor_process, const struct hwi_monitor_options *options,
                              const struct hwi_signals *signals);

/* Returns true if a trace of the run has been seen. Makes no system call. */
bool hwi_monitor_process_has_begun(const struct hwi_monitor_process *monitor_process);

/* To be called when the command has ended. Waits until its traces are packed; SIGINT, SIGTERM, SIGQUIT or SIGHUP ends
 * the packing early. Releases the monitor_process. */
void hwi_monitor_process_finish(struct hwi_monitor_process *monitor_process, const struct hwi_monitor_end *end,
                                struct hwi_monitor_outcome *outcome);

#endif
