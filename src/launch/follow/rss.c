/* rss.c - samples the resident set of a recorded process into its trace */
#include "launch/follow/rss.h"

#include <stddef.h>
#include <time.h>
#include <unistd.h>

#include "launch/target/preload.h"
#include "platform/os_tools.h"

static const uint64_t second_ns = 1000000000u, first_interval_ns = 20000000u;
enum {
  COST_SHARE = 100,
  AGE_SHARE = 50,
  PEAK_STEP = 50,
  HALF_FULL = 440,
  NEARLY_FULL = 660,
  SLOWER = 8,
  MUCH_SLOWER = 64
};

/* The tool area must last as long as the program runs: samples become rarer after an hour, and come once a minute after
 * a night. */
static uint64_t interval_ns(const struct hwi_rss *rss, const struct hwi_drain *drain, uint64_t now_ns)
{
  uint32_t fill = hwi_tool_log_fill(&drain->log);
  uint64_t of_age = (now_ns - rss->began_ns) / AGE_SHARE;
  if (of_age < second_ns)
    return of_age > first_interval_ns ? of_age : first_interval_ns;
  return second_ns * (fill < HALF_FULL ? 1u : fill < NEARLY_FULL ? SLOWER : MUCH_SLOWER);
}

static uint64_t own_cpu_ns(void)
{
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return (uint64_t)time.tv_sec * second_ns + (uint64_t)time.tv_nsec;
}

/* Reads the mappings at any sample, as long as this costs no more than a hundredth of the time. */
static void look_at_maps(struct hwi_rss *rss, const struct hwi_drain *drain, uint64_t now_ns,
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
  rss->next_maps_ns = now_ns + (own_cpu_ns() - before_ns) * COST_SHARE;
}

void hwi_rss_note_peak(struct hwi_rss *rss, const struct hwi_drain *drain, uint64_t peak_bytes)
{
  if (peak_bytes <= rss->noted_peak_bytes)
    return;
  rss->noted_peak_bytes = peak_bytes;
  (void)!pwrite(drain->fd, &peak_bytes, sizeof peak_bytes, offsetof(struct hw_trace_header, rss_peak_bytes));
}

static void append(struct hwi_rss *rss, struct hwi_drain *drain, uint64_t now_ns, struct hw_rss_sample *sample)
{
  sample->recorder = rss->recorder_bytes;
  sample->stacks = rss->stack_bytes;
  if (sample->rss > rss->peak_bytes)
    rss->peak_bytes = sample->rss;
  if (!rss->began_ns)
    rss->began_ns = now_ns;
  rss->next_ns = now_ns + interval_ns(rss, drain, now_ns);
  (void)!hwi_tool_log_append(&drain->log, HW_TOOL_RSS, now_ns, sample, sizeof *sample);
}

/* After an exec the process still exists, but has the memory of another image. */
static bool is_of_image(const struct hwi_drain *drain, uint64_t stack_start)
{
  return !stack_start || hwi_os_process_stack_start(drain->pid) == stack_start;
}

void hwi_rss_sample(struct hwi_rss *rss, struct hwi_drain *drain, uint64_t stack_start, uint64_t now_ns)
{
  struct hwi_os_resident resident;
  if (!hwi_os_process_resident(drain->pid, &resident))
    return;
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
  if (!is_of_image(drain, stack_start))
    return;
  hwi_rss_note_peak(rss, drain, resident.peak);
  if (is_wanted)
    append(rss, drain, now_ns, &sample);
}
