/* live_view.h - the live view of this process, which the program itself starts (heapwright/live.h)
 *
 * A server is a process of `heapwright live`, which is no child of this one. It follows the run's trace from outside. A
 * process has at most one; a forked child has none until it starts its own. These functions may be called by any thread;
 * they do not change errno.
 */
#ifndef HWI_RECORD_LIVE_VIEW_H
#define HWI_RECORD_LIVE_VIEW_H

#include <stdint.h>

/* See hw_live_start, hw_live_url and hw_live_stop. */
int hwi_live_view_start(const char *address, uint16_t port);
const char *hwi_live_view_url(void);
void hwi_live_view_stop(void);

#endif
