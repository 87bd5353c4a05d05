/* threads.c - notes the names and scheduling of a recorded process's threads in its trace */
#include "launch/follow/threads.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "platform/os_tools.h"
#include "trace/grow.h"

enum {
  /* A quarter of the tool area: other records need the rest. */
  NOTED_MAX = HW_TOOL_AREA_BYTES / 4 / (sizeof(struct hw_tool_record) + sizeof(struct hw_thread_state)),
};
static const uint64_t seldom_ns = 5000000000u, often_ns = 25000000u;
static const uint64_t share_of_one_ns = 2000000u; /* a hundred times the cost of looking at one thread */

/* Threads set their names soon after they start, if at all. So the next look is when the thread is twice as old. */
struct hwi_seen_thread {
  uint32_t tid;
  uint64_t began_ns, next_ns;
  struct hw_thread_state noted;
};

static void add(struct hwi_threads *threads, const union hw_thread_hint *hint, uint64_t now_ns)
{
  if (!hwi_grow((void **)&threads->seen, &threads->capacity, threads->count + 1, sizeof *threads->seen))
    return;
  threads->seen[threads->count++] = (struct hwi_seen_thread){
      .tid = hint->tid,
      .began_ns = now_ns,
      .noted = {.number = hint->number, .policy = UINT8_MAX},
  };
}

static void find_new(struct hwi_threads *threads, const struct hwi_drain *drain, uint64_t now_ns)
{
  union hw_thread_hint hints[HW_THREAD_HINTS];
  if (pread(drain->fd, hints, sizeof hints, offsetof(struct hw_trace_header, threads)) != (ssize_t)sizeof hints)
    return;
  for (size_t i = 0; i < HW_THREAD_HINTS; i++)
    if (hints[i].tid && hints[i].word != threads->hints[i].word)
      add(threads, &hints[i], now_ns);
  memcpy(threads->hints, hints, sizeof hints);
}

/* Returns false if the thread is gone. */
static bool look_at(struct hwi_threads *threads, struct hwi_seen_thread *thread, struct hwi_drain *drain,
                    uint64_t now_ns)
{
  struct hw_thread_state state = {.number = thread->noted.number};
  static_assert(sizeof state.name == HWI_OS_NAME_BYTES, "a trace holds a thread's whole name");
  if (!hwi_os_process_thread(drain->pid, thread->tid, state.name, &state.policy, &state.priority))
    return false;
  if (memcmp(&state, &thread->noted, sizeof state) != 0 && threads->noted < NOTED_MAX &&
      hwi_tool_log_append(&drain->log, HW_TOOL_THREAD, now_ns, &state, sizeof state) == 0) {
    thread->noted = state;
    threads->noted++;
  }
  return true;
}

static uint64_t interval_ns(const struct hwi_threads *threads, const struct hwi_seen_thread *thread, uint64_t now_ns)
{
  uint64_t age = now_ns - thread->began_ns, longest = seldom_ns + threads->count * share_of_one_ns;
  return age < often_ns ? often_ns : age < longest ? age : longest;
}

void hwi_threads_look(struct hwi_threads *threads, struct hwi_drain *drain, uint64_t now_ns)
{
  size_t kept = 0;
  find_new(threads, drain, now_ns);
  for (size_t i = 0; i < threads->count; i++) {
    struct hwi_seen_thread *thread = &threads->seen[i];
    if (now_ns >= thread->next_ns) {
      if (!look_at(threads, thread, drain, now_ns))
        continue;
      thread->next_ns = now_ns + interval_ns(threads, thread, now_ns);
    }
    threads->seen[kept++] = *thread;
  }
  threads->count = kept;
}

void hwi_threads_release(struct hwi_threads *threads)
{
  free(threads->seen);
  *threads = (struct hwi_threads){0};
}
