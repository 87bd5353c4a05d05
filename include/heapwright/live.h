/* live.h - a program shows its own heap while it runs, as a page in the browser
 *
 *     #include <heapwright/live.h>
 *
 *     int main(void)
 *     {
 *       hw_live_start(NULL, 4242);   heapwright: live at http://127.0.0.1:4242/?token=...
 *       ...
 *     }
 *
 * The program must be recorded: linked with -lheapwright-record, run with the library in LD_PRELOAD, or by `heapwright
 * record`. The page then comes from a process of `heapwright live`, which reads the recording from outside. This header
 * is all that a program needs to compile; without a recorder, hw_live_start returns ENOTSUP and the others do nothing, so
 * that the calls may stay in the program. With HW_MONITOR_OFF defined before the header is included, it is the same.
 *
 * The server: the command heapwright from ../bin of the recorder's library, or else from PATH. It is not a child of the
 * program: there is no SIGCHLD, and wait does not see it, except in a program that takes in the orphans of its children
 * (as process 1 of a container, or with PR_SET_CHILD_SUBREAPER), where it arrives like any other orphan. It has a session
 * of its own, so that Ctrl-C does not reach it; it has none of the program's descriptors, and is not recorded. After the
 * program's end, however that came, it shows the last state until no page has asked for a minute, or until the program
 * starts again and wants the same port; then it ends.
 *
 * Thread safety: any thread may call any of these functions. None of them changes errno or calls malloc. hw_live_start
 * and hw_live_stop wait for another process, so they are not for signal handlers or deadlines.
 */
/* SPDX-License-Identifier: MIT */
#ifndef HEAPWRIGHT_LIVE_H
#define HEAPWRIGHT_LIVE_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "heapwright/monitor.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef HW_MONITOR_OFF

/* Starts the server, and returns when it listens on `address` and `port`. `address` is an IPv4 or IPv6 address as text;
 * NULL is 127.0.0.1, which only this machine can reach. The address of the page is written to standard error, unless the
 * environment has HEAPWRIGHT_QUIET=1. Port 0 is any free port.
 *
 * Returns 0 or an errno value. Other errors than the first two are explained on standard error.
 *   ENOTSUP     nothing is recorded: there is no recorder, or it could not begin or had to stop
 *   EALREADY    this process has a server, or another thread is starting it
 *   EINVAL      `address` is not an IP address
 *   ENOENT      the command heapwright was not found
 *   EADDRINUSE, EADDRNOTAVAIL, EACCES    the server cannot listen there
 *   ETIMEDOUT   it did not begin within 15 s
 *   EIO         it ended early
 * and those of fork and pipe; ENOSYS under valgrind. A program that enters a sandbox or changes its user should start the server before. */
static inline int hw_live_start(const char *address, uint16_t port)
{
  return hw_monitor_found ? hw_monitor_found->live_start(address, port) : ENOTSUP;
}

/* Returns the address of the page, or NULL if this process has no server. The text belongs to the recorder, and is valid
 * until hw_live_start is called again. A forked child has no server of its own until it starts one. */
static inline const char *hw_live_url(void)
{
  return hw_monitor_found ? hw_monitor_found->live_url() : 0;
}

/* Ends the server at once; its pages show their last state. Does nothing if there is none. The port is free then. */
static inline void hw_live_stop(void)
{
  if (hw_monitor_found)
    hw_monitor_found->live_stop();
}

/* Makes this the moment from which pages show figures, as their "From now on" does: a mark named "heapwright: reset". The
 * recording keeps all that came before, and a viewer can show it again. Needs no server; safe in signal handlers. */
static inline void hw_live_reset(void)
{
  hw_mark("heapwright: reset");
}

#else

static inline int hw_live_start(const char *address, uint16_t port)
{
  (void)address;
  (void)port;
  return ENOTSUP;
}
static inline const char *hw_live_url(void)
{
  return 0;
}
static inline void hw_live_stop(void)
{}
static inline void hw_live_reset(void)
{}

#endif

#ifdef __cplusplus
}
#endif

#endif
