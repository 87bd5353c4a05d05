/* launch.c - runs a command under the recorder, from its start to the packed trace */
#include "launch/start/launch.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/output.h"
#include "launch/start/allocator.h"
#include "launch/start/monitor_process.h"
#include "launch/start/signals.h"
#include "launch/start/spawn.h"
#include "launch/target/preload.h"
#include "platform/os.h"
#include "platform/os_tools.h"
#include "ros/adapter.h"
#include "symbols/program_allocator.h"
#include "trace/grow.h"

static const uint64_t POLL_NS = 25000000, SLEEP_NS = UINT64_C(3600000000000);
enum { SIGNAL_STATUS = 128, RUSAGE_UNIT_BYTES = 1024 };

struct launch {
  const struct hwi_launch_options *options;
  struct hwi_launched *result;
  struct hwi_program program;
  struct hwi_signals signals;
  struct hwi_spawned spawned;
  struct hwi_os_watched watched; /* with `at_exit` */
  struct hwi_output output;
  char *libraries; /* for LD_PRELOAD, the recorder first. NULL: the command is not recorded */
  uint8_t run_id[HW_ID_BYTES];
};

static int fail(struct launch *launch, int exit_status)
{
  launch->result->exit_status = exit_status;
  return -1;
}

/* --- before the command --- */

static int find_program(struct launch *launch, const char *command)
{
  struct hwi_program *program = &launch->program;
  hwi_program_find(program, command);
  launch->result->obstacle = program->obstacle;
  int os_error = program->os_error;
  if (os_error == 0)
    return 0;
  hwi_error_set(&launch->result->error, HW_ERR_USAGE, "cannot run '%s': %s", command,
                program->path ? strerror(os_error) : "no such command");
  bool is_missing = os_error == ENOENT || os_error == ENOTDIR;
  return fail(launch, is_missing ? HWI_LAUNCH_NOT_FOUND : HWI_LAUNCH_NOT_EXECUTABLE);
}

/* Adds a library, whose malloc'd path it frees. */
static int add_library(struct launch *launch, char *path)
{
  char *before = launch->libraries;
  if (asprintf(&launch->libraries, "%s:%s", before, path) < 0) {
    launch->libraries = NULL;
    hwi_error_set(&launch->result->error, HW_ERR_MEMORY, "no memory");
  }
  free(before);
  free(path);
  return launch->libraries ? 0 : -1;
}

static int add_allocator(struct launch *launch, const char *command)
{
  const struct hwi_launch_options *options = launch->options;
  char *path = NULL;
  if (hwi_allocator_find(&path, options->allocator, &launch->result->error) < 0)
    return -1;
  const char *obstacle = hwi_allocator_obstacle(path, &launch->program);
  if (obstacle && launch->program.obstacle == HWI_OBSTACLE_NONE) /* others have a message already */
    options->warn(HWI_ON_OWN_MALLOC, command, obstacle);
  return add_library(launch, path);
}

/* The recorder comes before the allocator, so that it records it. */
static int find_libraries(struct launch *launch, const char *command)
{
  const struct hwi_launch_options *options = launch->options;
  struct hwi_error *error = &launch->result->error;
  char *path = NULL;
  if (hwi_preload_find_recorder(&launch->libraries, error) < 0)
    return -1;
  if (options->allocator && add_allocator(launch, command) < 0)
    return -1;
  if (options->ros && (hwi_preload_find(&path, HWI_ROS_NAME, error) < 0 || add_library(launch, path) < 0))
    return -1;
  return 0;
}

static void warn_of_allocator(const struct launch *launch, const char *command)
{
  const char *allocator = launch->program.allocator.linked_in, *advice = hwi_static_allocator_advice(allocator);
  launch->options->warn("'%s' has %s linked in: its calls do not reach the recorder%s%s", command, allocator,
                        advice ? "; to record them, " : "", advice ? advice : "");
}

/* A static program is recorded in case it starts others that can be recorded. With all other obstacles the loader would
 * print an error or ignore the recorder. */
static int find_recorder(struct launch *launch, const char *command)
{
  enum hwi_obstacle obstacle = launch->program.obstacle;
  if (obstacle != HWI_OBSTACLE_NONE)
    launch->options->warn("'%s' %s: it runs, but is not recorded%s", command, hwi_obstacle_text(obstacle),
                          obstacle == HWI_OBSTACLE_STATIC
                              ? " (programs that it starts are, where possible); to record it, link it with "
                                "`pkg-config --libs heapwright-static`"
                              : "");
  if (obstacle != HWI_OBSTACLE_NONE && obstacle != HWI_OBSTACLE_STATIC)
    return 0;
  if (launch->program.allocator.linked_in && !launch->program.allocator.is_redirected && !launch->options->quiet)
    warn_of_allocator(launch, command);
  if (find_libraries(launch, command) < 0)
    return fail(launch, HWI_LAUNCH_FAILED);
  if (getrandom(launch->run_id, sizeof launch->run_id, 0) != (ssize_t)sizeof launch->run_id) {
    hwi_error_set(&launch->result->error, HW_ERR_IO, "cannot make an ID for the run: %s", strerror(errno));
    return fail(launch, HWI_LAUNCH_FAILED);
  }
  return 0;
}

static void warn_of_disk(const struct launch *launch)
{
  enum { LITTLE_ROOM = 100 << 20, MB = 1000000 };
  const struct hwi_launch_options *options = launch->options;
  struct hwi_os_disk disk = hwi_output_disk(&launch->output);
  if (disk.is_memory)
    options->warn("the trace is in memory (tmpfs, ramfs), which the program may need; use %s to put it elsewhere",
                  options->output_option);
  const bool is_ring = options->keep.bytes || options->keep.ns;
  if (disk.free_bytes < LITTLE_ROOM && !options->max_size && !is_ring)
    options->warn(
        "%llu MB are left on the disk, and the trace uses at most half of them; use %s%s%s to put the trace elsewhere",
        (unsigned long long)(disk.free_bytes / MB), options->size_option ? options->size_option : "",
        options->size_option ? " to allow more, or " : "", options->output_option);
}

static int prepare_output(struct launch *launch, const char *command)
{
  struct hwi_error *error = &launch->result->error;
  if (hwi_output_init(&launch->output, launch->options->output, command, launch->spawned.pid, error) < 0 ||
      hwi_output_check(&launch->output, error) < 0 || hwi_output_set_aside(&launch->output, error) < 0)
    return -1;
  warn_of_disk(launch);
  return 0;
}

/* --- the environment of the command --- */

/* NAME=VALUE texts for the command, ended by NULL. The array and each text are malloc'd. */
struct variables {
  char **texts;
  size_t count, capacity;
  bool failed; /* no memory */
};

static void __attribute__((format(printf, 2, 3))) add_variable(struct variables *variables, const char *format, ...)
{
  char *text = NULL;
  va_list arguments;
  va_start(arguments, format);
  int bytes = vasprintf(&text, format, arguments);
  va_end(arguments);
  if (bytes < 0 ||
      !hwi_grow((void **)&variables->texts, &variables->capacity, variables->count + 2, sizeof *variables->texts)) {
    variables->failed = true;
    return;
  }
  variables->texts[variables->count++] = text;
  variables->texts[variables->count] = NULL;
}

/* Returns a variable as the user's own variables set it, otherwise as it is in our environment; NULL if it is empty. */
static const char *value_of(const char *name, const struct hwi_launch_options *options)
{
  const char *found = getenv(name);
  size_t bytes = strlen(name);
  for (size_t i = 0; i < options->variable_count; i++)
    if (strncmp(options->variables[i], name, bytes) == 0 && options->variables[i][bytes] == '=')
      found = options->variables[i] + bytes + 1;
  return found && *found ? found : NULL;
}

/* By these variables programs find a collector of what they state. */
static const struct collector {
  const char *variable, *collected;
} collectors[] = {{"INTEL_LIBITTNOTIFY64", "ITT tasks"}, {"NVTX_INJECTION64_PATH", "NVTX ranges"}};

/* The recorder is the collector, unless the user has another one. */
static void add_collectors(struct variables *variables, const struct hwi_launch_options *options)
{
  char *recorder = NULL;
  struct hwi_error error = {0};
  int status = hwi_installed_find(&recorder, HWI_RECORDER_NAME, &error);
  for (size_t i = 0; status == 0 && i < sizeof collectors / sizeof *collectors; i++) {
    const struct collector *collector = &collectors[i];
    const char *other = value_of(collector->variable, options);
    if (!other)
      add_variable(variables, "%s=%s", collector->variable, recorder);
    else if (strcmp(other, recorder) != 0 && !options->quiet)
      options->warn("%s is set to '%s' and was not changed: %s are not recorded", collector->variable, other,
                    collector->collected);
  }
  free(recorder);
}

/* Of a trace that is a ring: the window is sparse, and what is packed is given back, so that only this much can be recorded in
 * all. File systems have files of 16 TiB. */
#define RING_WINDOW_BYTES (UINT64_C(4) << 40)

static void add_options(struct variables *variables, const struct hwi_launch_options *options)
{
  if (options->depth)
    add_variable(variables, "HEAPWRIGHT_DEPTH=%llu", (unsigned long long)options->depth);
  const bool is_ring = options->keep.bytes || options->keep.ns;
  const uint64_t max_size = is_ring ? RING_WINDOW_BYTES : options->max_size;
  if (max_size)
    add_variable(variables, "HEAPWRIGHT_MAX_SIZE=%llu", (unsigned long long)max_size);
  if (options->usable >= 0)
    add_variable(variables, "HEAPWRIGHT_USABLE=%d", options->usable);
  if (options->durations)
    add_variable(variables, "HEAPWRIGHT_DURATIONS=1");
  if (options->sample_bytes)
    add_variable(variables, "HEAPWRIGHT_SAMPLE=%llu", (unsigned long long)options->sample_bytes);
  if (options->paused)
    add_variable(variables, "HEAPWRIGHT_PAUSED=1");
  if (options->trap)
    add_variable(variables, "HEAPWRIGHT_TRAP=1");
  if (!options->children)
    add_variable(variables, "HEAPWRIGHT_CHILDREN=0");
  if (options->itt_verbose)
    add_variable(variables, "HEAPWRIGHT_ITT_VERBOSE=1");
  if (options->itt_ignore)
    add_variable(variables, "HEAPWRIGHT_ITT_IGNORE=%s", options->itt_ignore);
  if (options->only_process)
    add_variable(variables, "HEAPWRIGHT_ONLY_PROCESS=%s", options->only_process);
}

/* Adds the user's own variables. If `libraries` is not NULL, also adds those that the recorder needs, and LD_PRELOAD with
 * `libraries` before those that are preloaded anyway. */
static void set_variables(struct variables *variables, const struct hwi_launch_options *options, const char *libraries,
                          const char *name, const uint8_t run_id[HW_ID_BYTES])
{
  *variables = (struct variables){0};
  for (size_t i = 0; i < options->variable_count; i++)
    add_variable(variables, "%s", options->variables[i]);
  if (!libraries) {
    variables->failed |= !hwi_grow((void **)&variables->texts, &variables->capacity, 1, sizeof *variables->texts);
    return;
  }
  const char *others = value_of("LD_PRELOAD", options);
  char *pattern = hwi_output_pattern(name);
  char id[2 * HW_ID_BYTES + 1];
  for (int i = 0; i < HW_ID_BYTES; i++)
    snprintf(id + 2 * (size_t)i, 3, "%02x", run_id[i]);
  add_variable(variables, "LD_PRELOAD=%s%s%s", libraries, others ? ":" : "", others ? others : "");
  add_variable(variables, "HEAPWRIGHT_RUN=%s", id);
  add_variable(variables, "HEAPWRIGHT_LAUNCHER=%ld.%llu", (long)getpid(),
               (unsigned long long)hwi_os_process_start((uint32_t)getpid()));
  variables->failed |= !pattern;
  if (pattern)
    add_variable(variables, "HEAPWRIGHT_OUTPUT=%s", pattern);
  add_options(variables, options);
  add_collectors(variables, options);
  free(pattern);
}

static void release_variables(struct variables *variables)
{
  for (size_t i = 0; i < variables->count; i++)
    free(variables->texts[i]);
  free(variables->texts);
  *variables = (struct variables){0};
}

/* --- the command --- */

static int watch(struct launch *launch, const char *command)
{
  /* While it is watched, the kernel would not give it the rights of another user. */
  const bool is_wanted = launch->options->at_exit && launch->program.obstacle != HWI_OBSTACLE_PRIVILEGED;
  const int status = is_wanted ? hwi_os_watch(&launch->watched, (uint32_t)launch->spawned.pid) : 0;
  if (status < 0)
    hwi_error_set(
        &launch->result->error, HW_ERR_IO,
        "cannot watch '%s' for its end: %s; ptrace is forbidden here (kernel.yama.ptrace_scope, or a container "
        "without the capability SYS_PTRACE), or a debugger watches this process; read the command while it runs: "
        "heapwright leaks PID",
        command, strerror(-status));
  return status;
}

static int start(struct launch *launch, char **command)
{
  struct hwi_error *error = &launch->result->error;
  struct hwi_spawn_plan plan = {launch->program.path, command, &launch->signals};
  if (hwi_spawn(&launch->spawned, &plan) < 0) {
    hwi_error_set(error, HW_ERR_IO, "cannot start '%s': %s", command[0], strerror(errno));
    return fail(launch, HWI_LAUNCH_FAILED);
  }
  struct variables variables = {0};
  if ((launch->libraries && prepare_output(launch, command[0]) < 0) || watch(launch, command[0]) < 0) {
    hwi_spawn_cancel(&launch->spawned);
    return fail(launch, HWI_LAUNCH_FAILED);
  }
  set_variables(&variables, launch->options, launch->libraries, launch->output.name, launch->run_id);
  if (variables.failed) {
    release_variables(&variables);
    hwi_spawn_cancel(&launch->spawned);
    hwi_error_set(error, HW_ERR_MEMORY, "no memory");
    return fail(launch, HWI_LAUNCH_FAILED);
  }
  int os_error = hwi_spawn_go(&launch->spawned, variables.texts);
  release_variables(&variables);
  if (os_error == 0) {
    launch->result->started = true;
    return 0;
  }
  hwi_error_set(error, HW_ERR_IO, "cannot run '%s': %s", command[0], strerror(os_error));
  return fail(launch, os_error == ENOENT ? HWI_LAUNCH_NOT_FOUND : HWI_LAUNCH_NOT_EXECUTABLE);
}

static void fill_end(struct hwi_monitor_end *end, int status, const struct rusage *usage)
{
  *end =
      (struct hwi_monitor_end){.wait_status = status, .rss_peak_bytes = (uint64_t)usage->ru_maxrss * RUSAGE_UNIT_BYTES};
}

/* The same as has_ended, for a command that is watched. While it is stopped, it cannot be continued without this process,
 * which therefore stops only where a terminal continues both. */
static bool has_watched_ended(struct launch *launch, struct hwi_monitor_end *end)
{
  const struct hwi_launch_options *options = launch->options;
  enum hwi_os_watched_event event;
  struct rusage usage;
  int number;
  while ((event = hwi_os_watched_next(&launch->watched, &number, &usage)) != HWI_OS_WATCHED_NOTHING) {
    if (event == HWI_OS_WATCHED_STOPPED)
      hwi_signals_stop_like(SIGSTOP);
    if (event == HWI_OS_WATCHED_ENDING) {
      options->at_exit(options->at_exit_context, &launch->watched, (uint32_t)number);
      hwi_os_watched_go_on(&launch->watched, number);
    }
    if (event == HWI_OS_WATCHED_ENDED) {
      fill_end(end, number, &usage);
      return true;
    }
  }
  return false;
}

/* Returns true if the command has ended, and fills *end. */
static bool has_ended(struct launch *launch, struct hwi_monitor_end *end)
{
  int status;
  struct rusage usage;
  if (launch->watched.pid)
    return has_watched_ended(launch, end);
  pid_t got = wait4(launch->spawned.pid, &status, WNOHANG | WUNTRACED, &usage);
  if (got <= 0)
    return false;
  if (WIFSTOPPED(status)) {
    hwi_signals_stop_like(WSTOPSIG(status));
    return false;
  }
  fill_end(end, status, &usage);
  return true;
}

/* --- the control group --- */

/* The command begins in the launcher's group. */
static bool read_group(struct hwi_os_cgroup_memory *memory)
{
  char folder[HWI_OS_PATH_BYTES];
  return hwi_os_process_cgroup((uint32_t)getpid(), "memory", folder) && hwi_os_cgroup_memory(folder, memory);
}

/* --- while it runs --- */

/* Waits for the command's end while `monitor_process` works (NULL: the command is not recorded). Once there is a trace,
 * this process wakes for signals only: where memory is short, a process that needs memory while the command's is being
 * given back may be killed for it. */
static struct hwi_monitor_end wait_for_end(struct launch *launch, const struct hwi_monitor_process *monitor_process)
{
  struct hwi_monitor_end end = {0};
  while (!has_ended(launch, &end)) {
    bool may_sleep = !monitor_process || hwi_monitor_process_has_begun(monitor_process);
    if (monitor_process && may_sleep)
      hwi_output_discard_earlier(&launch->output);
    hwi_signals_wait(&launch->signals, launch->spawned.pid, may_sleep ? SLEEP_NS : POLL_NS);
  }
  return end;
}

static void finish(struct launch *launch, struct hwi_monitor_process *monitor_process,
                   const struct hwi_monitor_end *end)
{
  struct hwi_launched *result = launch->result;
  hwi_signals_drop(&launch->signals, 0); /* these may be the signals that ended the command */
  hwi_monitor_process_finish(monitor_process, end, &result->outcome);
  if (result->outcome.trace_count) {
    hwi_output_discard_earlier(&launch->output);
    result->name = strdup(launch->output.name);
  }
}

/* What is not packed yet is limited as the whole of another trace is. */
static struct hwi_keep keep_of(const struct launch *launch)
{
  struct hwi_keep keep = launch->options->keep;
  if ((!keep.bytes && !keep.ns) || !launch->output.name)
    return keep;
  const uint64_t most = UINT64_C(8) << 30, half_free = hwi_output_disk(&launch->output).free_bytes / 2;
  keep.unpacked_bytes = half_free && half_free < most ? half_free : most;
  if (launch->options->max_size)
    keep.unpacked_bytes = launch->options->max_size;
  return keep;
}

/* From the start of the command to its end. */
static void run(struct launch *launch)
{
  const struct hwi_keep keep = keep_of(launch);
  const bool is_whole = launch->options->pack && !keep.bytes && !keep.ns;
  struct hwi_monitor_options options = {
      .name = launch->output.name,
      .pid = (uint32_t)launch->spawned.pid,
      .duration_ns = launch->options->duration_ns,
      .all_images = launch->options->children && !launch->options->only_process,
      .pack = launch->options->pack,
      .keep = keep,
      .be_resident = is_whole ? launch->options->be_resident : NULL,
      .count = !launch->options->quiet,
      .save_rules = launch->options->save_rules,
      .save_rule_count = launch->options->save_rule_count,
  };
  struct hwi_monitor_process monitor_process;
  memcpy(options.run_id, launch->run_id, HW_ID_BYTES);
  bool is_watched = launch->libraries && hwi_monitor_process_start(&monitor_process, &options, &launch->signals) == 0;
  if (launch->libraries && !is_watched)
    launch->options->warn("no memory to follow the recording: the trace stays raw");
  struct hwi_os_cgroup_memory before, after;
  const bool has_group = read_group(&before);
  struct hwi_monitor_end end = wait_for_end(launch, is_watched ? &monitor_process : NULL);
  if (has_group && read_group(&after) && after.oom_kills >= before.oom_kills) {
    end.oom_kills = after.oom_kills - before.oom_kills;
    end.group_limit = after.limit;
  }
  launch->result->signal = WIFSIGNALED(end.wait_status) ? WTERMSIG(end.wait_status) : 0;
  launch->result->exit_status =
      WIFSIGNALED(end.wait_status) ? SIGNAL_STATUS + WTERMSIG(end.wait_status) : WEXITSTATUS(end.wait_status);
  if (is_watched)
    finish(launch, &monitor_process, &end);
}

void hwi_launch(const struct hwi_launch_options *options, char **command, struct hwi_launched *launched)
{
  struct launch launch = {.options = options, .result = launched};
  *launched = (struct hwi_launched){0};
  hwi_signals_take(&launch.signals);
  if (find_program(&launch, command[0]) == 0 && find_recorder(&launch, command[0]) == 0 && start(&launch, command) == 0)
    run(&launch);
  hwi_output_restore_earlier(&launch.output);
  hwi_output_release(&launch.output);
  hwi_program_release(&launch.program);
  hwi_os_watched_release(&launch.watched);
  free(launch.libraries);
}

void hwi_launched_release(struct hwi_launched *launched)
{
  free(launched->name);
  *launched = (struct hwi_launched){0};
}
