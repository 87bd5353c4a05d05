/* owed.h - frees whose time is being taken: begun, and not written yet
 *
 * A free is stamped before the real free, and how long that takes is known behind it. It is written then, in one piece, unless
 * another event of the lane comes first: a signal handler's, or one of the allocator's own. That one writes it, without its
 * duration, so that the lane's events stay in the order of their times and none is lost, not even where a handler leaves the real
 * free by longjmp.
 */
#ifndef HWI_RECORD_OWED_H
#define HWI_RECORD_OWED_H

#include "record/lane.h"

/* The free is about to be done. The lane is entered, here and in the next. */
void hwi_owed_begin(struct hwi_lane *lane, const struct hwi_owed *owed);

/* Writes what the lane owes. `took`: as in the event; 0: not known. */
void hwi_owed_write(struct hwi_lane *lane, uint64_t took);

/* The calling thread's free of `block` is done: writes it where it is still owed. No lane is entered. */
void hwi_owed_settle(const void *block, uint64_t took);

#endif
