/* place.h - where an image's trace goes
 *
 * The first image of a run that allocates is NAME itself; later ones lie in NAME.children/. DESIGN.md's "A run has one name".
 */
#ifndef HWI_RECORD_PLACE_H
#define HWI_RECORD_PLACE_H

#include <stdbool.h>

#include "trace/format.h"
#include "trace/writer.h"

/* Creates the trace of an image that began with an exec, and leaves the run's NAME in hwi_session.name. False: this image is
 * not to be recorded, or there is nowhere to write. `header` has what is known but the run id, which is filled in. */
bool hwi_place_open_first(struct hwi_writer *writer, struct hw_trace_header *header);

/* Creates the trace of a forked child of the run hwi_session.name. */
bool hwi_place_open_child(struct hwi_writer *writer, struct hw_trace_header *header);

/* Would a program that this process executes, or that its children do, begin its trace in the same run? Not where each has a NAME
 * of its own, or is left out on purpose. Once hwi_place_open_first has read the options. */
void hwi_place_followers(bool *next, bool *children);

/* Is this executable one that HEAPWRIGHT_ONLY_PROCESS lets through? */
bool hwi_place_is_wanted(void);

#endif
