/* hold.h - keeps the packer of a trace from dropping sections while they are read
 *
 * Readers hold a lock on a few bytes of the header, by an open file description; the packer drops sections only while no
 * reader does, or when readers have held it for long. Where such locks are not available, sections may be dropped while they
 * are read, which then are missing.
 */
#ifndef HWI_TRACE_READ_HOLD_H
#define HWI_TRACE_READ_HOLD_H

#include <stdbool.h>

/* Holds the sections of the trace at `fd` until hwi_hold_end, or until all descriptors of this opening are closed. */
void hwi_hold_begin(int fd);
void hwi_hold_end(int fd);

/* In a forked process, which shares the opening of `fd` with its parent, so that each would end the hold of the other: opens the
 * trace again in its place. `holds`: it is held now. */
void hwi_hold_apart(int fd, bool holds);

/* For the packer, whose `fd` can be written. Returns whether no reader holds the sections; if so, none does before
 * hwi_hold_end. */
bool hwi_hold_try_drop(int fd);

#endif
