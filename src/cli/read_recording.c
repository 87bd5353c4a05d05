/* read_recording.c - the options by which a command finds and reads a recording, and the reading itself */
#include "cli/read_recording.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "export/import/foreign.h"
#include "memory/image/core_file.h"
#include "report/content/evidence.h"
#include "report/words/number.h"
#include "symbols/program_allocator.h"
#include "symbols/symbol_files.h"
#include "symbols/symbols.h"

static bool is_folder(const char *path)
{
  struct stat status;
  return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

int hwi_reading_check(const struct hwi_reading *reading)
{
  if (reading->children && reading->pid != 0)
    return hwi_fail(HWI_EXIT_TROUBLE, "--children shows all processes, --pid one: leave one of them out");
  if (reading->pid > UINT32_MAX)
    return hwi_fail(HWI_EXIT_TROUBLE, "--pid: no process has such a number");
  for (size_t i = 0; i < reading->debug_dirs.count; i++) {
    const char *dir = reading->debug_dirs.items[i]; /* a misspelled folder would silently leave names out */
    if (!is_folder(dir))
      return hwi_fail(HWI_EXIT_TROUBLE, "--debug-dir or --sysroot: there is no folder '%s'", dir);
  }
  return 0;
}

/* --- progress, for work longer than a second --- */

enum { NO_PERCENT = -1, SUMMARY_LEAST_NS = 300000000 };

struct progress {
  struct timespec began;
  int percent; /* the value shown on the terminal */
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
  int percent = (int)(100.0 * (double)done / (double)all);
  if (percent == progress->percent)
    return;
  progress->percent = percent;
  fprintf(stderr, "\rreading the recording: %3d %%", percent);
}

static void end_progress(const struct progress *progress)
{
  if (progress->percent != NO_PERCENT)
    fputs("\r                                \r", stderr);
}

/* --- the recording --- */

bool hwi_reading_is_folder(const char *path)
{
  static const char suffix[] = ".children";
  size_t bytes = strlen(path);
  while (bytes > 0 && path[bytes - 1] == '/')
    bytes--;
  bool children =
      bytes >= sizeof suffix - 1 && memcmp(path + bytes - (sizeof suffix - 1), suffix, sizeof suffix - 1) == 0;
  return !children && is_folder(path);
}

int hwi_reading_find(const char *path, char *found, size_t found_bytes)
{
  struct hwi_error error = {0};
  if (!hwi_reading_is_folder(path))
    snprintf(found, found_bytes, "%s", path);
  else if (hwi_trace_newest(path, found, found_bytes, &error) < 0)
    return hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text);
  return 0;
}

static struct hwi_profile_options begin_reading(const struct hwi_reading *reading, struct progress *progress)
{
  *progress = (struct progress){.percent = NO_PERCENT};
  clock_gettime(CLOCK_MONOTONIC, &progress->began);
  return (struct hwi_profile_options){
      .images = reading->children   ? HWI_IMAGES_ALL
                : reading->pid != 0 ? HWI_IMAGES_PID
                                    : HWI_IMAGES_LARGEST,
      .pid = (uint32_t)reading->pid,
      .heap = reading->heap,
      .shown_path = reading->shown_path,
      .span = reading->span,
      .instance_details = reading->instance_details,
      .chains = reading->chains,
      .summaries = true,
      .summary_least_ns = SUMMARY_LEAST_NS,
      .progress = isatty(STDERR_FILENO) == 1 ? show_progress : NULL,
      .progress_context = progress,
  };
}

/* Another tool's recording must be imported first. */
static int fail_to_read(const char *path, const struct hwi_error *error)
{
  const struct hwi_foreign_format *foreign = error->status == HW_ERR_NOT_A_TRACE ? hwi_foreign_format_of(path) : NULL;
  if (error->status == HW_ERR_NOT_A_TRACE && hwi_core_file_is(path))
    return hwi_fail(HWI_EXIT_TROUBLE,
                    "%s is a core dump; make a trace of it with: heapwright core PROGRAM %s -o NAME.hwt", path, path);
  if (foreign)
    return hwi_fail(HWI_EXIT_TROUBLE, "%s is a recording of %s; make a trace of it with: heapwright import %s -o FILE",
                    path, foreign->tool, path);
  return hwi_fail(HWI_EXIT_TROUBLE, "%s", error->text);
}

int hwi_reading_profile(const struct hwi_reading *reading, const char *path, struct hwi_profile **profile)
{
  char found[HWI_READING_PATH_BYTES];
  struct hwi_error error = {0};
  int status = hwi_reading_find(path, found, sizeof found);
  if (status != 0)
    return status;
  struct progress progress;
  const struct hwi_profile_options wanted = begin_reading(reading, &progress);
  status = hwi_profile_create(profile, found, &wanted, &error);
  end_progress(&progress);
  return status < 0 ? fail_to_read(found, &error) : 0;
}

int hwi_reading_try_profile(const struct hwi_reading *reading, const char *path, struct hwi_profile **profile)
{
  struct progress progress;
  const struct hwi_profile_options wanted = begin_reading(reading, &progress);
  int status = hwi_profile_create(profile, path, &wanted, NULL);
  end_progress(&progress);
  return status;
}

static int replay(void *context, const struct hwi_block_sink *sink, struct hwi_error *error)
{
  const struct hwi_reading_source *source = context;
  struct progress progress;
  const struct hwi_profile_options wanted = begin_reading(source->reading, &progress);
  int status = hwi_profile_events(source->path, &wanted, sink, error);
  end_progress(&progress);
  return status;
}

struct hwi_replayer hwi_reading_replayer(struct hwi_reading_source *source)
{
  return (struct hwi_replayer){replay, source};
}

/* --- names --- */

/* Adds the files that `record --keep-files` copied next to the recording, and the names that `report --keep-names` stored, unless they
 * are cached. */
static int add_kept(struct hwi_symbols *symbols, const char *path, bool cached, struct hwi_error *error)
{
  char found[HWI_READING_PATH_BYTES];
  if (hwi_reading_find(path, found, sizeof found) != 0)
    return HW_OK;
  if (!cached && hwi_symbols_use_kept(symbols, found, error) < 0)
    return HW_ERR_MEMORY;
  char *folder = hwi_symbol_files_folder(found);
  int status =
      folder ? hwi_symbols_add_debug_dir(symbols, folder, error) : hwi_error_set(error, HW_ERR_MEMORY, "no memory");
  free(folder);
  return status;
}

static int open_symbols(const struct hwi_reading *reading, const char *const *paths, bool cached,
                        struct hwi_symbols **symbols)
{
  struct hwi_error error = {0};
  int status = hwi_symbols_create(symbols, &error);
  for (; *paths && status == HW_OK; paths++) {
    status = add_kept(*symbols, *paths, cached, &error);
    if (status < 0)
      hwi_symbols_destroy(*symbols);
  }
  for (size_t i = reading->debug_dirs.count; i > 0 && status == HW_OK; i--) { /* the last one added is searched first */
    status = hwi_symbols_add_root(*symbols, reading->debug_dirs.items[i - 1], &error);
    if (status < 0)
      hwi_symbols_destroy(*symbols);
  }
  return status < 0 ? hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text) : 0;
}

int hwi_reading_symbols(const struct hwi_reading *reading, const char *const *paths, struct hwi_symbols **symbols)
{
  return open_symbols(reading, paths, false, symbols);
}

int hwi_reading_symbols_of(const struct hwi_reading *reading, const char *path, struct hwi_symbols **symbols)
{
  struct hwi_error error = {0};
  int status = open_symbols(reading, (const char *const[]){path, NULL}, true, symbols);
  if (status == 0 && hwi_symbols_use_cache(*symbols, path, &error) < 0) {
    hwi_symbols_destroy(*symbols);
    status = hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text);
  }
  return status;
}

static uint32_t find_symbols(void *context, const struct hwi_symbol_module *module, uint64_t address,
                             bool is_return_address, const struct hwi_symbol **frames)
{
  return hwi_symbols_find(context, module, address, is_return_address, frames);
}

struct hwi_names hwi_reading_names(struct hwi_symbols *symbols)
{
  return (struct hwi_names){find_symbols, symbols, hwi_static_allocator};
}

enum { LEAST_SHARE = 20 };

/* Small ones, such as a shell that starts a program, are not worth a warning. */
static void warn_of_others(const struct hwi_profile *profile, const char *done)
{
  const struct hwi_other_images others = hwi_other_images(profile);
  if (others.bytes * LEAST_SHARE > others.all_bytes)
    hwi_warn("%" PRIu32 " other process image%s with %s of the bytes %s not %s; --children adds %s", others.count,
             others.count == 1 ? "" : "s", hwi_share_text(others.bytes, others.all_bytes).text,
             others.count == 1 ? "is" : "are", done, others.count == 1 ? "it" : "them");
}

void hwi_reading_warn(const struct hwi_reading *reading, const struct hwi_profile *profile, const char *done)
{
  if (!reading->pid)
    warn_of_others(profile, done);
  const char *why;
  bool frees;
  uint64_t ns = hwi_moment_of_doubt(profile, &why, &frees);
  if (ns < (profile->span.kind == HWI_SPAN_RUN ? UINT64_MAX : profile->span.to_ns))
    hwi_warn("the recording is not complete: %s; 'heapwright report' explains it", why);
  if (profile->sample_bytes)
    hwi_warn("the recording is sampled, one allocation per %s: what is %s are estimates",
             hwi_binary_bytes_text(profile->sample_bytes).text, done);
}

/* --- rules for scopes --- */

static int read_scope_rules(const struct hwi_reading *reading, struct hwi_scope_rules *rules)
{
  struct hwi_error error = {0};
  int status = reading->scope_rules ? hwi_scope_rules_read(rules, reading->scope_rules, &error) : HW_OK;
  for (size_t i = 0; i < reading->scopes.count && status == HW_OK; i++)
    status = hwi_scope_rules_add(rules, reading->scopes.items[i], &error);
  return status < 0 ? hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text) : 0;
}

static int match_scope_rules(struct hwi_scope_rules *rules, const struct hwi_profile *profile,
                             struct hwi_symbols *symbols)
{
  const struct hwi_report report = {.profile = profile, .names = hwi_reading_names(symbols)};
  struct hwi_error error = {0};
  struct hwi_line remarks = {0};
  if (hwi_scope_rules_match(rules, &report, &error) < 0)
    return hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text);
  hwi_scope_rules_remark(&remarks, rules);
  hwi_warn_of(&remarks);
  return 0;
}

int hwi_reading_find_scopes(struct hwi_reading *reading, const char *path, struct hwi_scope_rules *rules)
{
  struct hwi_profile *profile = NULL;
  struct hwi_symbols *symbols;
  *rules = (struct hwi_scope_rules){0};
  int status = read_scope_rules(reading, rules);
  if (status != 0 || rules->count == 0)
    return status;
  struct hwi_reading whole = *reading;
  whole.span = (struct hwi_span){.kind = HWI_SPAN_RUN};
  whole.instance_details = false;
  status = hwi_reading_profile(&whole, path, &profile);
  if (status == 0)
    status = hwi_reading_symbols_of(&whole, path, &symbols);
  if (status == 0) {
    status = match_scope_rules(rules, profile, symbols);
    hwi_symbols_save_names(symbols, profile->has_summary);
    hwi_symbols_destroy(symbols);
    reading->chains = &rules->chains;
  }
  hwi_profile_destroy(profile);
  return status;
}

/* --- runs that are compared --- */

int hwi_compared_open(struct hwi_compared *run, const struct hwi_reading *reading, const char *path)
{
  *run = (struct hwi_compared){.reading = *reading, .source = {&run->reading, run->path}};
  int status = hwi_reading_find(path, run->path, sizeof run->path);
  if (status != 0)
    return status;
  if (hwi_saved_is(run->path)) {
    struct hwi_error error = {0};
    if (hwi_saved_create(&run->saved, run->path, reading->heap, &error) < 0)
      return hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text);
    run->profile = &run->saved->profile;
    return 0;
  }
  status = hwi_reading_find_scopes(&run->reading, run->path, &run->scope_rules);
  if (status == 0)
    status = hwi_reading_profile(&run->reading, run->path, &run->recorded);
  run->profile = run->recorded;
  return status;
}

void hwi_compared_close(struct hwi_compared *run)
{
  if (run->recorded)
    hwi_profile_destroy(run->recorded);
  hwi_scope_rules_release(&run->scope_rules);
  hwi_saved_destroy(run->saved);
  *run = (struct hwi_compared){0};
}

struct hwi_names hwi_compared_names(const struct hwi_compared *run, struct hwi_symbols *symbols)
{
  return run->saved ? run->saved->names : hwi_reading_names(symbols);
}

const char *hwi_compared_trace(const struct hwi_compared *run)
{
  return run->recorded ? run->path : NULL;
}
