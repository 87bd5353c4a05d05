/* signals.h - what the launcher does with signals, and how the command gets its own as the launcher found them
 *
 * The command stays in the launcher's process group, so that what the terminal sends (SI_KERNEL) reaches it anyway; what is
 * sent to the launcher alone is passed on. All signals but those of the launcher's own faults are blocked and taken one by one.
 */
#ifndef HWI_LAUNCH_SIGNALS_H
#define HWI_LAUNCH_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct hwi_signals {
  sigset_t blocked;                        /* while the launcher works */
  sigset_t original;                       /* the mask to give to the command */
  struct sigaction child, file_size, pipe; /* dispositions to give to the command */
};

void hwi_signals_take(struct hwi_signals *signals);

/* In the command's process, before exec. */
void hwi_signals_give_back(const struct hwi_signals *signals);

/* Waits for a signal for at most `timeout_ns` and does what is to be done for the command `pid` (passes it on, or not). */
void hwi_signals_wait(const struct hwi_signals *signals, pid_t pid, uint64_t timeout_ns);

/* Waits for a signal for at most `timeout_ns`, takes all that wait, and does nothing about them. Returns them. */
sigset_t hwi_signals_drop(const struct hwi_signals *signals, uint64_t timeout_ns);

/* The command was stopped by `signal`: so are we, until we are continued. Does nothing where nobody would continue us. */
void hwi_signals_stop_like(int signal);

#endif
