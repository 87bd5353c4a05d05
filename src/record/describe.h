/* describe.h - writes into a trace what its image is: command, executable, directory, environment, what cannot be seen */
#ifndef HWI_RECORD_DESCRIBE_H
#define HWI_RECORD_DESCRIBE_H

#include "record/lane.h"

void hwi_describe_image(struct hwi_lane *lane);

/* The peak resident set so far; at most once in 100 ms, but at the end. */
void hwi_describe_rss(struct hwi_lane *lane, bool at_end);

#endif
