/* cmd_leaks.c - heapwright leaks: what nothing points to any more, in a process or at the end of a command */
#define _GNU_SOURCE
#include <ftw.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/core_answer.h"
#include "cli/core_source.h"
#include "cli/own_variables.h"
#include "cli/start_options.h"
#include "launch/control.h"
#include "launch/start/launch.h"
#include "platform/os_tools.h"

struct values {
  bool at_exit, no_stop;
  const char *recording, *suppressions, *allocator, *sysroot;
  struct hwi_texts variables;
  struct hwi_ranking ranking;
  struct hwi_answer answer;
  struct hwi_reading reading;
};

static const struct values defaults = {.ranking = HWI_RANKING_DEFAULTS, .answer = HWI_ANSWER_DEFAULTS};

static const struct hwi_option options[] = {
    {.name = "at-exit",
     HWI_VALUE(ON, at_exit),
     .help = "start COMMAND under the recorder, and read its memory when it is about to end"},
    {.name = "recording",
     HWI_VALUE(TEXT, recording),
     .value = "TRACE",
     .help = "a recording of the process, for the stacks of leaks (default: the one that is being\n"
             "written of it, if there is one); with --at-exit: write one to TRACE, and keep it"},
    HWI_SUPPRESSING_OPTION(suppressions),
    HWI_NO_STOP_OPTION(no_stop),
    HWI_START_OPTIONS(allocator, variables, "with --at-exit: run COMMAND on this allocator"),
    HWI_TOP_OPTION(ranking),
    HWI_FRAMES_OPTION(ranking.frames),
    HWI_DEBUG_DIR_OPTION(reading),
    HWI_SYSROOT_OPTION(sysroot),
    HWI_ANSWER_OPTIONS(answer),
    {.name = NULL},
};

struct work {
  const struct values *values;
  struct hwi_core_answer opened;
  char *found;  /* recording of the process */
  bool is_read; /* the memory, at the end of a command; it has a heap */
  struct hwi_error error;
};

/* --- the answer --- */

static int open_answer(struct hwi_core_answer *opened, const char *name, const char *recording)
{
  const int status = hwi_core_answer_open(opened, name);
  return status == 0 ? hwi_core_answer_read(opened, recording) : status;
}

static bool has_leaks(const struct hwi_leaks *leaks)
{
  return leaks->sums[HWI_LEAK_DIRECT].blocks || leaks->sums[HWI_LEAK_CYCLE].blocks;
}

static int print(struct work *work, struct hwi_suppressions *suppressions)
{
  const struct values *values = work->values;
  const struct hwi_core_print print = {.format = (enum hwi_format)values->answer.format,
                                       .ranking = &values->ranking,
                                       .suppressions = suppressions->path ? suppressions : NULL};
  struct hwi_answer_file to;
  const int status = hwi_answer_open(&to, values->answer.path);
  if (status != 0)
    return status;
  if (values->at_exit && !values->answer.path)
    to.out = stderr; /* stdout is the command's */
  return hwi_answer_close(&to, hwi_core_answer_print(&work->opened, &print, &to));
}

/* Returns HWI_EXIT_NO if there are leaks. */
static int answer(struct work *work, struct hwi_suppressions *suppressions)
{
  struct hwi_core_answer *opened = &work->opened;
  int status = hwi_core_answer_find_leaks(opened);
  if (status == 0 && suppressions->path)
    status = hwi_core_answer_suppress(opened, suppressions);
  if (status == 0) {
    hwi_core_answer_only_leaks(opened);
    status = print(work, suppressions);
  }
  return status == 0 && has_leaks(&opened->leaks) ? HWI_EXIT_NO : status;
}

/* --- a process --- */

static int read_process(struct work *work, const char *word)
{
  const struct values *values = work->values;
  const struct hwi_process_options how = {.no_stop = values->no_stop};
  struct hwi_core_answer *opened = &work->opened;
  struct hwi_error error = {0};
  uint32_t pid;
  if (!hwi_core_source_pid(word, &pid))
    return hwi_fail(HWI_EXIT_TROUBLE, "'%s' is no PID; of a core dump: heapwright core --leaks PROGRAM CORE", word);
  if (hwi_process_open(&opened->memory, pid, &how, &opened->read, &error) < 0)
    return hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text);
  if (!values->recording && hwi_control_find(word, &work->found, &error) < 0)
    work->found = NULL; /* it is not recorded */
  return open_answer(opened, word, values->recording ? values->recording : work->found);
}

/* --- the end of a command --- */

/* A program that executes another one in place may seem to end before. */
static void read_at_exit(void *context, const struct hwi_os_watched *watched, uint32_t tid)
{
  struct work *work = context;
  const struct hwi_process_options how = {.ending = watched};
  hwi_memory_close(&work->opened.memory);
  work->is_read = hwi_process_open(&work->opened.memory, tid, &how, &work->opened.read, &work->error) == 0;
}

/* Signals that came for the command are not for this process. */
static void unblock(const sigset_t *mask)
{
  sigset_t all;
  sigfillset(&all);
  while (sigtimedwait(&all, NULL, &(struct timespec){0}) > 0)
    continue;
  sigprocmask(SIG_SETMASK, mask, NULL);
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *place)
{
  (void)about, (void)kind, (void)place;
  remove(path);
  return 0;
}

static void remove_folder(const char *folder)
{
  enum { DESCRIPTORS = 8 };
  nftw(folder, remove_one, DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
}

/* Sets `path` to a trace in a folder of its own, which is made. */
static int make_place(char *folder, char *path, size_t size)
{
  snprintf(folder, size, "%s/heapwright-leaks.XXXXXX", hwi_os_folder_of_large_files());
  if (!mkdtemp(folder))
    return hwi_fail(HWI_EXIT_LAUNCHER, "cannot make a folder for the recording, %s: %m; name a file: --recording TRACE",
                    folder);
  if (snprintf(path, size, "%s/leaks.hwt", folder) >= (int)size)
    return hwi_fail(HWI_EXIT_LAUNCHER, "the path of TMPDIR is too long");
  return 0;
}

static void run_command(struct work *work, const char *trace, char **command, struct hwi_launched *launched)
{
  const struct values *values = work->values;
  const struct hwi_launch_options wanted = {
      .output = trace,
      .output_option = "--recording",
      .usable = -1,
      .allocator = values->allocator,
      .variables = values->variables.items,
      .variable_count = values->variables.count,
      .pack = true,
      .quiet = true,
      .warn = hwi_warn,
      .at_exit = read_at_exit,
      .at_exit_context = work,
  };
  sigset_t mask;
  sigprocmask(SIG_SETMASK, NULL, &mask);
  hwi_launch(&wanted, command, launched);
  if (launched->started)
    work->opened.memory.signal = launched->signal;
  else
    hwi_fail(0, "%s", launched->error.text);
  unblock(&mask);
}

/* Returns whether the command has allocated memory, or may have. */
static bool has_allocated(const struct hwi_core_answer *opened, const struct hwi_launched *launched)
{
  const struct hwi_profile_options all = {.images = HWI_IMAGES_ALL};
  struct hwi_core_heap heap = {0};
  struct hwi_error error = {0};
  struct hwi_profile *profile = NULL;
  bool has = hwi_core_heap_find(&heap, &opened->memory, &error) != HW_ERR_USAGE;
  hwi_core_heap_release(&heap);
  if (!has && launched->name && hwi_profile_create(&profile, launched->name, &all, &error) == 0)
    has = profile->totals.allocation_calls > 0;
  hwi_profile_destroy(profile);
  return has || launched->obstacle != HWI_OBSTACLE_NONE;
}

/* The recording is only read while its folder is there. */
static int open_at_exit(struct work *work, const struct hwi_launched *launched, const char *command)
{
  if (!work->is_read)
    return hwi_fail(HWI_EXIT_TROUBLE, "the memory of '%s' could not be read at its end: %s", command,
                    work->error.text[0] ? work->error.text : "it was killed, or may not be watched");
  if (!has_allocated(&work->opened, launched)) {
    work->is_read = false;
    hwi_warn("'%s' allocated no memory: it has no leaks", command);
    return 0;
  }
  if (!launched->name)
    hwi_warn("nothing was recorded of '%s': its leaks have no stacks", command);
  return open_answer(&work->opened, command, launched->name);
}

/* Returns the command's exit status, if it is not 0. */
static int answer_at_exit(struct work *work, struct hwi_suppressions *suppressions, char **command)
{
  enum { PATH_BYTES = 4096 };
  char folder[PATH_BYTES] = "", path[PATH_BYTES];
  struct hwi_launched launched;
  const char *trace = work->values->recording;
  int status = trace ? 0 : make_place(folder, path, sizeof path);
  if (status != 0)
    return status;
  run_command(work, trace ? trace : path, command, &launched);
  if (launched.started)
    status = open_at_exit(work, &launched, command[0]);
  if (!trace) {
    work->opened.core.recording = NULL;
    remove_folder(folder);
  }
  if (work->is_read && status == 0)
    status = answer(work, suppressions);
  if (launched.exit_status != 0)
    status = launched.exit_status;
  hwi_launched_release(&launched);
  return status;
}

/* --- the command --- */

static int check(const struct values *values, bool has_command, int word_count)
{
  if (values->at_exit && (!has_command || word_count < 2))
    return hwi_fail(HWI_EXIT_TROUBLE, "which command? heapwright leaks --at-exit [options] -- COMMAND [ARG...]");
  if (!values->at_exit && has_command)
    return hwi_fail(HWI_EXIT_TROUBLE, "a command is started with --at-exit: heapwright leaks --at-exit -- COMMAND");
  if (!values->at_exit && word_count != 1)
    return hwi_fail(HWI_EXIT_TROUBLE, "leaks takes one process: heapwright leaks PID, or heapwright leaks --at-exit -- "
                                      "COMMAND");
  if (values->at_exit && values->no_stop)
    return hwi_fail(HWI_EXIT_TROUBLE, "--no-stop is about a process that runs: leave it or --at-exit out");
  if (!values->at_exit && (values->allocator || values->variables.count))
    return hwi_fail(HWI_EXIT_TROUBLE, "--allocator and --env are about a command: add --at-exit");
  return hwi_variables_are_right(&values->variables) ? 0 : hwi_fail(HWI_EXIT_TROUBLE, "%s", HWI_VARIABLES_WRONG);
}

static int run(const void *given, int word_count, char **words)
{
  struct values values = *(const struct values *)given;
  struct work work = {.values = &values, .opened = {.reading = &values.reading, .sysroot = values.sysroot}};
  struct hwi_suppressions suppressions = {0};
  const bool has_command = word_count > 0 && strcmp(words[0], "--") == 0;
  int status = check(&values, has_command, word_count);
  if (status == 0)
    status = hwi_reading_check(&values.reading);
  if (status == 0)
    status = hwi_core_source_check_sysroot(values.sysroot);
  if (status == 0)
    status = hwi_answer_check(&values.answer);
  if (status == 0)
    status = hwi_suppressing_begin(&suppressions, values.suppressions);
  if (status != 0) {
    hwi_suppressing_end(&suppressions, false);
    return status;
  }
  hwi_own_variables_check(&values.variables);
  if (values.at_exit)
    status = answer_at_exit(&work, &suppressions, words + 1);
  else if ((status = read_process(&work, words[0])) == 0)
    status = answer(&work, &suppressions);
  hwi_suppressing_end(&suppressions, work.opened.recorded);
  hwi_core_answer_close(&work.opened);
  free(work.found);
  return status;
}

const struct hwi_command hwi_command_leaks = {
    .name = "leaks",
    .summary = "find the blocks that nothing points to any more",
    .usage = "[options] PID, or --at-exit [options] -- COMMAND [ARG...]",
    .details =
        "PID goes on after its memory was copied. COMMAND keeps its output; the answer goes to stderr, or to\n"
        "the file of -o. Processes that COMMAND starts are not read. Leaks have stacks if there is a recording.\n"
        "\n"
        "Exits with 0 if there are no leaks, 1 if there are, 2 after an error; with --at-exit as COMMAND did,\n"
        "if that is not 0.\n"
        "\n"
        "examples:\n"
        "  heapwright leaks 4711\n"
        "  heapwright leaks --at-exit --suppressions known.txt -- ./app -v\n",
    .options = options,
    .defaults = &defaults,
    .values_bytes = sizeof(struct values),
    .command_after_dashes = true,
    .usage_status = HWI_EXIT_TROUBLE,
    .run = run,
};
