/* samples.c - samples a recorded process into its trace: its resident memory, its threads, its libraries */
#include "launch/follow/samples.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "launch/target/preload.h"
#include "platform/os_tools.h"
#include "trace/grow.h"

/* --- resident memory --- */

static const uint64_t second_ns = 1000000000u, first_interval_ns = 20000000u, first_interval_of_sample_ns = 250000000u;
enum {
  COST_SHARE = 100,
  COST_SHARE_OF_SAMPLE = 1000,
  AGE_SHARE = 50,
  PEAK_STEP = 50,
  HALF_FULL = 440,
  NEARLY_FULL = 660,
  SLOWER = 8,
  MUCH_SLOWER = 64
};

/* A recording with a sample must cost a percent at most. */
static bool is_sample(const struct hwi_drain *drain)
{
  return drain->header.sample_bytes;
}

/* The tool area must last as long as the program runs: samples become rarer after an hour, and come once a minute after
 * a night. */
static uint64_t sample_interval_ns(const struct hwi_rss_samples *rss, const struct hwi_drain *drain, uint64_t now_ns)
{
  uint32_t fill = hwi_tool_log_fill(&drain->log);
  uint64_t of_age = (now_ns - rss->began_ns) / AGE_SHARE;
  uint64_t least_ns = is_sample(drain) ? first_interval_of_sample_ns : first_interval_ns;
  if (of_age < second_ns)
    return of_age > least_ns ? of_age : least_ns;
  return second_ns * (fill < HALF_FULL ? 1u : fill < NEARLY_FULL ? SLOWER : MUCH_SLOWER);
}

static uint64_t own_cpu_ns(void)
{
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return (uint64_t)time.tv_sec * second_ns + (uint64_t)time.tv_nsec;
}

/* Reads the mappings at any sample, as long as this costs no more than a hundredth of the time, or a thousandth. */
static void look_at_maps(struct hwi_rss_samples *rss, const struct hwi_drain *drain, uint64_t now_ns,
                         struct hw_rss_sample *sample)
{
  struct hwi_os_file trace = {drain->path, drain->inode};
  struct hwi_os_memory_use use;
  uint64_t before_ns = own_cpu_ns(); /* CPU time, without the time that a busy machine makes it wait */
  if (!hwi_os_process_memory_use(drain->pid, &trace, HWI_RECORDER_NAME, &use))
    return;
  rss->recorder_bytes = use.recorder;
  rss->stack_bytes = use.stacks;
  sample->mapped = use.mapped;
  sample->heap = use.heap;
  sample->files = use.files;
  sample->untouched = use.untouched;
  sample->large = use.large;
  rss->next_maps_ns = now_ns + (own_cpu_ns() - before_ns) * (is_sample(drain) ? COST_SHARE_OF_SAMPLE : COST_SHARE);
}

void hwi_samples_defer(struct hwi_samples *samples, const struct hwi_drain *drain, uint64_t now_ns)
{
  samples->rss.next_maps_ns = now_ns + second_ns;
  samples->rss.next_ns = is_sample(drain) ? now_ns + first_interval_of_sample_ns : 0;
}

static void note_peak(struct hwi_rss_samples *rss, const struct hwi_drain *drain, uint64_t peak_bytes)
{
  if (peak_bytes <= rss->noted_peak_bytes)
    return;
  rss->noted_peak_bytes = peak_bytes;
  (void)!pwrite(drain->fd, &peak_bytes, sizeof peak_bytes, offsetof(struct hw_trace_header, rss_peak_bytes));
}

static void append(struct hwi_rss_samples *rss, struct hwi_drain *drain, uint64_t now_ns, struct hw_rss_sample *sample)
{
  sample->recorder = rss->recorder_bytes;
  sample->stacks = rss->stack_bytes;
  if (sample->rss > rss->peak_bytes)
    rss->peak_bytes = sample->rss;
  if (!rss->began_ns)
    rss->began_ns = now_ns;
  rss->next_ns = now_ns + sample_interval_ns(rss, drain, now_ns);
  (void)!hwi_tool_log_append(&drain->log, HW_TOOL_RSS, now_ns, sample, sizeof *sample);
}

/* After an exec the process still exists, but has the memory of another image. */
static bool is_of_image(const struct hwi_drain *drain, uint64_t stack_start)
{
  return !stack_start || hwi_os_process_stack_start(drain->pid) == stack_start;
}

/* --- the control group --- */

static bool read_group(struct hwi_group_samples *group, struct hwi_os_cgroup_memory *memory)
{
  if (!group->folder || !hwi_os_cgroup_memory(group->folder, memory))
    return false;
  group->limit = memory->limit;
  group->kills = memory->oom_kills > group->first_kills ? memory->oom_kills - group->first_kills : 0;
  return true;
}

static void find_group(struct hwi_group_samples *group, uint32_t pid)
{
  char folder[HWI_OS_PATH_BYTES];
  struct hwi_os_cgroup_memory memory;
  if (!hwi_os_process_cgroup(pid, "memory", folder) || (group->folder && strcmp(group->folder, folder) == 0))
    return;
  free(group->folder);
  *group = (struct hwi_group_samples){.folder = strdup(folder)};
  group->first_kills = read_group(group, &memory) ? memory.oom_kills : 0;
}

/* Reading the group costs less than finding it. */
static void sample_group(struct hwi_group_samples *group, uint32_t pid, uint64_t now_ns, struct hw_rss_sample *sample)
{
  struct hwi_os_cgroup_memory memory;
  if (now_ns >= group->next_find_ns) {
    find_group(group, pid);
    group->next_find_ns = now_ns + second_ns;
  }
  if (!read_group(group, &memory))
    return;
  sample->group_limit = memory.limit;
  sample->group_current = memory.current;
  sample->group_oom_kills = group->kills;
}

uint64_t hwi_samples_oom_kills(struct hwi_samples *samples)
{
  struct hwi_os_cgroup_memory memory;
  (void)!read_group(&samples->group, &memory); /* a group that is gone keeps what was last seen */
  return samples->group.kills;
}

/* --- both of them --- */

static void sample_memory(struct hwi_samples *samples, struct hwi_drain *drain, uint64_t stack_start, uint64_t now_ns)
{
  struct hwi_rss_samples *rss = &samples->rss;
  struct hwi_os_resident resident;
  bool is_deferred = !rss->began_ns && now_ns < rss->next_ns;
  if (is_deferred || !hwi_os_process_resident(drain->pid, &resident))
    return;
  rss->bytes = resident.all;
  struct hw_rss_sample sample = {
      .rss = resident.all,
      .anonymous = resident.anonymous,
      .file = resident.file,
      .shmem = resident.shared,
      .swap = resident.swapped,
  };
  bool is_peak = sample.rss > rss->peak_bytes + rss->peak_bytes / PEAK_STEP;
  bool is_wanted = now_ns >= rss->next_ns || is_peak;
  if (!is_wanted && resident.peak <= rss->noted_peak_bytes)
    return;
  if (is_wanted && now_ns >= rss->next_maps_ns)
    look_at_maps(rss, drain, now_ns, &sample);
  if (is_wanted)
    sample_group(&samples->group, drain->pid, now_ns, &sample);
  if (!is_of_image(drain, stack_start))
    return;
  note_peak(rss, drain, resident.peak);
  if (is_wanted)
    append(rss, drain, now_ns, &sample);
}

/* --- threads --- */

enum {
  /* A quarter of the tool area: other records need the rest. */
  THREADS_NOTED_MAX = HW_TOOL_AREA_BYTES / 4 / (sizeof(struct hw_tool_record) + sizeof(struct hw_thread_state)),
};
static const uint64_t thread_seldom_ns = 5000000000u, thread_often_ns = 25000000u;
static const uint64_t thread_share_ns = 2000000u; /* a hundred times the cost of looking at one thread */

/* Threads set their names soon after they start, if at all. So the next look is when the thread is twice as old. */
struct hwi_seen_thread {
  uint32_t tid;
  uint64_t began_ns, next_ns;
  struct hw_thread_state noted;
};

static void add_thread(struct hwi_thread_samples *threads, const union hw_thread_hint *hint, uint64_t now_ns)
{
  if (!hwi_grow((void **)&threads->seen, &threads->capacity, threads->count + 1, sizeof *threads->seen))
    return;
  threads->seen[threads->count++] = (struct hwi_seen_thread){
      .tid = hint->tid,
      .began_ns = now_ns,
      .noted = {.number = hint->number, .policy = UINT8_MAX},
  };
}

static void find_new_threads(struct hwi_thread_samples *threads, const struct hwi_drain *drain, uint64_t now_ns)
{
  union hw_thread_hint hints[HW_THREAD_HINTS];
  if (pread(drain->fd, hints, sizeof hints, offsetof(struct hw_trace_header, threads)) != (ssize_t)sizeof hints)
    return;
  for (size_t i = 0; i < HW_THREAD_HINTS; i++)
    if (hints[i].tid && hints[i].word != threads->hints[i].word)
      add_thread(threads, &hints[i], now_ns);
  memcpy(threads->hints, hints, sizeof hints);
}

/* Returns false if the thread is gone. */
static bool look_at_thread(struct hwi_thread_samples *threads, struct hwi_seen_thread *thread, struct hwi_drain *drain,
                           uint64_t now_ns)
{
  struct hw_thread_state state = {.number = thread->noted.number};
  static_assert(sizeof state.name == HWI_OS_NAME_BYTES, "a trace holds a thread's whole name");
  if (!hwi_os_process_thread(drain->pid, thread->tid, state.name, &state.policy, &state.priority))
    return false;
  if (memcmp(&state, &thread->noted, sizeof state) != 0 && threads->noted < THREADS_NOTED_MAX &&
      hwi_tool_log_append(&drain->log, HW_TOOL_THREAD, now_ns, &state, sizeof state) == 0) {
    thread->noted = state;
    threads->noted++;
  }
  return true;
}

static uint64_t thread_interval_ns(const struct hwi_thread_samples *threads, const struct hwi_seen_thread *thread,
                                   uint64_t now_ns)
{
  uint64_t age = now_ns - thread->began_ns, longest = thread_seldom_ns + threads->count * thread_share_ns;
  return age < thread_often_ns ? thread_often_ns : age < longest ? age : longest;
}

static void sample_threads(struct hwi_thread_samples *threads, struct hwi_drain *drain, uint64_t now_ns)
{
  size_t kept = 0;
  find_new_threads(threads, drain, now_ns);
  for (size_t i = 0; i < threads->count; i++) {
    struct hwi_seen_thread *thread = &threads->seen[i];
    if (now_ns >= thread->next_ns) {
      if (!look_at_thread(threads, thread, drain, now_ns))
        continue;
      thread->next_ns = now_ns + thread_interval_ns(threads, thread, now_ns);
    }
    threads->seen[kept++] = *thread;
  }
  threads->count = kept;
}

/* --- libraries --- */

enum { LIBRARIES_NOTED_MAX = 1024, PATH_BYTES_MAX = 4096 };
static const uint64_t first_look_ns = 50000000u, last_look_ns = 5000000000u;

/* A library that is noted in the trace. */
struct hwi_noted_library {
  uint64_t start, path_hash;
};

struct look {
  struct hwi_library_samples *libraries;
  struct hwi_drain *drain;
  uint64_t now_ns;
  char path[PATH_BYTES_MAX + 1]; /* of the file whose mappings are being read */
  uint64_t start;                /* of its first mapping */
  bool is_noted;
};

static bool is_noted(const struct hwi_library_samples *libraries, const struct hwi_noted_library *library)
{
  for (size_t i = 0; i < libraries->count; i++)
    if (libraries->noted[i].start == library->start && libraries->noted[i].path_hash == library->path_hash)
      return true;
  return false;
}

/* Returns true if no more are wanted. */
static bool note_library(struct look *look)
{
  struct hwi_library_samples *libraries = look->libraries;
  struct hwi_noted_library library = {look->start, hwi_fnv_text(look->path)};
  char payload[sizeof look->start + PATH_BYTES_MAX];
  size_t bytes = strlen(look->path);
  if (is_noted(libraries, &library))
    return false;
  if (libraries->count == LIBRARIES_NOTED_MAX ||
      !hwi_grow((void **)&libraries->noted, &libraries->capacity, libraries->count + 1, sizeof *libraries->noted))
    return true;
  memcpy(payload, &look->start, sizeof look->start);
  memcpy(payload + sizeof look->start, look->path, bytes);
  if (hwi_tool_log_append(&look->drain->log, HW_TOOL_FILE, look->now_ns, payload,
                          (uint32_t)(sizeof look->start + bytes)) == 0)
    libraries->noted[libraries->count++] = library;
  return false;
}

/* A file with code is noted with the start of the first of its mappings, which follow each other. */
static bool look_at_mapping(void *context, const struct hwi_os_mapping *mapping)
{
  struct look *look = context;
  if (strlen(mapping->name) > PATH_BYTES_MAX)
    return false;
  if (strcmp(mapping->name, look->path) != 0) { /* another file begins */
    memcpy(look->path, mapping->name, strlen(mapping->name) + 1);
    look->start = mapping->start;
    look->is_noted = false;
  }
  if (look->is_noted || *look->path != '/' || !(mapping->access & HWI_OS_EXECUTE))
    return false;
  look->is_noted = true;
  return note_library(look);
}

static void sample_libraries(struct hwi_library_samples *libraries, struct hwi_drain *drain, uint64_t now_ns)
{
  uint32_t pid = drain->pid;
  if (now_ns < libraries->next_ns)
    return;
  if (!libraries->moved && hwi_os_process_is_elsewhere(pid)) {
    libraries->moved = true;
    libraries->interval_ns = first_look_ns;
  }
  if (libraries->moved) {
    hwi_os_each_mapping(pid, look_at_mapping, &(struct look){.libraries = libraries, .drain = drain, .now_ns = now_ns});
    libraries->next_ns = now_ns + libraries->interval_ns;
    libraries->interval_ns = libraries->interval_ns * 2 < last_look_ns ? libraries->interval_ns * 2 : last_look_ns;
  }
}

/* --- all of them --- */

void hwi_samples_take(struct hwi_samples *samples, struct hwi_drain *drain, uint64_t stack_start, uint64_t now_ns)
{
  sample_memory(samples, drain, stack_start, now_ns);
  sample_threads(&samples->threads, drain, now_ns);
  sample_libraries(&samples->libraries, drain, now_ns);
}

void hwi_samples_note_peak(struct hwi_samples *samples, const struct hwi_drain *drain, uint64_t peak_bytes)
{
  note_peak(&samples->rss, drain, peak_bytes);
}

void hwi_samples_release(struct hwi_samples *samples)
{
  free(samples->group.folder);
  free(samples->threads.seen);
  free(samples->libraries.noted);
  *samples = (struct hwi_samples){0};
}
