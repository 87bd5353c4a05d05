/* notes.h - what the recorder cannot see in this program, as the trace tells it */
#ifndef HWI_RECORD_NOTES_H
#define HWI_RECORD_NOTES_H

#include "record/lane.h"

/* Looks for allocators that are out of sight and remembers them. Once, when the program's libraries are relocated. True:
 * there are some. */
bool hwi_notes_find(void);

/* Writes what is known so far. */
void hwi_notes_put(struct hwi_lane *lane);

#endif
