/* monitor.c - follows the traces of a run while it goes on */
#include "launch/follow/monitor.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/base_name.h"
#include "launch/follow/resident_process.h"
#include "launch/pack/compact.h"
#include "launch/tool_log.h"
#include "platform/arch.h"
#include "platform/os_tools.h"
#include "trace/anchor.h"
#include "trace/grow.h"
#include "trace/read/alive.h"
#include "trace/read/unseen_programs.h"

static const uint64_t second_ns = 1000000000u;
enum {
  LONG_BYTES = 32 << 20,
  ANCHOR_SECONDS = 10,
  ANCHORS_OF_A_RUN = 256,
  OPEN_MAX = 400,
  OFTEN_MAX = 8,
  FIND_SHARE = 50
};

/* pack_ns: chunks that are not packed when the command ends are work for which the user waits. */
static const uint64_t look_ns = 20000000u, look_at_many_ns = 100000000u, pack_ns = 25000000u, pack_idle_ns = 100000000u;

int hwi_monitor_init(struct hwi_monitor *monitor, const struct hwi_monitor_options *options)
{
  *monitor = (struct hwi_monitor){
      .options = *options,
      .saver = {options->name, options->save_rules, options->save_rule_count, options->saves},
  };
  if (asprintf(&monitor->folder, "%s.children", options->name) < 0)
    monitor->folder = NULL;
  if (options->pack)
    monitor->packer = hwi_packer_create();
  return monitor->folder && (monitor->packer || !options->pack) ? 0 : HW_ERR_MEMORY;
}

static void close_trace(struct hwi_watched *trace)
{
  hwi_drain_close(&trace->drain);
  hwi_samples_release(&trace->samples);
}

void hwi_monitor_release(struct hwi_monitor *monitor)
{
  for (size_t i = 0; i < monitor->count; i++)
    close_trace(&monitor->traces[i]);
  free(monitor->traces);
  hwi_store_release(&monitor->names);
  free(monitor->folder);
  hwi_packer_destroy(monitor->packer);
  hwi_unseen_release(&monitor->unseen);
}

/* --- finding traces --- */

/* A child that starts while the run is paused is paused, too. If the child itself was switched before it was found
 * here, that stays. */
static void follow_switch(struct hwi_monitor *monitor, struct hwi_watched *trace)
{
  enum hw_control begun = trace->drain.header.started_paused ? HW_CONTROL_PAUSE : HW_CONTROL_RECORD;
  if (hwi_control_word_get(&trace->drain.log) != begun)
    return;
  enum hw_control wanted =
      monitor->paused_by_duration ? HW_CONTROL_PAUSE : hwi_control_word_get(&monitor->traces[0].drain.log);
  (void)!hwi_control_word_set(&trace->drain.log, wanted, NULL);
}

/* Takes ownership of `path`. Returns false if it is not a trace of ours yet, or if there is no memory. Room is made
 * first: nothing may fail after the drain owns the path and has the file open. */
static bool take(struct hwi_monitor *monitor, char *path)
{
  struct hwi_watched trace = {0};
  if (!path || monitor->count == OPEN_MAX ||
      !hwi_grow((void **)&monitor->traces, &monitor->capacity, monitor->count + 1, sizeof *monitor->traces) ||
      hwi_drain_open(&trace.drain, path, monitor->options.run_id, &monitor->options.keep) < 0) {
    free(path);
    return false;
  }
  if (monitor->count && trace.drain.pid != monitor->options.pid) /* most children end before this pays */
    hwi_samples_defer(&trace.samples, &trace.drain, hwi_monotonic_ns());
  monitor->traces[monitor->count++] = trace;
  const bool is_ring = monitor->options.keep.bytes || monitor->options.keep.ns; /* is counted when it is turned */
  if (((monitor->options.count && !is_ring) || monitor->saver.rule_count) && monitor->packer)
    hwi_drain_begin_counting(&monitor->traces[monitor->count - 1].drain);
  monitor->outcome.trace_count++;
  follow_switch(monitor, &monitor->traces[monitor->count - 1]);
  return true;
}

/* The folder may change again within the same tick of its file system's clock, so a recent time is not final. */
static bool is_settled(int64_t changed_ns)
{
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (int64_t)now.tv_sec * (int64_t)second_ns + now.tv_nsec - changed_ns > (int64_t)second_ns;
}

static void find_children(struct hwi_monitor *monitor)
{
  struct stat about;
  if (monitor->count == OPEN_MAX || lstat(monitor->folder, &about) < 0 || !S_ISDIR(about.st_mode))
    return;
  int64_t changed = (int64_t)about.st_mtim.tv_sec * (int64_t)second_ns + about.st_mtim.tv_nsec;
  if (changed == monitor->folder_changed_ns)
    return;
  DIR *folder = opendir(monitor->folder);
  if (!folder)
    return;
  bool all_taken = true;
  for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
    size_t bytes = strlen(entry->d_name);
    if (bytes < 4 || strcmp(entry->d_name + bytes - 4, ".hwt") != 0 ||
        hwi_store_find_text(&monitor->names, entry->d_name))
      continue;
    char *path = NULL;
    if (asprintf(&path, "%s/%s", monitor->folder, entry->d_name) < 0)
      path = NULL;
    if (take(monitor, path))
      hwi_store_intern_text(&monitor->names, entry->d_name);
    else
      all_taken = false; /* its header is not written yet, or too many are open */
  }
  closedir(folder);
  if (all_taken && is_settled(changed))
    monitor->folder_changed_ns = changed;
}

static void find_traces(struct hwi_monitor *monitor)
{
  if (!monitor->began_ns && take(monitor, strdup(monitor->options.name)))
    monitor->began_ns = hwi_monotonic_ns();
  if (monitor->began_ns)
    find_children(monitor);
}

/* --- what is done once a second --- */

static void put_anchor(struct hwi_watched *trace)
{
  struct hwi_moment moment = {0, 0};
  if (trace->drain.header.clock == HW_CLOCK_TSC)
    moment = hwi_moment_of(hwi_arch_clock_after_loads, hwi_monotonic_ns);
  else
    moment.outer = moment.inner = hwi_monotonic_ns();
  (void)!hwi_tool_log_append(&trace->drain.log, HW_TOOL_ANCHOR, moment.inner, &moment.outer, sizeof moment.outer);
}

static void fail(struct hwi_monitor *monitor, const struct hwi_error *error)
{
  if (!monitor->outcome.not_packed++)
    monitor->outcome.error = *error;
}

static bool is_written(const struct hwi_drain *drain)
{
  return hwi_trace_is_written_by(drain->pid, drain->fd, &drain->header);
}

/* After an exec the process has the same ID and start time, but its stack begins elsewhere. This is cheap enough for
 * each look; reading the mappings is not. */
static bool is_image_there(struct hwi_watched *trace)
{
  uint64_t stack_start = trace->is_over ? 0 : hwi_os_process_stack_start(trace->drain.pid);
  if (trace->is_over || (stack_start && stack_start == trace->stack_start))
    return !trace->is_over;
  trace->stack_start = stack_start;
  trace->is_over = !is_written(&trace->drain);
  trace->is_replaced = trace->is_over && stack_start;
  if (trace->is_over)
    put_anchor(trace); /* the last one in this trace */
  return !trace->is_over;
}

/* Keeps the counts of the image that allocated most; of several such images, that of the first one, as a report
 * does. */
static void take_counts(struct hwi_monitor *monitor, const struct hwi_drain *drain, const struct hwi_counts *counts)
{
  uint64_t began_ns = drain->header.start.monotonic_ns;
  if (monitor->outcome.has_counts &&
      (counts->allocated_bytes < monitor->outcome.counts.allocated_bytes ||
       (counts->allocated_bytes == monitor->outcome.counts.allocated_bytes && began_ns >= monitor->counted_began_ns)))
    return;
  monitor->outcome.has_counts = true;
  monitor->outcome.counts = *counts;
  monitor->counted_began_ns = began_ns;
}

/* `event_count` is the number of packed events; if the follower counted another number, its counts are invalid. */
static void end_counts(struct hwi_monitor *monitor, const struct hwi_drain *drain, bool is_packed, uint64_t event_count)
{
  struct hwi_counts counts;
  struct hwi_error ignored;
  if (is_packed && drain->follower && !hwi_follower_failed(drain->follower) &&
      hwi_follower_event_count(drain->follower) == event_count)
    take_counts(monitor, drain, hwi_follower_counts(drain->follower));
  else if (monitor->options.count && hwi_count_trace(&counts, drain->path, &ignored) == 0)
    take_counts(monitor, drain, &counts);
}

/* Takes the recorder's state from the current header. */
static void take_state(struct hwi_monitor *monitor, const struct hwi_drain *drain)
{
  uint32_t state;
  off_t at = offsetof(struct hw_trace_header, state);
  if (pread(drain->fd, &state, sizeof state, at) != sizeof state || state < HW_STATE_STOPPED_LIMIT)
    return;
  if (!monitor->outcome.silent_count++)
    monitor->outcome.silent_state = state;
}

static uint64_t written_bytes(const struct hwi_drain *drain)
{
  return drain->header.used_bytes > HW_CHUNKS_OFF ? drain->header.used_bytes - HW_CHUNKS_OFF : 0;
}

/* Compacts the trace, unless its process still runs or something failed before. Closes it in any case. */
static void end_trace(struct hwi_monitor *monitor, size_t i, enum hwi_effort effort)
{
  struct hwi_drain *drain = &monitor->traces[i].drain;
  struct hwi_compacted compacted = {0};
  bool is_over = monitor->traces[i].is_over; /* is_written cannot judge a later image that is ending */
  bool is_packed = false;
  struct hwi_error error = {0};
  take_state(monitor, drain);
  if (!is_over && is_written(drain)) {
    monitor->outcome.still_written++;
  } else if (drain->stopped) {
    hwi_error_set(&error, HW_ERR_IO, "packing %s stopped: %s", drain->path, strerror(drain->os_error));
    fail(monitor, &error);
  } else if (monitor->packer) {
    struct hwi_compaction compaction = {monitor->packer, drain->fd, drain->path, drain->path, NULL, NULL};
    hwi_packer_set_effort(monitor->packer, effort);
    hwi_drain_count_rest(drain, monitor->packer);
    hwi_drain_end_ring(drain, monitor->packer);
    if (hwi_compact(&compaction, &compacted, &error) < 0) {
      fail(monitor, &error);
    } else {
      monitor->outcome.event_count += compacted.event_count;
      monitor->outcome.packed_bytes += compacted.bytes;
      is_packed = true;
    }
  }
  end_counts(monitor, drain, is_packed, compacted.event_count);
  monitor->ended_bytes += written_bytes(drain);
  close_trace(&monitor->traces[i]);
  memmove(&monitor->traces[i], &monitor->traces[i + 1], (monitor->count - i - 1) * sizeof *monitor->traces);
  monitor->count--;
}

/* Ends the traces whose end was seen. So most of many short processes are packed while later ones run, and few remain
 * at the end, for which the user waits. NAME stays open to the end, since it records whether the run is paused. Images
 * of the command stay open, too, since they get its exit status. */
static void end_traces(struct hwi_monitor *monitor, bool (*interrupted)(void))
{
  for (size_t i = monitor->count; i-- > 1 && !interrupted();)
    if (monitor->traces[i].is_over && monitor->traces[i].drain.pid != monitor->options.pid)
      end_trace(monitor, i, HWI_EFFORT_QUICK);
}

static void pause_after_duration(struct hwi_monitor *monitor, uint64_t now)
{
  if (monitor->paused_by_duration || !monitor->options.duration_ns || !monitor->began_ns ||
      now - monitor->began_ns < monitor->options.duration_ns)
    return;
  monitor->paused_by_duration = true;
  for (size_t i = 0; i < monitor->count; i++)
    (void)!hwi_control_word_set(&monitor->traces[i].drain.log, HW_CONTROL_PAUSE, NULL);
}

static void look_for_unseen(struct hwi_monitor *monitor, uint64_t now)
{
  uint32_t before = monitor->unseen.unseen;
  struct hwi_unseen_run run = {monitor->options.pid, monitor->began_ns != 0, NULL};
  if (monitor->options.all_images)
    run.trace = hwi_base_name(monitor->options.name);
  hwi_unseen_look(&monitor->unseen, &run);
  if (monitor->unseen.unseen != before && monitor->count)
    (void)!hwi_tool_log_append(&monitor->traces[0].drain.log, HW_TOOL_UNSEEN, now, &monitor->unseen.unseen,
                               sizeof monitor->unseen.unseen);
}

/* The longer a run, the less often: the tool area must have room for those of weeks. */
static uint64_t next_anchor_ns(const struct hwi_watched *trace, uint64_t now)
{
  const uint64_t least_ns = ANCHOR_SECONDS * second_ns, began_ns = trace->drain.header.start.monotonic_ns;
  const uint64_t share_ns = now > began_ns ? (now - began_ns) / ANCHORS_OF_A_RUN : 0;
  return now + (share_ns > least_ns ? share_ns : least_ns);
}

/* Samples memory, threads and libraries of a process, and the time. */
static void look_at(struct hwi_watched *trace, uint64_t now)
{
  if (is_image_there(trace))
    hwi_samples_take(&trace->samples, &trace->drain, trace->stack_start, now);
  if (now >= trace->next_anchor_ns && !trace->is_over) {
    put_anchor(trace);
    trace->next_anchor_ns = next_anchor_ns(trace, now);
  }
}

/* Memory samples are taken when they are due. Threads, and new peaks between samples, are looked for ten times per
 * second; limits that are to be noticed, as often as possible. */
static uint64_t next_look(const struct hwi_monitor *monitor, size_t i, uint64_t now)
{
  const struct hwi_watched *trace = &monitor->traces[i];
  uint64_t soonest = now + (i < OFTEN_MAX ? look_ns : look_at_many_ns), latest = now + look_at_many_ns;
  if (monitor->saver.rule_count)
    return soonest;
  uint64_t sample_ns = trace->samples.rss.next_ns < latest ? trace->samples.rss.next_ns : latest;
  return sample_ns > soonest ? sample_ns : soonest;
}

/* Looks at the processes for which it is time. Returns when the next look is due. */
static uint64_t look_at_all(struct hwi_monitor *monitor)
{
  uint64_t next_ns = hwi_monotonic_ns() + look_ns;
  for (size_t i = 0; i < monitor->count; i++) {
    struct hwi_watched *trace = &monitor->traces[i];
    uint64_t now = hwi_monotonic_ns(); /* looking at many processes takes long */
    if (now >= trace->next_look_ns) {
      look_at(trace, now);
      trace->next_look_ns = next_look(monitor, i, now);
    }
    next_ns = trace->next_look_ns < next_ns ? trace->next_look_ns : next_ns;
  }
  return next_ns;
}

static void pack_some(struct hwi_watched *trace, struct hwi_packer *packer, const struct hwi_turn *turn)
{
  struct hwi_drain *drain = &trace->drain;
  uint64_t used_before = drain->header.used_bytes;
  bool more;
  if (hwi_drain_work(drain, packer, turn, &more) < 0) {
    drain->stopped = true;
    drain->os_error = ENOMEM;
  }
  bool has_grown = drain->header.used_bytes != used_before;
  trace->next_pack_ns = more ? 0 : hwi_monotonic_ns() + (has_grown ? pack_ns : pack_idle_ns);
}

/* Packs some of every trace, and before each does the looks that are due. Returns when there is more to pack, or 0: at
 * once. */
static uint64_t pack_all(struct hwi_monitor *monitor, uint64_t *next_look_ns, bool (*interrupted)(void))
{
  uint64_t next_ns = UINT64_MAX;
  for (size_t i = 0; i < monitor->count && !interrupted(); i++) {
    struct hwi_watched *trace = &monitor->traces[i];
    if (hwi_monotonic_ns() >= *next_look_ns)
      *next_look_ns = look_at_all(monitor);
    if (hwi_monotonic_ns() >= trace->next_pack_ns)
      pack_some(trace, monitor->packer, &(struct hwi_turn){*next_look_ns, interrupted});
    next_ns = trace->next_pack_ns < next_ns ? trace->next_pack_ns : next_ns;
  }
  return next_ns;
}

/* Looks for new traces; less often if the folder has so many that this takes long. */
static void find_when_due(struct hwi_monitor *monitor)
{
  uint64_t begin_ns = hwi_monotonic_ns();
  if (begin_ns < monitor->next_find_ns)
    return;
  find_traces(monitor);
  uint64_t end_ns = hwi_monotonic_ns();
  monitor->next_find_ns = end_ns + FIND_SHARE * (end_ns - begin_ns);
}

/* Begins to save if a process has crossed a limit. */
static void save_when_crossed(struct hwi_monitor *monitor)
{
  for (size_t i = 0; i < monitor->count; i++) {
    struct hwi_watched *trace = &monitor->traces[i];
    const struct hwi_follower *follower = trace->drain.follower;
    struct hwi_save_figures figures = {.now_ns = hwi_monotonic_ns(), .rss_bytes = trace->samples.rss.bytes};
    if (trace->is_over)
      continue;
    figures.has_live = follower && !hwi_follower_failed(follower) && !trace->drain.stopped;
    if (figures.has_live)
      figures.live_bytes = hwi_follower_counts(follower)->live_bytes;
    hwi_saver_look(&monitor->saver, trace->save_watches, trace->drain.pid, &figures);
  }
  hwi_saver_work(&monitor->saver);
}

/* A recording with a sample must cost a percent at most, and its traces grow slowly: what is due waits for the next tenth of
 * a second, unless a limit is watched. */
static bool may_wait(const struct hwi_monitor *monitor)
{
  return monitor->count && monitor->traces[0].drain.header.sample_bytes && !monitor->saver.rule_count;
}

/* A viewer reads shorter traces within about a second. */
static void start_resident_when_long(struct hwi_monitor *monitor)
{
  uint64_t bytes = monitor->ended_bytes;
  for (size_t i = 0; i < monitor->count; i++)
    bytes += written_bytes(&monitor->traces[i].drain);
  if (bytes >= LONG_BYTES)
    monitor->resident = hwi_resident_process_start(monitor->options.be_resident, monitor->options.name);
}

uint64_t hwi_monitor_poll(struct hwi_monitor *monitor, bool (*interrupted)(void))
{
  find_when_due(monitor);
  uint64_t now = hwi_monotonic_ns();
  pause_after_duration(monitor, now);
  uint64_t next_look_ns = look_at_all(monitor);
  uint64_t next_pack_ns = monitor->packer ? pack_all(monitor, &next_look_ns, interrupted) : UINT64_MAX;
  if (monitor->saver.rule_count)
    save_when_crossed(monitor);
  end_traces(monitor, interrupted);
  if (now >= monitor->next_slow_ns && !interrupted()) {
    look_for_unseen(monitor, now);
    if (monitor->options.be_resident && !monitor->resident)
      start_resident_when_long(monitor);
    monitor->next_slow_ns = now + second_ns;
  }
  uint64_t next_ns = next_pack_ns < next_look_ns ? next_pack_ns : next_look_ns;
  return next_ns && may_wait(monitor) && next_ns < now + look_at_many_ns ? now + look_at_many_ns : next_ns;
}

/* Returns whether the image executed another one, which may have begun and ended between two looks. */
static bool has_executed(const struct hwi_drain *drain)
{
  const off_t at = offsetof(struct hw_trace_header, exec.pid);
  uint32_t pid = 0;
  return pread(drain->fd, &pid, sizeof pid, at) == sizeof pid && pid != 0;
}

/* Writes the exit status into all images of the command. The peak RSS is noted in the last image, if that still existed
 * at the end. */
static void put_end(struct hwi_monitor *monitor, const struct hwi_monitor_end *end)
{
  struct hw_exit_status status = {
      .code = WIFEXITED(end->wait_status) ? (uint32_t)WEXITSTATUS(end->wait_status) : 0,
      .signal = WIFSIGNALED(end->wait_status) ? (uint32_t)WTERMSIG(end->wait_status) : 0,
  };
  struct hwi_watched *last = NULL;
  monitor->outcome.group_limit = end->group_limit;
  for (size_t i = 0; i < monitor->count; i++) {
    struct hwi_watched *trace = &monitor->traces[i];
    if (trace->drain.pid != monitor->options.pid)
      continue;
    status.group_oom_kills = end->oom_kills;
    const uint64_t kills = hwi_samples_oom_kills(&trace->samples);
    if (kills > status.group_oom_kills) { /* the command has a group of its own */
      status.group_oom_kills = kills;
      monitor->outcome.group_limit = trace->samples.group.limit;
    }
    monitor->outcome.oom_kills = status.group_oom_kills;
    (void)!hwi_tool_log_append(&trace->drain.log, HW_TOOL_EXIT, hwi_monotonic_ns(), &status, sizeof status);
    if (!last || trace->drain.header.start.monotonic_ns > last->drain.header.start.monotonic_ns)
      last = trace;
  }
  if (last && !last->is_replaced && !has_executed(&last->drain))
    hwi_samples_note_peak(&last->samples, &last->drain, end->rss_peak_bytes);
}

/* --- programs that left no trace --- */

struct unseen {
  struct hwi_monitor_outcome *outcome;
  uint32_t *pids; /* of those programs */
  size_t count, capacity;
  uint32_t in_headers; /* processes that headers record, including those programs */
};

static void name_unseen(struct hwi_monitor_outcome *outcome, const char name[HW_EXEC_NAME_BYTES])
{
  char whole[HW_EXEC_NAME_BYTES + 1] = "";
  memcpy(whole, name, HW_EXEC_NAME_BYTES);
  for (uint32_t i = 0; i < outcome->unseen_named; i++)
    if (strcmp(outcome->unseen_names[i], whole) == 0)
      return;
  if (whole[0] && outcome->unseen_named < HWI_UNSEEN_NAMED)
    memcpy(outcome->unseen_names[outcome->unseen_named++], whole, sizeof whole);
}

static void take_unseen(void *context, const struct hwi_unseen_exec *unseen)
{
  struct unseen *all = context;
  if (!hwi_grow((void **)&all->pids, &all->capacity, all->count + 1, sizeof *all->pids))
    return;
  all->pids[all->count++] = unseen->pid;
  all->in_headers += !unseen->is_counted;
  name_unseen(all->outcome, unseen->exec->name);
}

/* All processes that can end have ended. Processes that the headers record are counted from there, and no longer among
 * those seen from outside. The first trace is still open. */
static void count_unseen(struct hwi_monitor *monitor)
{
  struct hwi_run run = {0};
  struct hwi_error ignored;
  struct unseen all = {.outcome = &monitor->outcome};
  if (monitor->count && hwi_run_find(&run, monitor->options.name, false, &ignored) == 0)
    for (size_t i = 0; i < run.count; i++) {
      all.in_headers += run.images[i].header.children_unseen;
      hwi_unseen_programs_each(&run.images[i].header, &run.images[i].missing, take_unseen, &all);
    }
  uint32_t others = hwi_unseen_count_except(&monitor->unseen, all.pids, all.count);
  if (others != monitor->unseen.unseen)
    (void)!hwi_tool_log_append(&monitor->traces[0].drain.log, HW_TOOL_UNSEEN, hwi_monotonic_ns(), &others,
                               sizeof others);
  monitor->outcome.children_unseen = others + all.in_headers;
  free(all.pids);
  hwi_run_release(&run);
}

void hwi_monitor_finish(struct hwi_monitor *monitor, const struct hwi_monitor_end *end, bool (*interrupted)(void))
{
  /* Where no CPU is idle it ends late, so it is not waited for. Nor has it been before, if it has ended early: else its ID could be
   * that of another process now. */
  if (monitor->resident > 0)
    kill(monitor->resident, SIGKILL);
  hwi_saver_finish(&monitor->saver, interrupted);
  find_traces(monitor);
  for (size_t i = 0; i < monitor->count; i++)
    if (!monitor->traces[i].is_over)
      put_anchor(&monitor->traces[i]);
  put_end(monitor, end);
  do {
    monitor->folder_changed_ns = 0; /* there may be more than could be open at once */
    for (size_t i = monitor->count; i-- > 1 && !interrupted();)
      end_trace(monitor, i, HWI_EFFORT_FAST);
    find_children(monitor);
  } while (monitor->count > 1 && !interrupted());
  count_unseen(monitor);
  if (monitor->count && !interrupted())
    end_trace(monitor, 0, HWI_EFFORT_FAST);
}
