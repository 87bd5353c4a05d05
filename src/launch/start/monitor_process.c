/* monitor_process.c - watches the traces in a separate process */
#include "launch/start/monitor_process.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/tool_log.h"
#include "platform/os_tools.h"

enum { AWAIT_NS = 100000000, OWN_NICENESS = 5, ATTEMPTS = 2 };

struct hwi_monitor_process_page {
  atomic_uint trace_count; /* seen so far */
  atomic_bool has_ended;   /* `end` is written */
  struct hwi_monitor_end end;
  atomic_bool is_asked_to_end;
  atomic_bool is_done; /* `outcome` is written, except what was saved */
  struct hwi_monitor_outcome outcome;
  struct hwi_saves saves;
};

/* --- in the monitor process --- */

static struct hwi_monitor_process_page *page;

static bool command_has_ended(void)
{
  return atomic_load(&page->has_ended);
}

static bool is_asked_to_end(void)
{
  return atomic_load(&page->is_asked_to_end);
}

/* Follows the command to its end. */
static void follow(struct hwi_monitor *monitor, const struct hwi_signals *signals)
{
  while (!command_has_ended()) {
    uint64_t next_ns = hwi_monitor_poll(monitor, command_has_ended), now = hwi_monotonic_ns();
    atomic_store(&page->trace_count, monitor->outcome.trace_count);
    hwi_signals_drop(signals, next_ns > now ? next_ns - now : 0);
  }
}

/* The command takes precedence over packing: lowers this process's priority, and lets the kernel kill it first if
 * memory runs out. */
static void step_back(void)
{
  setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + OWN_NICENESS);
  hwi_os_prefer_to_be_killed();
}

static _Noreturn void become(const struct hwi_monitor_process *monitor_process, pid_t launcher)
{
  struct hwi_monitor monitor;
  hwi_os_end_with_parent();
  if (getppid() != launcher)
    _exit(0);
  step_back();
  page = monitor_process->page;
  int status = hwi_monitor_init(&monitor, &monitor_process->options);
  if (status == 0) {
    follow(&monitor, monitor_process->signals);
    hwi_monitor_finish(&monitor, &page->end, is_asked_to_end);
    page->outcome = monitor.outcome;
    atomic_store(&page->is_done, true);
  }
  _exit(0); /* freeing its memory piece by piece is not needed */
}

/* --- in the launcher --- */

static void begin(struct hwi_monitor_process *monitor_process)
{
  pid_t launcher = getpid();
  monitor_process->pid = fork();
  if (monitor_process->pid == 0)
    become(monitor_process, launcher);
}

int hwi_monitor_process_start(struct hwi_monitor_process *monitor_process, const struct hwi_monitor_options *options,
                              const struct hwi_signals *signals)
{
  *monitor_process = (struct hwi_monitor_process){.options = *options, .signals = signals};
  void *made = mmap(NULL, sizeof *monitor_process->page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED)
    return HW_ERR_MEMORY;
  monitor_process->page = made;
  if (options->save_rule_count)
    monitor_process->options.saves = &monitor_process->page->saves;
  begin(monitor_process);
  return 0;
}

bool hwi_monitor_process_has_begun(const struct hwi_monitor_process *monitor_process)
{
  return atomic_load(&monitor_process->page->trace_count) > 0;
}

/* Waits a moment, and passes on signals that end the remaining work. */
static void wait_a_moment(const struct hwi_monitor_process *monitor_process)
{
  static const int ending[] = {SIGINT, SIGTERM, SIGQUIT, SIGHUP};
  sigset_t taken = hwi_signals_drop(monitor_process->signals, AWAIT_NS);
  for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
    if (sigismember(&taken, ending[i]) == 1)
      atomic_store(&monitor_process->page->is_asked_to_end, true);
}

/* Waits for the monitor process; if it was asked to end, the traces stay raw. Returns true if all is done. */
static bool await(const struct hwi_monitor_process *monitor_process)
{
  while (monitor_process->pid > 0 && waitpid(monitor_process->pid, NULL, WNOHANG) == 0)
    wait_a_moment(monitor_process);
  return atomic_load(&monitor_process->page->is_done);
}

/* The monitor process was killed while it saved a trace. */
static void await_save(const struct hwi_monitor_process *monitor_process)
{
  const struct hwi_monitor_process_page *shared = monitor_process->page;
  while (hwi_saves_go_on(&shared->saves) && !atomic_load(&shared->is_asked_to_end))
    wait_a_moment(monitor_process);
}

void hwi_monitor_process_finish(struct hwi_monitor_process *monitor_process, const struct hwi_monitor_end *end,
                                struct hwi_monitor_outcome *outcome)
{
  struct hwi_monitor_process_page *shared = monitor_process->page;
  bool was_watched = monitor_process->pid > 0 && waitpid(monitor_process->pid, NULL, WNOHANG) == 0;
  shared->end = *end;
  atomic_store(&shared->has_ended, true);
  if (was_watched)
    kill(monitor_process->pid, SIGCHLD); /* wakes the monitor process */
  bool is_done = was_watched && await(monitor_process);
  await_save(monitor_process);
  for (int attempt = 1; attempt < ATTEMPTS && !is_done; attempt++) {
    begin(monitor_process);
    is_done = await(monitor_process);
  }
  if (is_done) {
    *outcome = shared->outcome;
  } else {
    *outcome = (struct hwi_monitor_outcome){.not_packed = 1};
    hwi_error_set(&outcome->error, HW_ERR_MEMORY, "the process that packs %s was killed",
                  monitor_process->options.name);
  }
  if (outcome->trace_count < atomic_load(&shared->trace_count))
    outcome->trace_count = atomic_load(&shared->trace_count);
  outcome->was_interrupted = !was_watched;
  outcome->saves = shared->saves;
  munmap(shared, sizeof *shared);
  monitor_process->page = NULL;
}
