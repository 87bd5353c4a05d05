/* signals.h - how the launcher handles signals, and restores the original signal state for the command
 *
 * The command stays in the launcher's process group, so it also gets the signals that the terminal sends (SI_KERNEL).
 * Signals that are sent to the launcher alone are passed on. All signals are blocked and taken one by one, except those
 * for the launcher's own faults.
 */
#ifndef HWI_LAUNCH_START_SIGNALS_H
#define HWI_LAUNCH_START_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct hwi_signals {
  sigset_t blocked;                        /* while the launcher works */
  sigset_t original;                       /* mask for the command */
  struct sigaction child, file_size, pipe; /* dispositions for the command */
};

/* Blocks the signals, and stores the state that the command gets. */
void hwi_signals_take(struct hwi_signals *signals);

/* Restores mask and dispositions. To be called in the command's process, before exec. */
void hwi_signals_give_back(const struct hwi_signals *signals);

/* Waits for a signal for at most `timeout_ns` and handles it for the command `pid`: passes it on, or not. */
void hwi_signals_wait(const struct hwi_signals *signals, pid_t pid, uint64_t timeout_ns);

/* Waits for a signal for at most `timeout_ns` and takes all pending ones without handling them. Returns the set of
 * these. */
sigset_t hwi_signals_drop(const struct hwi_signals *signals, uint64_t timeout_ns);

/* The command was stopped by `signal`: stops this process, too, until it is continued. Does nothing if no process would
 * continue it. */
void hwi_signals_stop_like(int signal);

#endif
