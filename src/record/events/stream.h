/* stream.h - the two lanes of each thread, and how an event finds its lane */
#ifndef HWI_RECORD_EVENTS_STREAM_H
#define HWI_RECORD_EVENTS_STREAM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "platform/os.h"
#include "record/lane.h"
#include "record/record.h"
#include "record/sampler.h"

/* A task that a thread is in (see tasks.c), and what was open around it. */
struct hwi_entered_task {
  uint64_t number;
  uint32_t base;        /* the scopes that are open around it */
  uint32_t trap_around; /* the trap_depth around it */
};

/* The scopes that the thread has begun and not ended, the outermost first. Other threads may end them by their keys. */
enum { HWI_OPEN_SCOPES = 64, HWI_ENTERED_TASKS = 64 };
struct hwi_open_scopes {
  uint32_t depth;                  /* how many; other threads read this */
  uint32_t owner;                  /* in the handles of those outside of tasks; not 0 */
  uint32_t names[HWI_OPEN_SCOPES]; /* of the outermost ones: a forked child continues in them */
  _Atomic uint64_t
      keys[HWI_OPEN_SCOPES]; /* of the same ones, see keyed_scopes.h; 0: none. Other threads end scopes here */
  uint32_t base;             /* of the innermost task; 0: the thread is in none */
  uint32_t task_count;       /* tasks that the thread is in; other threads read this and their numbers */
  uint32_t trap_depth;       /* calls trap while at least so many are open; 0: only if they do around the task */
  bool is_trapping;          /* a handler of SIGTRAP runs: its calls do not trap */
  struct hwi_entered_task tasks[HWI_ENTERED_TASKS]; /* the outermost first */
};

struct hwi_thread_stream {
  struct hwi_sampler sampler;
  struct hwi_lane lanes[2];
  struct hwi_os_claim claim; /* of the thread that records here; after its end another thread may take the stream */
  uint32_t tid;              /* 0: the thread is of another address space */
  uint32_t thread;           /* ID */
  bool is_kept;              /* it may only be taken by the thread that had it before the fork */
  uint8_t policy, priority;
  char name[HWI_OS_NAME_BYTES];
  struct hwi_open_scopes open;
  struct hwi_thread_counts counts;
  struct hwi_thread_stream *next; /* in the list of all streams; never removed */
};

extern __thread struct hwi_thread_stream *hwi_stream_self; /* NULL: this thread has none yet */

/* Begins the recording, if it has not begun: finds what the program's libraries replace, and notes it in the trace. */
void hwi_stream_begin(void);

/* Returns whether a collector (record/collectors/) has something to do. If the library was loaded for it alone, this begins
 * the recording. */
bool hwi_stream_begin_for_collector(void);

/* Returns the lane for an event, and marks it busy with `frame`, the address of the recorder's frame. Returns NULL if
 * the event cannot be recorded, and counts it as lost if it should have been. Handles every case that the fast path
 * does not. */
struct hwi_lane *hwi_stream_enter_slow(uintptr_t frame);

/* Returns the lane of a usual event, which is not entered yet. Returns NULL if the event needs the slow path. */
static inline __attribute__((always_inline)) struct hwi_lane *hwi_stream_usual_lane(void)
{
  struct hwi_thread_stream *self = hwi_stream_self;
  uint32_t live = atomic_load_explicit(&hwi_session.liveness->live, memory_order_relaxed);
  return __builtin_expect(!self || self->lanes[0].fast_epoch != live || self->lanes[0].busy, 0) ? NULL
                                                                                                : &self->lanes[0];
}

/* Marks the lane busy. */
static inline __attribute__((always_inline)) void hwi_stream_take(struct hwi_lane *lane, uintptr_t frame)
{
  lane->busy = frame;
  atomic_signal_fence(memory_order_seq_cst);
}

static inline struct hwi_lane *hwi_stream_enter(uintptr_t frame)
{
  struct hwi_lane *lane = hwi_stream_usual_lane();
  if (__builtin_expect(!lane, 0))
    return hwi_stream_enter_slow(frame);
  hwi_stream_take(lane, frame);
  return lane;
}

static inline void hwi_stream_leave(struct hwi_lane *lane)
{
  atomic_signal_fence(memory_order_seq_cst);
  lane->busy = 0;
}

/* Sets the name of the calling thread, which has entered `lane`. */
void hwi_stream_rename(struct hwi_lane *lane, const char *name);

/* The calling thread, whose stream this is, is about to end: its name and policy are written once more, unless a
 * launcher records them. Events may still follow. */
void hwi_stream_thread_ends(void *stream);

/* hwi_stream_seal is called before the calling thread is sealed (hwi_os_seal): it begins a large chunk, and makes each
 * event of the thread take the slow path. Afterwards hwi_stream_note_seal writes a note that the thread was sealed, or
 * hwi_stream_unseal restores the fast path because it could not be sealed. */
void hwi_stream_seal(uintptr_t frame);
void hwi_stream_note_seal(uintptr_t frame);
void hwi_stream_unseal(void);

/* Returns the time of the latest event of any thread. */
uint64_t hwi_stream_latest_tick(void);

/* Returns whether another running thread is in the task with this number. Slow with many threads. */
bool hwi_stream_another_is_in(uint64_t task);

/* Ends a scope with this key in another running thread, if there is one: its key becomes HWI_SCOPE_HAS_ENDED. Slow with many
 * threads. */
void hwi_stream_end_in_another(uint64_t key);

/* Called in a new address space: only the calling thread is left, and nothing was written yet. Returns true if the
 * calling thread was interrupted in the middle of an event, so that its old chunk must stay mapped. */
bool hwi_streams_after_fork(void);

#endif
