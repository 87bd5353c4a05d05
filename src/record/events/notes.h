/* notes.h - the trace's notes about what the recorder cannot see in this program */
#ifndef HWI_RECORD_EVENTS_NOTES_H
#define HWI_RECORD_EVENTS_NOTES_H

#include "record/lane.h"

/* Looks for allocators that cannot be recorded and remembers them. To be called once, when the program's libraries are
 * relocated. Returns true if there are any. */
bool hwi_notes_find(void);

/* Writes the notes that are known so far. */
void hwi_notes_put(struct hwi_lane *lane);

#endif
