/* pending_free.h - pending frees: those that are being timed, so that they have begun but are not written yet
 *
 * A free gets its time before the real free, and its duration is known after it. It is written then, in one piece,
 * unless another event of the lane comes first, from a signal handler or from the allocator itself. That event first
 * writes the pending free without its duration. So the lane's events stay in the order of their times and none is lost,
 * even if a handler leaves the real free by longjmp.
 */
#ifndef HWI_RECORD_EVENTS_PENDING_FREE_H
#define HWI_RECORD_EVENTS_PENDING_FREE_H

#include "record/lane.h"

/* To be called before the real free. Here and in the next function the caller has entered the lane. */
void hwi_pending_free_begin(struct hwi_lane *lane, const struct hwi_pending_free *pending_free);

/* Writes the lane's pending free. `took`: as in the event; 0: unknown. */
void hwi_pending_free_write(struct hwi_lane *lane, uint64_t took);

/* To be called after the calling thread's free of `block`: writes it if it is still pending. The caller has entered no
 * lane. */
void hwi_pending_free_settle(const void *block, uint64_t took);

#endif
