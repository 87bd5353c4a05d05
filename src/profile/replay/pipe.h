/* pipe.h - passes batches of resolved events to the code that counts them
 *
 * Counting can have its own thread: meanwhile the caller reads and resolves the next events. The batches are counted in
 * the order in which they were given, so that the results are the same with and without a thread.
 */
#ifndef HWI_PROFILE_REPLAY_PIPE_H
#define HWI_PROFILE_REPLAY_PIPE_H

#include "profile/blocks/resolve.h"

struct hwi_pipe;

/* Counts a batch. Returns false if no further batch is wanted. */
typedef bool hwi_pipe_count(void *context, struct hwi_batch *batch);

/* Creates a pipe, at first without a thread. Returns NULL if there is no memory. */
struct hwi_pipe *hwi_pipe_create(hwi_pipe_count *count, void *context);

/* Releases the pipe after the given batches were counted. `pipe` may be NULL. */
void hwi_pipe_destroy(struct hwi_pipe *pipe);

/* From now on, batches are counted by another thread, if the machine has another CPU and a thread can be created. */
void hwi_pipe_start_thread(struct hwi_pipe *pipe);

/* Ends that thread, if there is one, when all batches were given and counted. The process may be forked then. */
void hwi_pipe_end_thread(struct hwi_pipe *pipe);

/* Forgets a failure and the batch that is being filled, of a pipe without a thread. */
void hwi_pipe_restart(struct hwi_pipe *pipe);

/* Returns the batch that is being filled; may wait until there is room. The same batch, with its contents, is returned
 * until it is given. */
struct hwi_batch *hwi_pipe_batch(struct hwi_pipe *pipe);

/* Gives the batch to be counted, now or soon. Returns false if this or an earlier one could not be counted. */
bool hwi_pipe_give(struct hwi_pipe *pipe);

/* Waits until all given batches are counted. Returns false if one could not be counted. */
bool hwi_pipe_wait(struct hwi_pipe *pipe);

#endif
