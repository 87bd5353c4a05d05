/* cmd_report.c - heapwright report: explains a recording */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/command.h"
#include "profile/profile.h"
#include "report/report.h"
#include "symbols/static_allocator.h"

enum format { FORMAT_TEXT = 0, FORMAT_JSON = 1 };
enum { FRAMES_FOLDED = 0, FRAMES_ALL = 1 };

struct values {
  struct hwi_report_options report;
  int format, frames;
  bool children;
  uint64_t pid;
  struct hwi_texts debug_dirs;
};

static const struct values defaults = {.report = {.cost = HWI_COST_DEFAULT, .top = HWI_TOP_DEFAULT, .min_calls = 1}};

static const char *const cost_choices[] = {"peak", "live", "calls", "bytes", "temporary", NULL};
static const char *const by_choices[] = {"stack", "function", "file", "line", "module", "thread", "size", NULL};
static const char *const frames_choices[] = {"folded", "all", NULL};
static const char *const format_choices[] = {"text", "json", NULL};

static const struct hwi_option options[] = {
    {.name = "cost",
     .kind = HWI_OPTION_CHOICE,
     .off = offsetof(struct values, report.cost),
     .choices = cost_choices,
     .help = "what is ranked: bytes held at the peak (the default), bytes live at the end,\n"
             "calls, bytes allocated in all, or blocks freed at once"},
    {.name = "by",
     .kind = HWI_OPTION_CHOICE,
     .off = offsetof(struct values, report.by),
     .choices = by_choices,
     .help = "what it is grouped by (default: stack)"},
    {.name = "top",
     .letter = 'n',
     .kind = HWI_OPTION_COUNT,
     .off = offsetof(struct values, report.top),
     .value = "N",
     .help = "rows to show; 0: all (default: 10 in text, all in JSON)"},
    {.name = "min-calls",
     .kind = HWI_OPTION_COUNT,
     .off = offsetof(struct values, report.min_calls),
     .value = "N",
     .help = "leave out stacks with fewer calls (default: 1)"},
    {.name = "thread",
     .kind = HWI_OPTION_TEXT,
     .off = offsetof(struct values, report.thread),
     .value = "PATTERN",
     .help = "only what threads of this name (with * and ?) or id allocated"},
    {.name = "leaks",
     .kind = HWI_OPTION_ON,
     .off = offsetof(struct values, report.leaks),
     .help = "what is still allocated at the end, without the runtime's own blocks"},
    {.name = "frames",
     .kind = HWI_OPTION_CHOICE,
     .off = offsetof(struct values, frames),
     .choices = frames_choices,
     .help = "every frame of a stack, or without those that say little (default: folded)"},
    {.name = "children",
     .kind = HWI_OPTION_ON,
     .off = offsetof(struct values, children),
     .help = "all processes of the run together"},
    {.name = "pid",
     .kind = HWI_OPTION_COUNT,
     .off = offsetof(struct values, pid),
     .value = "PID",
     .help = "this process of the run (default: the one that allocated most)"},
    {.name = "debug-dir",
     .kind = HWI_OPTION_TEXTS,
     .off = offsetof(struct values, debug_dirs),
     .value = "DIR",
     .help = "look for debug files below DIR, too; may be given again"},
    {.name = "format",
     .kind = HWI_OPTION_CHOICE,
     .off = offsetof(struct values, format),
     .choices = format_choices,
     .help = "how to print it (default: text)"},
    {.name = "json",
     .kind = HWI_OPTION_SET,
     .preset = FORMAT_JSON,
     .off = offsetof(struct values, format),
     .help = "short for --format json"},
    {0},
};

/* --- progress, for work longer than a second --- */

struct progress {
  struct timespec began;
  bool shown;
};

static void show_progress(void *context, uint64_t done, uint64_t all)
{
  struct progress *progress = context;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  double seconds =
      (double)(now.tv_sec - progress->began.tv_sec) + (double)(now.tv_nsec - progress->began.tv_nsec) / 1e9;
  if (seconds < 1 || all == 0)
    return;
  progress->shown = true;
  fprintf(stderr, "\rreading the recording: %3.0f %%", 100.0 * (double)done / (double)all);
}

static void end_progress(const struct progress *progress)
{
  if (progress->shown)
    fputs("\r                                \r", stderr);
}

/* --- the work --- */

static uint32_t find_symbols(void *context, const struct hwi_symbol_module *module, uint64_t address,
                             bool is_return_address, const struct hwi_symbol **frames)
{
  return hwi_symbols_find(context, module, address, is_return_address, frames);
}

static int print_report(const struct values *values, const struct hwi_profile *profile, struct hwi_error *error)
{
  struct hwi_symbols *symbols;
  int status = hwi_symbols_create(&symbols, error);
  if (status < 0)
    return status;
  for (size_t i = values->debug_dirs.count; i > 0 && status == HW_OK; i--) /* the last one added is looked at first */
    status = hwi_symbols_add_debug_dir(symbols, values->debug_dirs.items[i - 1], error);
  if (status < 0) {
    hwi_symbols_destroy(symbols);
    return status;
  }
  struct hwi_report report = {
      .profile = profile, .names = {find_symbols, symbols, hwi_static_allocator}, .options = values->report};
  report.options.all_frames = values->frames == FRAMES_ALL;
  if (values->format == FORMAT_JSON) {
    status = hwi_report_json(&report, stdout, error);
  } else {
    struct hwi_style style;
    hwi_style_init(&style, stdout);
    status = hwi_report_text(&report, &style, error);
  }
  hwi_symbols_destroy(symbols);
  return status;
}

static int report_on(const struct values *values, const char *path)
{
  struct progress progress = {0};
  clock_gettime(CLOCK_MONOTONIC, &progress.began);
  struct hwi_profile_options wanted = {
      .images = values->children   ? HWI_IMAGES_ALL
                : values->pid != 0 ? HWI_IMAGES_PID
                                   : HWI_IMAGES_LARGEST,
      .pid = (uint32_t)values->pid,
      .progress = isatty(STDERR_FILENO) == 1 ? show_progress : NULL,
      .progress_context = &progress,
  };
  struct hwi_error error = {0};
  struct hwi_profile *profile;
  int status = hwi_profile_create(&profile, path, &wanted, &error);
  end_progress(&progress);
  if (status < 0)
    return hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text);
  status = print_report(values, profile, &error);
  hwi_profile_destroy(profile);
  return status < 0 ? hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text) : HWI_EXIT_OK;
}

/* A folder that is misspelled would only leave names out. */
static const char *missing_folder(const struct hwi_texts *dirs)
{
  for (size_t i = 0; i < dirs->count; i++) {
    struct stat about;
    if (stat(dirs->items[i], &about) != 0 || !S_ISDIR(about.st_mode))
      return dirs->items[i];
  }
  return NULL;
}

/* What the options cannot mean together; NULL: nothing. */
static const char *contradiction(const struct values *values)
{
  const struct hwi_report_options *report = &values->report;
  bool by_stack = report->by != HWI_BY_THREAD && report->by != HWI_BY_SIZE;
  if (report->leaks && report->cost != HWI_COST_DEFAULT && report->cost != HWI_COST_LIVE)
    return "--leaks ranks what is live at the end: leave --cost out";
  if (report->leaks && !by_stack)
    return "--leaks needs stacks: group by stack, function, file, line or module; or use --cost live";
  if (report->thread != NULL && report->by == HWI_BY_SIZE)
    return "sizes are not kept by thread: leave --thread or --by size out";
  if (values->children && values->pid != 0)
    return "--children shows all processes, --pid one: leave one of them out";
  if (values->pid > UINT32_MAX)
    return "--pid: no process has such a number";
  return NULL;
}

static bool is_folder_of_traces(const char *path)
{
  static const char suffix[] = ".children";
  struct stat status;
  size_t bytes = strlen(path);
  while (bytes > 0 && path[bytes - 1] == '/')
    bytes--;
  bool children =
      bytes >= sizeof suffix - 1 && memcmp(path + bytes - (sizeof suffix - 1), suffix, sizeof suffix - 1) == 0;
  return !children && stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static int run(const void *given, int word_count, char **words)
{
  enum { PATH_BYTES = 4096 };
  const struct values *values = given;
  const char *wrong = contradiction(values);
  if (wrong != NULL)
    return hwi_fail(HWI_EXIT_TROUBLE, "%s", wrong);
  const char *missing = missing_folder(&values->debug_dirs);
  if (missing != NULL)
    return hwi_fail(HWI_EXIT_TROUBLE, "--debug-dir: there is no folder '%s'", missing);
  if (word_count > 1)
    return hwi_fail(HWI_EXIT_TROUBLE, "report takes one trace, not %d; '%s' is one too many", word_count, words[1]);
  const char *path = word_count == 1 ? words[0] : ".";
  char newest[PATH_BYTES];
  if (word_count == 0 || is_folder_of_traces(path)) {
    struct hwi_error error = {0};
    if (hwi_profile_newest(path, newest, sizeof newest, &error) < 0)
      return hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text);
    path = newest;
  }
  return report_on(values, path);
}

const struct hwi_command hwi_command_report = {
    .name = "report",
    .summary = "explain a recording (the newest one here, when none is named)",
    .usage = "[options] [TRACE]",
    .details = "TRACE is a recording, its folder NAME.children, or a folder in which the newest is taken.\n"
               "\n"
               "examples:\n"
               "  heapwright report                          the newest recording here, at its peak\n"
               "  heapwright report --leaks app.hwt          what was not freed\n"
               "  heapwright report --cost temporary --by line\n"
               "                                             where blocks are freed as soon as allocated\n"
               "  heapwright report --thread 'control*' --frames all --top 0\n"
               "                                             everything that the control threads allocate\n",
    .options = options,
    .defaults = &defaults,
    .values_bytes = sizeof(struct values),
    .usage_status = HWI_EXIT_TROUBLE,
    .run = run,
};
