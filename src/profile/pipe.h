/* pipe.h - batches of resolved events on their way to what counts them
 *
 * Counting can have a thread of its own: then the caller reads and resolves the next events meanwhile. The batches are counted in
 * the order in which they were given, so that the results are the same in both cases.
 */
#ifndef HWI_PROFILE_PIPE_H
#define HWI_PROFILE_PIPE_H

#include "profile/resolve.h"

struct hwi_pipe;

/* Counts a batch. False: no further batch is wanted. */
typedef bool hwi_pipe_count(void *context, struct hwi_batch *batch);

/* Without a thread so far. NULL: no memory. */
struct hwi_pipe *hwi_pipe_create(hwi_pipe_count *count, void *context);

/* Gives back everything, once what was given is counted. NULL is fine. */
void hwi_pipe_destroy(struct hwi_pipe *pipe);

/* From now on batches are counted by another thread, where the machine has another processor and the system another thread. */
void hwi_pipe_start_thread(struct hwi_pipe *pipe);

/* The batch that is being filled; it may wait until there is room. The same one is returned until it is
 * given; its contents stay. */
struct hwi_batch *hwi_pipe_batch(struct hwi_pipe *pipe);

/* Has the batch counted, now or soon. False: an earlier one, or this one, could not be. */
bool hwi_pipe_give(struct hwi_pipe *pipe);

/* Waits until all batches that were given are counted. False: one could not be. */
bool hwi_pipe_wait(struct hwi_pipe *pipe);

#endif
