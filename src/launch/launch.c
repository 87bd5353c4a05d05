/* launch.c - runs a command under the recorder, from its start to the packed trace */
#include "launch/launch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "launch/allocator.h"
#include "launch/output.h"
#include "launch/preload.h"
#include "launch/signals.h"
#include "launch/spawn.h"
#include "launch/variables.h"
#include "launch/watch.h"

enum {
  POLL_NS = 100000000, /* what waits when the command ends is what the user waits for */
  POLL_FIRST_NS = 20000000,
  GLANCE_NS = 25000000,
  OWN_NICENESS = 5,
  SIGNAL_STATUS = 128,
  RUSAGE_UNIT_BYTES = 1024
};

struct launch {
  const struct hwi_launch_options *options;
  struct hwi_launched *result;
  struct hwi_program program;
  struct hwi_signals signals;
  struct hwi_spawned spawned;
  struct hwi_output output;
  struct hwi_watch watch;
  char *library; /* for LD_PRELOAD: the recorder, and the allocator behind it. NULL: the command is not recorded */
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

/* The recorder ahead of the allocator records the allocator. */
static int add_allocator(struct launch *launch)
{
  char *recorder = launch->library, *allocator = NULL;
  if (!launch->options->allocator)
    return 0;
  if (hwi_allocator_find(&allocator, launch->options->allocator, &launch->result->error) < 0)
    return -1;
  if (asprintf(&launch->library, "%s:%s", recorder, allocator) < 0) {
    launch->library = NULL;
    hwi_error_set(&launch->result->error, HW_ERR_MEMORY, "no memory");
  }
  free(recorder);
  free(allocator);
  return launch->library ? 0 : -1;
}

/* Static programs may start others that can be recorded; for all other obstacles the loader would complain, or ignore us. */
static int find_recorder(struct launch *launch, const char *command)
{
  enum hwi_obstacle obstacle = launch->program.obstacle;
  if (obstacle != HWI_OBSTACLE_NONE)
    launch->options->warn("'%s' %s: it runs, but is not recorded%s", command, hwi_obstacle_text(obstacle),
                          obstacle == HWI_OBSTACLE_STATIC ? " (programs that it starts are, where possible)" : "");
  if (obstacle != HWI_OBSTACLE_NONE && obstacle != HWI_OBSTACLE_STATIC)
    return 0;
  if (launch->program.allocator && !launch->options->quiet)
    launch->options->warn("'%s' has %s linked in: its calls do not reach the recorder", command,
                          launch->program.allocator);
  if (hwi_preload_find(&launch->library, &launch->result->error) < 0 || add_allocator(launch) < 0)
    return fail(launch, HWI_LAUNCH_FAILED);
  if (getrandom(launch->run_id, sizeof launch->run_id, 0) != (ssize_t)sizeof launch->run_id) {
    hwi_error_set(&launch->result->error, HW_ERR_IO, "cannot make a name for the run: %s", strerror(errno));
    return fail(launch, HWI_LAUNCH_FAILED);
  }
  return 0;
}

static int prepare_output(struct launch *launch, const char *command)
{
  struct hwi_error *error = &launch->result->error;
  if (hwi_output_init(&launch->output, launch->options->output, command, launch->spawned.pid, error) < 0 ||
      hwi_output_check(&launch->output, error) < 0 || hwi_output_set_aside(&launch->output, error) < 0)
    return -1;
  if (hwi_output_is_in_memory(&launch->output))
    launch->options->warn(
        "the trace lies in memory (tmpfs): it takes from what the program has; -o names another place");
  return 0;
}

/* --- the command --- */

static int start(struct launch *launch, char **command)
{
  struct hwi_error *error = &launch->result->error;
  struct hwi_spawn_plan plan = {launch->program.path, command, &launch->signals};
  if (hwi_spawn(&launch->spawned, &plan) < 0) {
    hwi_error_set(error, HW_ERR_IO, "cannot start '%s': %s", command[0], strerror(errno));
    return fail(launch, HWI_LAUNCH_FAILED);
  }
  struct hwi_variables variables = {0};
  if (launch->library && prepare_output(launch, command[0]) < 0) {
    hwi_spawn_cancel(&launch->spawned);
    return fail(launch, HWI_LAUNCH_FAILED);
  }
  hwi_variables_init(&variables, launch->options, launch->library, launch->output.name, launch->run_id);
  if (variables.failed) {
    hwi_variables_release(&variables);
    hwi_spawn_cancel(&launch->spawned);
    hwi_error_set(error, HW_ERR_MEMORY, "no memory");
    return fail(launch, HWI_LAUNCH_FAILED);
  }
  int os_error = hwi_spawn_go(&launch->spawned, variables.texts);
  hwi_variables_release(&variables);
  if (os_error == 0) {
    launch->result->started = true;
    return 0;
  }
  hwi_error_set(error, HW_ERR_IO, "cannot run '%s': %s", command[0], strerror(os_error));
  return fail(launch, os_error == ENOENT ? HWI_LAUNCH_NOT_FOUND : HWI_LAUNCH_NOT_EXECUTABLE);
}

/* True: the command has ended as *end says. */
static bool has_ended(const struct launch *launch, struct hwi_watch_end *end)
{
  int status;
  struct rusage usage;
  pid_t got = wait4(launch->spawned.pid, &status, WNOHANG | WUNTRACED, &usage);
  if (got <= 0)
    return false;
  if (WIFSTOPPED(status)) {
    hwi_signals_stop_like(WSTOPSIG(status));
    return false;
  }
  *end = (struct hwi_watch_end){status, (uint64_t)usage.ru_maxrss * RUSAGE_UNIT_BYTES};
  return true;
}

/* Follows the command to its end. */
static struct hwi_watch_end follow(struct launch *launch)
{
  struct hwi_watch_end end = {0};
  uint64_t pause = POLL_FIRST_NS, next_ns = 0;
  while (!has_ended(launch, &end)) {
    uint64_t now = hwi_monotonic_ns();
    if (launch->library && now < next_ns) {
      hwi_watch_glance(&launch->watch);
    } else {
      bool more = launch->library && hwi_watch_poll(&launch->watch, hwi_signals_are_pending);
      if (launch->watch.trace_count)
        hwi_output_discard_earlier(&launch->output);
      now = hwi_monotonic_ns();
      next_ns = now + (more ? 0 : pause);
      pause = pause * 2 < POLL_NS ? pause * 2 : POLL_NS;
    }
    uint64_t wait_ns = next_ns > now ? next_ns - now : 0;
    hwi_signals_wait(&launch->signals, launch->spawned.pid, wait_ns < GLANCE_NS ? wait_ns : GLANCE_NS);
  }
  return end;
}

/* SIGINT, SIGTERM and their like end what is left to do: the traces then stay raw. */
static bool is_asked_to_end(void)
{
  static const int ending[] = {SIGINT, SIGTERM, SIGQUIT, SIGHUP};
  sigset_t pending;
  sigpending(&pending);
  for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
    if (sigismember(&pending, ending[i]) == 1)
      return true;
  return false;
}

static void finish(struct launch *launch, const struct hwi_watch_end *end)
{
  struct hwi_launched *result = launch->result;
  struct hwi_watch *watch = &launch->watch;
  hwi_signals_drop(&launch->signals);
  hwi_watch_finish(watch, end, is_asked_to_end);
  result->trace_count = watch->trace_count;
  result->still_written = watch->still_written;
  result->not_packed = watch->not_packed;
  result->children_unseen = watch->unseen.unseen;
  result->event_count = watch->event_count;
  result->packed_bytes = watch->packed_bytes;
  result->has_counts = watch->has_counts;
  result->counts = watch->counts;
  if (watch->not_packed)
    result->error = watch->error;
  if (watch->trace_count) {
    hwi_output_discard_earlier(&launch->output);
    result->name = strdup(launch->output.name);
  }
}

/* Between the start of the command and its end. */
static void run(struct launch *launch)
{
  struct hwi_watch_options watch = {
      .name = launch->output.name,
      .pid = (uint32_t)launch->spawned.pid,
      .duration_ns = launch->options->duration_ns,
      .pack = launch->options->pack,
      .count = !launch->options->quiet,
  };
  memcpy(watch.run_id, launch->run_id, HW_ID_BYTES);
  setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + OWN_NICENESS); /* packing can wait, the program cannot */
  bool is_watched = launch->library && hwi_watch_init(&launch->watch, &watch) == 0;
  if (launch->library && !is_watched) {
    launch->options->warn("no memory to follow the recording: the trace stays raw");
    free(launch->library);
    launch->library = NULL;
  }
  struct hwi_watch_end end = follow(launch);
  launch->result->exit_status =
      WIFSIGNALED(end.wait_status) ? SIGNAL_STATUS + WTERMSIG(end.wait_status) : WEXITSTATUS(end.wait_status);
  if (is_watched) {
    finish(launch, &end);
    hwi_watch_release(&launch->watch);
  }
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
  free(launch.library);
}

void hwi_launched_release(struct hwi_launched *launched)
{
  free(launched->name);
  *launched = (struct hwi_launched){0};
}
