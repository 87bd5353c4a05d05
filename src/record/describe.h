/* describe.h - writes into a trace what its image is: command, executable, directory, environment, what cannot be seen */
#ifndef HWI_RECORD_DESCRIBE_H
#define HWI_RECORD_DESCRIBE_H

#include "record/lane.h"

/* Writes records into the lane, which the calling thread has entered. Asks the kernel for what they say, so only where an
 * image begins. What cannot be found out is left out. */
void hwi_describe_image(struct hwi_lane *lane);

/* Writes the peak resident set so far; at most once in 100 ms, but at the end. Nothing where a launcher takes samples. */
void hwi_describe_rss(struct hwi_lane *lane, bool at_end);

#endif
