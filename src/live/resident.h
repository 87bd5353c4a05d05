/* resident.h - an analyst that follows a recording from early on, for viewers that come later
 *
 * A viewer that comes late would have to read all that was recorded before, which takes the longer the longer the recording is.
 * So a recording has a resident analyst: a process that counts all the time, while a CPU has nothing else to do, and makes a copy
 * of itself for each viewer, by fork. The copy is the viewer's analyst, and has to count only the last moments.
 *
 * They find each other by a socket without a file, whose name has the device and inode of the trace's file. Only processes of the
 * same user, and of the same program file, talk to each other. Whatever fails, the viewer starts an analyst of its own.
 */
#ifndef HWI_LIVE_RESIDENT_H
#define HWI_LIVE_RESIDENT_H

#include "live/analyst.h"

/* Is the resident analyst of `run`, whose path is absolute: in a process that is made for it, and that ends when it needs too much
 * memory, or when the run is over. Returns only if it cannot begin. */
void hwi_resident_be(const struct hwi_live_run *run);

/* Asks the resident analyst of the recording for a copy that follows `run`. Returns its socket, or -1: there is none, or it does not
 * answer soon, or what it has counted is not exact at the moment. */
int hwi_resident_join(const struct hwi_live_run *run);

#endif
