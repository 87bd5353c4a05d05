/* pipe.c - passes batches of resolved events to the code that counts them
 *
 * The pipe is a ring of batches. `given` and `counted` only grow. Batch i is at i modulo the ring's size; it belongs to
 * the reader while counted + BATCHES > i >= given, and to the counting thread while given > i >= counted. Waking a
 * thread costs as much as counting a batch: a thread that has no more work is woken only when half of the ring is
 * given, or when the reader waits for the rest.
 */
#include "profile/replay/pipe.h"

#include <pthread.h>
#include <stdlib.h>

#include "platform/os_tools.h"

enum { BATCHES = 32, HALF = BATCHES / 2 };

struct hwi_pipe {
  hwi_pipe_count *count;
  void *context;
  struct hwi_batch *batches; /* one batch, or BATCHES if there is a thread */
  bool has_thread;
  pthread_t thread;
  pthread_mutex_t mutex; /* used if there is a thread; protects all that follows; only the reader changes `given` */
  pthread_cond_t work, room;
  uint64_t given, counted;
  bool counter_waits, reader_waits; /* the counter waits for work, the reader for room */
  bool is_urgent;                   /* the reader waits until all is counted */
  bool failed, ends;
};

struct hwi_pipe *hwi_pipe_create(hwi_pipe_count *count, void *context)
{
  struct hwi_pipe *pipe = calloc(1, sizeof *pipe);
  if (!pipe)
    return NULL;
  *pipe = (struct hwi_pipe){.count = count, .context = context, .batches = calloc(1, sizeof *pipe->batches)};
  if (!pipe->batches) {
    free(pipe);
    return NULL;
  }
  pthread_mutex_init(&pipe->mutex, NULL);
  pthread_cond_init(&pipe->work, NULL);
  pthread_cond_init(&pipe->room, NULL);
  return pipe;
}

void hwi_pipe_restart(struct hwi_pipe *pipe)
{
  pipe->failed = false;
  hwi_batch_begin(pipe->batches, NULL);
}

/* --- the thread that counts --- */

/* Waits for the next batch. Returns NULL if there are no more. */
static struct hwi_batch *next_batch(struct hwi_pipe *pipe)
{
  if (pipe->counted == pipe->given && !pipe->ends) {
    pipe->counter_waits = true;
    while (pipe->counter_waits && !pipe->ends)
      pthread_cond_wait(&pipe->work, &pipe->mutex);
    pipe->counter_waits = false;
  }
  return pipe->counted < pipe->given ? &pipe->batches[pipe->counted % BATCHES] : NULL;
}

static void *count_batches(void *context)
{
  struct hwi_pipe *pipe = context;
  pthread_mutex_lock(&pipe->mutex);
  for (struct hwi_batch *batch; (batch = next_batch(pipe));) {
    const bool is_wanted = !pipe->failed;
    pthread_mutex_unlock(&pipe->mutex);
    const bool done = is_wanted && pipe->count(pipe->context, batch);
    pthread_mutex_lock(&pipe->mutex);
    pipe->failed = pipe->failed || !done;
    pipe->counted++;
    const uint64_t left = pipe->given - pipe->counted;
    if (pipe->reader_waits && (pipe->is_urgent ? left == 0 : left <= HALF)) {
      pipe->reader_waits = false;
      pthread_cond_signal(&pipe->room);
    }
  }
  pthread_mutex_unlock(&pipe->mutex);
  return NULL;
}

void hwi_pipe_start_thread(struct hwi_pipe *pipe)
{
  struct hwi_batch *batches;
  if (pipe->has_thread || hwi_os_processors() < 2)
    return;
  batches = realloc(pipe->batches, BATCHES * sizeof *batches);
  if (!batches)
    return;
  pipe->batches = batches;
  pipe->has_thread = pthread_create(&pipe->thread, NULL, count_batches, pipe) == 0;
}

/* --- the thread that reads --- */

struct hwi_batch *hwi_pipe_batch(struct hwi_pipe *pipe)
{
  return pipe->has_thread ? &pipe->batches[pipe->given % BATCHES] : pipe->batches;
}

static void wake_counter(struct hwi_pipe *pipe)
{
  if (!pipe->counter_waits)
    return;
  pipe->counter_waits = false;
  pthread_cond_signal(&pipe->work);
}

static void wait_for_counter(struct hwi_pipe *pipe)
{
  pipe->reader_waits = true;
  wake_counter(pipe);
  while (pipe->reader_waits)
    pthread_cond_wait(&pipe->room, &pipe->mutex);
}

bool hwi_pipe_give(struct hwi_pipe *pipe)
{
  if (!pipe->has_thread) {
    pipe->failed = pipe->failed || !pipe->count(pipe->context, pipe->batches);
    return !pipe->failed;
  }
  pthread_mutex_lock(&pipe->mutex);
  pipe->given++;
  if (pipe->given - pipe->counted >= HALF)
    wake_counter(pipe);
  if (pipe->given - pipe->counted == BATCHES)
    wait_for_counter(pipe);
  const bool done = !pipe->failed;
  pthread_mutex_unlock(&pipe->mutex);
  return done;
}

bool hwi_pipe_wait(struct hwi_pipe *pipe)
{
  if (!pipe->has_thread)
    return !pipe->failed;
  pthread_mutex_lock(&pipe->mutex);
  if (pipe->counted < pipe->given) {
    pipe->is_urgent = true;
    wait_for_counter(pipe);
    pipe->is_urgent = false;
  }
  const bool done = !pipe->failed;
  pthread_mutex_unlock(&pipe->mutex);
  return done;
}

void hwi_pipe_end_thread(struct hwi_pipe *pipe)
{
  if (!pipe->has_thread)
    return;
  pthread_mutex_lock(&pipe->mutex);
  pipe->ends = true;
  pthread_cond_signal(&pipe->work);
  pthread_mutex_unlock(&pipe->mutex);
  pthread_join(pipe->thread, NULL);
  pipe->has_thread = pipe->ends = false;
  pipe->given = pipe->counted = 0;
  hwi_batch_begin(pipe->batches, NULL);
}

void hwi_pipe_destroy(struct hwi_pipe *pipe)
{
  if (!pipe)
    return;
  hwi_pipe_end_thread(pipe);
  pthread_mutex_destroy(&pipe->mutex);
  pthread_cond_destroy(&pipe->work);
  pthread_cond_destroy(&pipe->room);
  free(pipe->batches);
  free(pipe);
}
