/* describe.h - writes an image's description into its trace: command, executable, directory, environment, notes
 *
 * note       a fact about the program that limits the recording, such as an allocator whose calls are not seen.
 */
#ifndef HWI_RECORD_EVENTS_DESCRIBE_H
#define HWI_RECORD_EVENTS_DESCRIBE_H

#include "record/lane.h"

/* Looks for allocators that do not come to the recorder by themselves, leads their calls to it where that is possible, and
 * remembers them. To be called once, when the program's libraries are relocated and the recording has begun. */
void hwi_notes_find(void);

/* Writes the notes that are known so far. */
void hwi_notes_put(struct hwi_lane *lane);

/* Writes the description, with the notes, into the lane, which the calling thread has entered. It makes system calls,
 * so it is only called when an image begins. Unknown facts are omitted. */
void hwi_describe_image(struct hwi_lane *lane);

/* Writes the peak RSS so far. If not `at_end`, this is done at most once every 100 ms. If the launcher samples the RSS,
 * nothing is written. */
void hwi_describe_rss(struct hwi_lane *lane, bool at_end);

#endif
