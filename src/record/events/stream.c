/* stream.c - the two lanes of each thread, and how an event finds its lane
 *
 * A lane is busy while an event uses it. If an event finds lane 0 busy, either it is nested (a signal handler
 * interrupted the first event), or the first event was abandoned (a handler left it by longjmp, or the thread was
 * cancelled). Nested events go to lane 1; an abandoned lane is recovered. The two cases must be distinguished with
 * certainty, since recovering a lane whose event continues later would break it. A nested event's stack has a signal
 * frame between it and the interrupted event. So if the whole stack can be unwound without a signal frame, and the busy
 * frame's address is on that stack, that frame has been left.
 *
 * Or the real allocator allocates while the event asks it for a usable size (tcmalloc does, in the first call). Then a frame of
 * the function that asks is on that stack. Such a call is not the program's, and is not recorded.
 */
#include "record/events/stream.h"

#include <string.h>

#include "record/events/describe.h"
#include "record/events/scopes.h"
#include "record/own_ranges.h"
#include "record/runtime/real.h"
#include "record/session.h"
#include "record/unwind/row_cache.h"
#include "record/unwind/stack_cache.h"
#include "record/unwind/step.h"
#include "record/unwind/walk.h"

__thread struct hwi_thread_stream *hwi_stream_self __attribute__((tls_model("initial-exec")));

static _Atomic(struct hwi_thread_stream *) all_streams;

/* The thread's stream before the fork that made this address space. It is tried first, since an event that was about to
 * enter it may continue in it. */
static __thread struct hwi_thread_stream *before_fork __attribute__((tls_model("initial-exec")));

/* --- lanes --- */

/* Resets a lane to the state of one that has written nothing in this trace. Its buffers stay. */
static void reset_lane(struct hwi_lane *lane, uint32_t thread)
{
  lane->at = lane->end = NULL;
  lane->chunk = NULL;
  lane->new_chunk.chunk = NULL;
  lane->chunk_bytes = 0;
  lane->sequence = 0;
  lane->stream = atomic_fetch_add(&hwi_session.stream_count, 1);
  lane->last_tick = lane->last_address = lane->last_node_address = 0;
  lane->thread = thread;
  lane->range = (struct hwi_range){0};
  lane->attention = 0;
  lane->fast_epoch = lane->skip_epoch = HWI_NO_EPOCH;
  hwi_walk_forget(lane);
  hwi_row_cache_drop(&lane->rows);
  hwi_stack_cache_drop(lane);
  atomic_signal_fence(memory_order_seq_cst);
  lane->busy = 0;
}

static void forget_stacks(struct hwi_lane *lane)
{
  hwi_walk_forget(lane);
  hwi_row_cache_drop(&lane->rows);
  hwi_stack_cache_drop(lane);
}

/* Called when an event was abandoned at some instruction: everything that it was changing may be half changed. */
static void recover_lane(struct hwi_lane *lane)
{
  forget_stacks(lane);
  lane->range = (struct hwi_range){0};
  hwi_lane_recover(lane);
  lane->busy = 0;
}

/* Why a lane is busy. */
enum business { INTERRUPTED, ABANDONED, ASKING };

static enum business business_of(const struct hwi_lane *lane, uintptr_t frame)
{
  enum {
    LARGEST_DISTANCE = 1 << 20
  }; /* below the stack pointer: a frame that was left and is further away may be on another stack */
  struct hwi_outward outward;
  outward.code = hwi_real_asking_code(&outward.code_bytes);
  if (lane->busy + LARGEST_DISTANCE <= frame || !hwi_step_is_uninterrupted(&outward) || lane->busy >= outward.outermost)
    return INTERRUPTED;
  return outward.has_code ? ASKING : ABANDONED;
}

/* Called when modules were loaded or unloaded: drops all cached data that may depend on them. */
static void note_modules(struct hwi_lane *lane)
{
  uint32_t epoch = atomic_load_explicit(&hwi_session.unload_epoch, memory_order_relaxed);
  if (lane->unload_epoch == epoch && !lane->rows.has_uncovered)
    return;
  lane->unload_epoch = epoch;
  forget_stacks(lane);
}

/* Returns NULL if the event is not to be recorded, or is lost. */
static struct hwi_lane *take_lane(struct hwi_thread_stream *self, uintptr_t frame)
{
  struct hwi_lane *lane = NULL;
  for (int i = 0; i < 2 && !lane; i++) {
    const enum business business = self->lanes[i].busy ? business_of(&self->lanes[i], frame) : INTERRUPTED;
    if (business == ASKING)
      return NULL;
    if (business == ABANDONED)
      recover_lane(&self->lanes[i]);
    if (!self->lanes[i].busy)
      lane = &self->lanes[i];
  }
  if (!lane) {
    hwi_session_lose(HW_LOSS_NESTED);
    return NULL;
  }
  lane->busy = frame;
  atomic_signal_fence(memory_order_seq_cst);
  uint32_t epoch = atomic_load_explicit(&hwi_session.module_epoch, memory_order_acquire);
  if (lane->module_epoch != epoch) {
    lane->module_epoch = epoch;
    note_modules(lane);
  }
  return lane;
}

/* --- threads --- */

enum { UNKNOWN_POLICY = 255 };

static void put_thread(struct hwi_thread_stream *stream, struct hwi_lane *lane)
{
  uint8_t head[2 * HWI_VARINT_MAX_BYTES + 2], *at = head;
  at = hwi_put_varint(at, stream->thread);
  at = hwi_put_varint(at, stream->tid);
  *at++ = stream->policy;
  *at++ = stream->priority;
  hwi_lane_put_record(lane, HW_RECORD_THREAD, (struct hwi_bytes){head, (uint32_t)(at - head)},
                      (struct hwi_bytes){stream->name, (uint32_t)strnlen(stream->name, sizeof stream->name)});
}

/* Reads the thread's name and policy, and writes them if they have changed. A launcher reads them from outside instead,
 * so that no system call is made here for which a sandbox would kill the program. */
static void refresh_thread(struct hwi_thread_stream *stream, struct hwi_lane *lane)
{
  uint8_t policy, priority;
  char name[HWI_OS_NAME_BYTES];
  if (hwi_session.has_launcher || hwi_os_is_sealed())
    return;
  hwi_os_thread_name(name);
  hwi_os_thread_policy(&policy, &priority);
  if (policy == stream->policy && priority == stream->priority && memcmp(name, stream->name, sizeof name) == 0)
    return;
  stream->policy = policy;
  stream->priority = priority;
  memcpy(stream->name, name, sizeof name);
  put_thread(stream, lane);
}

static char first_name[HWI_OS_NAME_BYTES]; /* of the image's first thread, when it began */

/* Writes the thread's first record. The image's first thread reads its name in any case: it has just begun the session,
 * which needs more system calls than that. */
static void introduce_thread(struct hwi_thread_stream *stream)
{
  if (stream->thread == 0)
    stream->tid = hwi_os_tid(); /* libc does not know it after a bare clone */
  if (stream->thread == 0 || !hwi_session.has_launcher) {
    hwi_os_thread_name(stream->name);
    hwi_os_thread_policy(&stream->policy, &stream->priority);
    if (stream->thread == 0)
      memcpy(first_name, stream->name, sizeof first_name);
  } else {
    memcpy(stream->name, first_name, sizeof first_name); /* as the kernel does, if its creator kept the name */
    stream->policy = UNKNOWN_POLICY;
    stream->priority = 0;
  }
  union hw_thread_hint hint = {.number = stream->thread, .tid = stream->tid};
  __atomic_store_n(&hwi_session.header->threads[stream->thread % HW_THREAD_HINTS].word, hint.word, __ATOMIC_RELAXED);
  put_thread(stream, &stream->lanes[0]);
  if (stream->lanes[1].chunk && hwi_lane_reserve(&stream->lanes[1], HW_EVENT_MAX_BYTES))
    put_thread(stream, &stream->lanes[1]);
}

/* For tools that read the memory of a process whose trace was lost. */
static void show_streams(void)
{
  struct hwi_own_tables *tables = &hwi_own_memory.tables;
  tables->name = (uintptr_t)hwi_session.name;
  tables->next_off = offsetof(struct hwi_thread_stream, next);
  tables->tid_off = offsetof(struct hwi_thread_stream, tid);
  tables->thread_off = offsetof(struct hwi_thread_stream, thread);
  tables->name_off = offsetof(struct hwi_thread_stream, name);
  tables->lanes_off = offsetof(struct hwi_thread_stream, lanes);
  tables->lane_bytes = sizeof(struct hwi_lane);
  tables->chunk_off = offsetof(struct hwi_lane, chunk);
  tables->recent_off = offsetof(struct hwi_lane, recent);
  __atomic_store_n(&tables->streams, (uintptr_t)&all_streams, __ATOMIC_RELEASE);
}

static struct hwi_thread_stream *create(uint32_t *tid)
{
  size_t page = HWI_OS_PAGE_BYTES;
  const size_t bytes = (sizeof(struct hwi_thread_stream) + page - 1) & ~(page - 1);
  struct hwi_thread_stream *stream = hwi_os_map(bytes);
  if (!stream)
    return NULL;
  hwi_own_ranges_add(stream, bytes, NULL);
  hwi_os_claim_init(&stream->claim);
  *tid = hwi_os_claim_take(&stream->claim);
  show_streams();
  stream->next = atomic_load(&all_streams);
  while (!atomic_compare_exchange_weak(&all_streams, &stream->next, stream))
    continue;
  return stream;
}

/* Returns a stream for the calling thread alone: that of a thread that has ended, or a new one. */
static struct hwi_thread_stream *take_stream(uint32_t *tid)
{
  struct hwi_thread_stream *stream = before_fork;
  if (stream && (*tid = hwi_os_claim_take(&stream->claim)))
    return stream;
  for (stream = atomic_load(&all_streams); stream; stream = stream->next)
    if (!stream->is_kept && (*tid = hwi_os_claim_take(&stream->claim)))
      return stream;
  return create(tid);
}

static struct hwi_thread_stream *attach(uintptr_t frame)
{
  uint32_t tid;
  struct hwi_thread_stream *stream = take_stream(&tid);
  if (!stream)
    return NULL;
  bool is_forked = stream == before_fork;
  bool is_fresh = !stream->tid;
  stream->tid = tid;
  stream->thread = atomic_fetch_add(&hwi_session.thread_count, 1);
  for (int i = 0; i < 2; i++) {
    if (is_fresh)
      reset_lane(&stream->lanes[i], stream->thread);
    else if (stream->lanes[i].busy)
      recover_lane(&stream->lanes[i]);
    if (hwi_session.fields & HW_FIELD_SAMPLED) { /* its counts are those of one thread */
      hwi_lane_retire(&stream->lanes[i]);
      stream->lanes[i].chunk_bytes = 0;
    }
    hwi_walk_forget(&stream->lanes[i]);
    stream->lanes[i].range = (struct hwi_range){0};
    stream->lanes[i].thread = stream->thread;
    stream->lanes[i].attention &= (uint8_t)~HWI_LANE_OF_THREAD; /* the previous thread's */
    if (is_forked && stream->counts.is_on)
      hwi_lane_request_attention(&stream->lanes[i], HWI_LANE_COUNTS);
  }
  if (!is_forked)
    stream->counts = (struct hwi_thread_counts){0};
  hwi_sampler_init(&stream->sampler, stream->thread);
  stream->lanes[0].busy = frame;
  hwi_stream_self = stream;
  atomic_signal_fence(memory_order_seq_cst);
  introduce_thread(stream);
  hwi_scopes_continue(&stream->lanes[0], &stream->open, is_forked);
  if (stream->thread == 0)
    hwi_describe_image(&stream->lanes[0]);
  stream->lanes[0].attention &= (uint8_t)~HWI_LANE_NEW_CHUNK;
  stream->lanes[0].busy = 0;
  if (!hwi_session.has_launcher)
    hwi_os_at_thread_end(stream);
  return stream;
}

/* Another thread began the recording of this forked child, so that the calling one still names its stream of before. */
static void leave_parents_stream(void)
{
  before_fork = hwi_stream_self;
  before_fork->is_kept = false;
  hwi_stream_self = NULL;
}

struct hwi_lane *hwi_stream_enter_slow(uintptr_t frame)
{
  if (!atomic_load_explicit(&hwi_session.liveness->live, memory_order_acquire) && !hwi_session_start())
    return NULL;
  if (hwi_stream_self && !hwi_stream_self->tid)
    leave_parents_stream();
  struct hwi_thread_stream *self = hwi_stream_self;
  if (!self && !(self = attach(frame))) {
    hwi_session_lose(HW_LOSS_MEMORY);
    return NULL;
  }
  struct hwi_lane *lane = take_lane(self, frame);
  if (!lane)
    return NULL;
  if (lane->attention & HWI_LANE_HAS_PENDING_FREE)
    hwi_pending_free_write(lane, 0);
  if (lane->attention & HWI_LANE_NEW_CHUNK) {
    lane->attention &= HWI_LANE_OF_THREAD;
    refresh_thread(self, lane);
    hwi_describe_rss(lane, false);
    lane->attention &= HWI_LANE_OF_THREAD;
  }
  uint32_t epoch = lane->attention ? HWI_NO_EPOCH : lane->module_epoch;
  bool is_sample = hwi_session.fields & HW_FIELD_SAMPLED;
  lane->fast_epoch = is_sample ? HWI_NO_EPOCH : epoch;
  lane->skip_epoch = is_sample && lane->chunk ? epoch : HWI_NO_EPOCH;
  return lane;
}

void hwi_stream_rename(struct hwi_lane *lane, const char *name)
{
  struct hwi_thread_stream *self = hwi_stream_self;
  size_t bytes = strnlen(name, sizeof self->name - 1);
  memset(self->name, 0, sizeof self->name);
  memcpy(self->name, name, bytes);
  put_thread(self, lane);
}

/* --- threads that cannot make system calls --- */

void hwi_stream_seal(uintptr_t frame)
{
  struct hwi_lane *lane = hwi_stream_enter(frame);
  if (lane) {
    hwi_lane_begin_last_chunk(lane);
    lane->attention &= (uint8_t)~HWI_LANE_NEW_CHUNK; /* its thread was checked just now */
    hwi_stream_leave(lane);
  }
  struct hwi_thread_stream *self = hwi_stream_self;
  for (int i = 0; i < 2 && self; i++)
    hwi_lane_request_attention(&self->lanes[i], HWI_LANE_SEALED);
}

void hwi_stream_note_seal(uintptr_t frame)
{
  struct hwi_lane *lane = hwi_stream_enter(frame);
  if (!lane)
    return;
  uint8_t kind = HW_NOTE_STRICT;
  const char *name = hwi_stream_self->name;
  hwi_lane_put_record(lane, HW_RECORD_NOTE, (struct hwi_bytes){&kind, 1},
                      (struct hwi_bytes){name, (uint32_t)strnlen(name, sizeof hwi_stream_self->name)});
  hwi_stream_leave(lane);
}

void hwi_stream_unseal(void)
{
  struct hwi_thread_stream *self = hwi_stream_self;
  for (int i = 0; i < 2 && self; i++)
    self->lanes[i].attention &= (uint8_t)~HWI_LANE_SEALED;
}

uint64_t hwi_stream_latest_tick(void)
{
  uint64_t latest = 0;
  for (struct hwi_thread_stream *stream = atomic_load(&all_streams); stream; stream = stream->next)
    for (int i = 0; i < 2; i++) {
      uint64_t tick = __atomic_load_n(&stream->lanes[i].last_tick, __ATOMIC_RELAXED);
      latest = tick > latest ? tick : latest;
    }
  return latest;
}

static bool is_in(const struct hwi_open_scopes *open, uint64_t task)
{
  for (uint32_t i = __atomic_load_n(&open->task_count, __ATOMIC_RELAXED); i-- > 0;)
    if (__atomic_load_n(&open->tasks[i].number, __ATOMIC_RELAXED) == task)
      return true;
  return false;
}

bool hwi_stream_another_is_in(uint64_t task)
{
  for (struct hwi_thread_stream *stream = atomic_load(&all_streams); stream; stream = stream->next)
    if (stream != hwi_stream_self && hwi_os_claim_is_held(&stream->claim) && is_in(&stream->open, task))
      return true;
  return false;
}

static bool end_in(struct hwi_open_scopes *open, uint64_t key)
{
  uint32_t depth = __atomic_load_n(&open->depth, __ATOMIC_RELAXED);
  for (uint32_t i = depth < HWI_OPEN_SCOPES ? depth : HWI_OPEN_SCOPES; i-- > 0;) {
    uint64_t expected = key;
    if (atomic_load_explicit(&open->keys[i], memory_order_relaxed) == key &&
        atomic_compare_exchange_strong(&open->keys[i], &expected, HWI_SCOPE_HAS_ENDED))
      return true;
  }
  return false;
}

void hwi_stream_end_in_another(uint64_t key)
{
  for (struct hwi_thread_stream *stream = atomic_load(&all_streams); stream; stream = stream->next)
    if (stream != hwi_stream_self && hwi_os_claim_is_held(&stream->claim) && end_in(&stream->open, key))
      return;
}

void hwi_stream_thread_ends(void *argument)
{
  struct hwi_thread_stream *stream = argument;
  if (stream != hwi_stream_self || hwi_session.has_launcher || !atomic_load(&hwi_session.liveness->live))
    return;
  struct hwi_lane *lane = hwi_stream_enter((uintptr_t)__builtin_frame_address(0));
  if (!lane)
    return;
  refresh_thread(stream, lane);
  hwi_stream_leave(lane);
}

/* A handler forked in the middle of an event, which will also be completed in this child: private memory replaces the
 * chunk, so that it cannot write to the parent's. The stream stays in use for ever. */
static void divert(struct hwi_thread_stream *stream)
{
  for (int i = 0; i < 2; i++) {
    struct hwi_lane *lane = &stream->lanes[i];
    if (lane->chunk)
      hwi_os_replace_by_private(lane->chunk, lane->chunk_bytes);
    if (lane->new_chunk.chunk)
      hwi_os_replace_by_private(lane->new_chunk.chunk, lane->new_chunk.bytes);
  }
}

bool hwi_streams_after_fork(void)
{
  struct hwi_thread_stream *self = hwi_stream_self;
  bool interrupted = self && (self->lanes[0].busy || self->lanes[1].busy);
  for (struct hwi_thread_stream *stream = atomic_load(&all_streams); stream; stream = stream->next) {
    if (stream == self && interrupted) {
      divert(stream);
      continue;
    }
    stream->tid = 0;
    stream->is_kept = !self; /* the thread that forked may have any of them */
    hwi_os_claim_init_in_child(&stream->claim, stream == self);
    for (int i = 0; i < 2; i++) {
      stream->lanes[i].fast_epoch = stream->lanes[i].skip_epoch = HWI_NO_EPOCH;
      stream->lanes[i].chunk = NULL;
      stream->lanes[i].at = stream->lanes[i].end = NULL;
    }
  }
  before_fork = interrupted ? NULL : self;
  hwi_stream_self = NULL;
  return interrupted;
}

/* --- the begin --- */

void hwi_stream_begin(void)
{
  hwi_real_find_interposed(); /* a child of vfork that executes a program must not find them */
  struct hwi_lane *lane = hwi_stream_enter((uintptr_t)__builtin_frame_address(0));
  if (!lane)
    return;
  hwi_stream_leave(lane);
  hwi_notes_find(); /* the program's code changes only if it is recorded */
  lane = hwi_stream_enter((uintptr_t)__builtin_frame_address(0));
  if (lane) {
    hwi_notes_put(lane);
    hwi_stream_leave(lane);
  }
  if (!hwi_session.has_launcher && hwi_os_prepare_thread_end(hwi_stream_thread_ends, false) == 0)
    hwi_os_at_thread_end(hwi_stream_self);
}

bool hwi_stream_begin_for_collector(void)
{
  if (hwi_real_is_loaded_late && !hwi_real_is_left_alone)
    hwi_stream_begin();
  return !hwi_real_is_left_alone;
}
