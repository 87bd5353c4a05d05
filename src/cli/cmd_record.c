/* cmd_record.c - heapwright record: runs a command and records its heap */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/followed_run.h"
#include "cli/record_options.h"
#include "profile/profile.h"
#include "report/words/line.h"
#include "report/words/number.h"
#include "symbols/symbol_files.h"

struct values {
  const char *output;
  struct hwi_recording_values recording;
  bool quiet;
};

static const struct values defaults = {.output = "heapwright.%c.%p.hwt", .recording = HWI_RECORDING_DEFAULTS};

static const struct hwi_option options[] = {
    {.name = "output",
     .letter = 'o',
     HWI_VALUE(TEXT, output),
     .value = "FILE",
     .help = "the trace; %p is the process number, %c the command\n(default: heapwright.%c.%p.hwt)"},
    HWI_RECORDING_OPTIONS(recording),
    {.name = "quiet", .letter = 'q', HWI_VALUE(ON, quiet), .help = "print only errors, and what has no effect"},
    {.name = NULL},
};

/* --- messages at the end --- */

static void say_totals(const struct hwi_launched *launched)
{
  const struct hwi_counts *counts = &launched->outcome.counts;
  if (!launched->outcome.has_counts)
    return;
  struct hwi_line line = {0};
  hwi_line_counted(&line, counts->allocation_calls, "allocation");
  hwi_line_printf(&line, counts->sampled_events ? ", about %s at the peak, about %s in " : ", %s at the peak, %s in ",
                  hwi_bytes_text(counts->peak_bytes).text, hwi_bytes_text(counts->live_bytes).text);
  hwi_line_counted(&line, counts->live_blocks, "block");
  hwi_warn("%s still allocated at the end%s", hwi_line_text(&line),
           launched->outcome.trace_count > 1 ? " (of the process that allocated most)" : "");
  hwi_line_release(&line);
}

/* Returns the path as the user would type it here, without the current folder. */
static const char *shorten(const char *path)
{
  char *here = realpath(".", NULL);
  size_t bytes = here ? strlen(here) : 0;
  bool is_below = bytes > 1 && strncmp(path, here, bytes) == 0 && path[bytes] == '/' && path[bytes + 1] != '-';
  free(here);
  return is_below ? path + bytes + 1 : path;
}

/* Returns why recording stopped early, from the state of a trace. */
static const char *reason_of(uint32_t state)
{
  switch (state) {
  case HW_STATE_STOPPED_LIMIT:
    return "the trace reached its size limit (--max-size, else half of what the disk has left; ulimit -f)";
  case HW_STATE_STOPPED_DISK:
    return "the disk was full (a --max-size below what it has left stops earlier, -o names another place)";
  default:
    return "there was no memory for the recorder's tables";
  }
}

static void say_unseen(const struct hwi_monitor_outcome *outcome)
{
  struct hwi_line line = {0};
  hwi_line_printf(&line, "%u process%s ran without being recorded", outcome->children_unseen,
                  outcome->children_unseen > 1 ? "es" : "");
  for (uint32_t i = 0; i < outcome->unseen_named; i++) {
    const char *before = outcome->children_unseen > 1 ? ", such as " : ": ";
    hwi_line_puts(&line, i == 0 ? before : ", ");
    hwi_line_clean(&line, outcome->unseen_names[i]);
  }
  hwi_line_puts(
      &line,
      " (static, 32-bit, setuid or another user's programs, a sanitizer, a sandbox, env -i, ulimit, a full disk, "
      "forked after recording had stopped): not in the trace");
  hwi_warn("%s", hwi_line_text(&line));
  hwi_line_release(&line);
}

/* The kernel's SIGKILL looks like any other. */
static void say_out_of_memory(const struct hwi_launched *launched)
{
  enum { KILLED = 128 + SIGKILL };
  const struct hwi_monitor_outcome *outcome = &launched->outcome;
  if (launched->exit_status != KILLED || outcome->oom_kills == 0)
    return;
  struct hwi_line line = {0};
  if (outcome->group_limit > 0)
    hwi_line_printf(&line, " (its control group is limited to %s)", hwi_bytes_text(outcome->group_limit).text);
  hwi_warn("the kernel killed the command because memory ran out%s", hwi_line_text(&line));
  hwi_line_release(&line);
}

static void say_troubles(const struct hwi_monitor_outcome *outcome)
{
  if (outcome->was_interrupted)
    hwi_warn(
        "the process that follows the recording was killed before the command ended, perhaps because memory ran out: the heap "
        "is recorded whole, but not the resident set and thread names since then");
  if (outcome->not_packed > 0)
    hwi_warn("%s; nothing is lost: the trace is left unpacked, and 'heapwright import' packs it", outcome->error.text);
  if (outcome->still_written > 0)
    hwi_warn("%u process%s still being recorded; 'heapwright import' packs what %s when %s ended",
             outcome->still_written, outcome->still_written > 1 ? "es run on and are" : " runs on and is",
             outcome->still_written > 1 ? "they wrote" : "it wrote",
             outcome->still_written > 1 ? "they have" : "it has");
  if (outcome->silent_count > 0) {
    const char *processes = outcome->silent_count > 1 ? " of several processes" : "";
    hwi_warn("recording%s stopped before the end: %s; a report says from when on events are missing", processes,
             reason_of(outcome->silent_state));
  }
  if (outcome->children_unseen > 0)
    say_unseen(outcome);
}

/* Adds the limits that were crossed: "rss of process 4711 was 2.1 GB ('rss>2G')". */
static void add_causes(struct hwi_line *line, const struct hwi_save *save, const struct hwi_save_rule *rules,
                       bool is_sample)
{
  bool is_first = true;
  for (size_t i = 0; i < HWI_SAVE_RULES_MAX; i++) {
    const struct hwi_save_cause *cause = &save->causes[i];
    if (!cause->is_given)
      continue;
    const bool is_estimate = is_sample && rules[i].figure != HWI_SAVE_RSS;
    hwi_line_printf(line, "%s%s of process %u was %s%s ('%s')", is_first ? "" : ", ",
                    hwi_save_figure_name(rules[i].figure), cause->pid, is_estimate ? "about " : "",
                    hwi_bytes_text(cause->bytes).text, rules[i].text);
    is_first = false;
  }
}

static void say_save(const struct hwi_launched *launched, const struct hwi_save *save,
                     const struct hwi_launch_options *wanted)
{
  struct hwi_line line = {0};
  char *name = hwi_saver_name(shorten(launched->name), save->number);
  if (save->state == HWI_SAVE_DONE && wanted->quiet)
    goto out;
  if (save->state == HWI_SAVE_DONE)
    hwi_line_printf(&line, "saved: %s (%s) at %s: ", name ? name : "", hwi_bytes_text(save->packed_bytes).text,
                    hwi_time_text(save->until_ns).text);
  else
    hwi_line_printf(&line, "nothing was saved: %s; ",
                    save->state == HWI_SAVE_FAILED ? save->error.text
                                                   : "the process that follows the recording was killed");
  add_causes(&line, save, wanted->save_rules, launched->outcome.counts.sampled_events);
  hwi_warn("%s", hwi_line_text(&line));
out:
  hwi_line_release(&line);
  free(name);
}

static void say_saves(const struct hwi_launched *launched, const struct hwi_launch_options *wanted)
{
  const struct hwi_saves *saves = &launched->outcome.saves;
  for (uint32_t i = 0; i < saves->count; i++)
    say_save(launched, &saves->list[i], wanted);
  for (size_t i = 0; i < wanted->save_rule_count; i++)
    if (saves->crossings[i] > HWI_SAVES_A_RULE)
      hwi_warn("info: '%s' was crossed %u times; %u traces were saved, at most %d are", wanted->save_rules[i].text,
               saves->crossings[i], saves->traces[i], HWI_SAVES_A_RULE);
  if (saves->blind_pid)
    hwi_warn("the live bytes of process %u could not be followed to its end, so limits on them may have been missed",
             saves->blind_pid);
}

static void say_end(const struct hwi_launched *launched)
{
  if (!launched->name) {
    if (launched->obstacle == HWI_OBSTACLE_NONE)
      hwi_warn(
          "nothing was recorded: no process allocated memory through malloc or operator new, or none was chosen, or a "
          "trace could not be begun (a full disk, ulimit -f, another user, a library that is built with a sanitizer)");
    return;
  }
  say_totals(launched);
  const char *name = shorten(launched->name);
  const char *many = launched->outcome.trace_count > 1 ? " processes" : "";
  struct hwi_number count = hwi_count_text(launched->outcome.trace_count);
  hwi_warn("trace: %s%s%s%s%s%s%s", name, launched->outcome.packed_bytes > 0 || *many ? " (" : "",
           launched->outcome.packed_bytes > 0 ? hwi_bytes_text(launched->outcome.packed_bytes).text : "",
           launched->outcome.packed_bytes > 0 && *many ? ", " : "", *many ? count.text : "", many,
           launched->outcome.packed_bytes > 0 || *many ? ")" : "");
  struct hwi_line word = {0};
  hwi_line_shell_word(&word, name);
  hwi_warn("next: heapwright report %s", hwi_line_text(&word));
  hwi_line_release(&word);
}

/* --- copies of the executed files, next to the recording --- */

/* [vdso] and similar modules are not files. */
static bool is_file(const struct hwi_profile_module *module)
{
  return module->path && module->path[0] == '/';
}

static int keep_all(struct hwi_symbol_files *files, const char *folder, const struct hwi_profile *profile,
                    struct hwi_error *error)
{
  int status = HW_OK;
  for (uint32_t i = 1; i < profile->module_count && status == HW_OK; i++) {
    const struct hwi_profile_module *module = &profile->modules[i];
    const struct hwi_symbol_module wanted = {.path = module->path,
                                             .build_id = module->build_id,
                                             .build_id_bytes = module->build_id_bytes,
                                             .bias = module->bias};
    if (is_file(module))
      status = hwi_symbol_files_copy(files, folder, &wanted, error);
  }
  return status;
}

static void report_files(const struct hwi_symbol_files *files, const char *folder)
{
  hwi_warn("files: %s (%u, %s more than before)", folder, files->copied, hwi_bytes_text(files->copied_bytes).text);
  if (files->nameless > 0)
    hwi_warn(
        "%u file%s not kept: without a build-id (ld --build-id) a copy could not be verified to be the file that ran",
        files->nameless, files->nameless > 1 ? "s were" : " was");
  if (files->not_found > 0)
    hwi_warn("%u file%s not kept: gone, or replaced since the program ran", files->not_found,
             files->not_found > 1 ? "s were" : " was");
}

static void keep_files(const char *path, bool quiet)
{
  struct hwi_symbol_files files = {0};
  struct hwi_error error = {0};
  struct hwi_profile *profile = NULL;
  const struct hwi_profile_options all = {.images = HWI_IMAGES_ALL};
  char *folder = hwi_symbol_files_folder(path);
  int status = folder ? hwi_profile_create(&profile, path, &all, &error)
                      : hwi_error_set(&error, HW_ERR_MEMORY, "no memory to keep the files that ran");
  if (status == HW_OK) {
    status = keep_all(&files, folder, profile, &error);
    hwi_profile_destroy(profile);
  }
  if (status < 0)
    hwi_warn("%s; the trace is complete", error.text);
  else if (!quiet)
    report_files(&files, folder);
  free(folder);
}

/* --- the recording --- */

static int run(const void *given, int word_count, char **words)
{
  const struct values *values = given;
  struct hwi_save_rule rules[HWI_SAVE_RULES_MAX];
  struct hwi_launch_options wanted;
  const int wrong = hwi_recording_wanted(&values->recording, &wanted, rules);
  if (wrong)
    return wrong;
  if (values->output[0] == '\0')
    return hwi_fail(HWI_EXIT_LAUNCHER, "-o takes the name of a file");
  if (word_count == 0)
    return hwi_fail(HWI_EXIT_LAUNCHER, "which command? heapwright record [options] [--] COMMAND [ARG...]");
  wanted.output = values->output;
  wanted.output_option = "-o";
  wanted.size_option = "--max-size";
  wanted.quiet = values->quiet;
  wanted.be_resident = hwi_followed_run_be_resident;
  struct hwi_launched launched;
  hwi_launch(&wanted, words, &launched);
  if (!launched.started)
    hwi_fail(0, "%s", launched.error.text);
  else
    say_troubles(&launched.outcome);
  if (launched.started)
    say_out_of_memory(&launched);
  if (launched.started && launched.name)
    say_saves(&launched, &wanted);
  if (launched.started && launched.name && values->recording.keep_files)
    keep_files(launched.name, values->quiet);
  if (launched.started && !values->quiet)
    say_end(&launched);
  int status = launched.exit_status;
  hwi_launched_release(&launched);
  return status;
}

const struct hwi_command hwi_command_record = {
    .name = "record",
    .summary = "record a program",
    .usage = "[options] [--] COMMAND [ARG...]",
    .details = "Exits as COMMAND did, with 128 + N when signal N ended it; 125 when recording could not begin,\n"
               "126 when COMMAND cannot be executed, 127 when there is none.\n"
               "\n"
               "examples:\n"
               "  heapwright record ./server --port 8080     until it ends\n"
               "  heapwright record -o app.hwt -- ./app -v   into app.hwt, which may be an earlier recording\n"
               "  heapwright record --only-process 'cc1*' make\n"
               "                                             of a build, the compiler proper\n",
    .options = options,
    .defaults = &defaults,
    .values_bytes = sizeof(struct values),
    .words_end_options = true,
    .usage_status = HWI_EXIT_LAUNCHER,
    .run = run,
};
