/* core_answer.c - answers about the heap of a core dump or of a process: what is opened for them, and the report */
#include "cli/core_answer.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/page_and_charts.h"
#include "export/moment.h"
#include "report/names/named_frames.h"
#include "report/words/style.h"
#include "symbols/symbols.h"

/* --- what is opened --- */

/* A recording that is being written may have got stacks since its profile was made. */
static void leave_out_newer(struct hwi_recorded_blocks *recorded, const struct hwi_profile *profile)
{
  size_t kept = 0;
  for (size_t i = 0; i < recorded->count; i++)
    if (recorded->blocks[i].stack < profile->stack_count)
      recorded->blocks[kept++] = recorded->blocks[i];
  recorded->count = kept;
}

/* A process that was stopped goes on: what it recorded after its memory was read is left out. Returns the moment since the run's
 * start, or UINT64_MAX: it was not stopped. */
static uint64_t moment_in_run(const struct hwi_core_answer *answer)
{
  const struct hwi_profile *profile = answer->recorded;
  uint64_t start_ns = UINT64_MAX;
  for (uint32_t i = 0; i < profile->image_count; i++)
    if (profile->images[i].counted && profile->images[i].info->header.start.monotonic_ns < start_ns)
      start_ns = profile->images[i].info->header.start.monotonic_ns;
  return answer->read.moment_ns > start_ns ? answer->read.moment_ns - start_ns : UINT64_MAX;
}

/* The image of the recording with the PID of the memory, or the largest. */
static int read_recording(struct hwi_core_answer *answer, const char *path)
{
  struct hwi_error error = {0};
  struct hwi_profile_options chosen = {.images = HWI_IMAGES_PID, .pid = answer->memory.pid};
  int status = answer->memory.pid ? hwi_profile_create(&answer->recorded, path, &chosen, &error) : HW_ERR_USAGE;
  if (status == HW_ERR_USAGE) { /* it has no such process */
    chosen = (struct hwi_profile_options){0};
    status = hwi_profile_create(&answer->recorded, path, &chosen, &error);
  }
  if (status < 0)
    return hwi_fail(HWI_EXIT_TROUBLE, "--recording: %s", error.text);
  if (hwi_recorded_blocks_read(&answer->recorded_blocks, path, &chosen, moment_in_run(answer), &error) < 0)
    return hwi_fail(HWI_EXIT_TROUBLE, "--recording: %s", error.text);
  leave_out_newer(&answer->recorded_blocks, answer->recorded);
  answer->core.recording = path;
  return 0;
}

/* Without a recording: which one there should be, and if it is not here, what the recorder has of it in memory. */
static int look_for_recorder(struct hwi_core_answer *answer)
{
  if (!hwi_last_calls_read(&answer->last_calls, &answer->memory))
    return hwi_fail(HWI_EXIT_TROUBLE, "no memory for the last calls of %s", answer->core.name);
  answer->core.recorded_to = answer->last_calls.trace;
  if (answer->core.recorded_to && access(answer->core.recorded_to, R_OK) != 0)
    answer->core.last_calls = &answer->last_calls;
  return 0;
}

/* Debug files are below the sysroot as on that machine, or it is a folder of debug files alone. */
static int use_sysroot(const struct hwi_core_answer *answer)
{
  struct hwi_error error = {0};
  if (hwi_symbols_add_root(answer->symbols, answer->sysroot, &error) < 0)
    return hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text);
  if (answer->modules.count && !answer->modules.path_count)
    hwi_warn("--sysroot %s: none of the %zu files that ran is there with the same build-id; the first is %s",
             answer->sysroot, answer->modules.count, answer->modules.modules[0].path);
  return 0;
}

int hwi_core_answer_open(struct hwi_core_answer *answer, const char *name)
{
  struct hwi_error error = {0};
  answer->core = (struct hwi_core){.name = name,
                                   .memory = &answer->memory,
                                   .heap = &answer->heap,
                                   .abort_message = answer->abort_message,
                                   .stop_ns = answer->read.stop_ns};
  hwi_abort_message_find(&answer->memory, answer->abort_message);
  answer->threads = (struct hwi_thread_frames){.memory = &answer->memory, .modules = &answer->modules};
  answer->storage = (struct hwi_thread_storage){.memory = &answer->memory, .modules = &answer->modules};
  int status = hwi_core_heap_find(&answer->heap, &answer->memory, &error);
  if (status == HW_ERR_USAGE && answer->memory.missing)
    return hwi_fail(HWI_EXIT_TROUBLE, "%s: no heap was found: the core dump is truncated, %s are missing", name,
                    hwi_bytes_text(answer->memory.missing).text);
  if (status == 0 && !hwi_core_modules_find(&answer->modules, &answer->memory, answer->sysroot))
    status = hwi_error_set(&error, HW_ERR_MEMORY, "no memory for the list of modules");
  return status < 0 ? hwi_fail(HWI_EXIT_TROUBLE, "%s: %s", name, error.text) : 0;
}

static void open_types(struct hwi_core_answer *answer)
{
  answer->types = (struct hwi_block_types){.vtables = {.memory = &answer->memory,
                                                       .modules = &answer->modules,
                                                       .symbols = answer->symbols,
                                                       .reader = {.memory = &answer->memory}},
                                           .heap = &answer->heap,
                                           .storage = &answer->storage,
                                           .threads = &answer->threads};
}

static int open_names(struct hwi_core_answer *answer)
{
  const struct hwi_report report = {.profile = answer->recorded, .names = hwi_reading_names(answer->symbols)};
  struct hwi_error error = {0};
  open_types(answer);
  answer->names = (struct hwi_core_names){.heap = &answer->heap,
                                          .types = &answer->types,
                                          .threads = &answer->threads,
                                          .storage = &answer->storage,
                                          .recorded = &answer->recorded_blocks};
  if (!answer->recorded)
    return 0;
  answer->names.frames = &answer->frames;
  return hwi_named_frames_init(&answer->frames, &report, &error) < 0 ? hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text) : 0;
}

int hwi_core_answer_read(struct hwi_core_answer *answer, const char *recording)
{
  const char *const recordings[] = {recording, NULL};
  int status = recording ? read_recording(answer, recording) : look_for_recorder(answer);
  if (status == 0)
    status = hwi_reading_symbols(answer->reading, recordings, &answer->symbols);
  if (status == 0 && answer->sysroot)
    status = use_sysroot(answer);
  if (status == 0)
    status = open_names(answer);
  return status;
}

void hwi_core_answer_close(struct hwi_core_answer *answer)
{
  hwi_block_types_release(&answer->types);
  if (answer->names.frames)
    hwi_named_frames_release(&answer->frames);
  hwi_leaks_release(&answer->leaks);
  hwi_graph_close(&answer->graph);
  hwi_symbols_destroy(answer->symbols);
  hwi_recorded_blocks_release(&answer->recorded_blocks);
  hwi_profile_destroy(answer->recorded);
  hwi_last_calls_release(&answer->last_calls);
  hwi_thread_frames_release(&answer->threads);
  hwi_thread_storage_release(&answer->storage);
  hwi_core_modules_release(&answer->modules);
  hwi_core_heap_release(&answer->heap);
  hwi_memory_close(&answer->memory);
}

/* --- leaks --- */

int hwi_core_answer_find_leaks(struct hwi_core_answer *answer)
{
  struct hwi_error error = {0};
  if (hwi_graph_open(&answer->graph, &answer->memory, &answer->heap, &error) < 0 ||
      hwi_leaks_find(&answer->leaks, &answer->graph, &error) < 0)
    return hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text);
  return 0;
}

void hwi_core_answer_only_leaks(struct hwi_core_answer *answer)
{
  answer->core.graph = &answer->graph;
  answer->core.leaks = &answer->leaks;
}

/* The leaks of each recorded stack. */
struct stack_leaks {
  const struct hwi_core_answer *answer;
  struct hwi_core_heap_sum *sums; /* by stack */
  bool *is_suppressed;
};

static bool is_suppressed(void *context, uint32_t block)
{
  const struct stack_leaks *of = context;
  const struct hwi_recorded_block *recorded =
      hwi_recorded_blocks_find(&of->answer->recorded_blocks, of->answer->heap.blocks[block].address);
  return recorded && of->is_suppressed[recorded->stack];
}

static int match_stacks(struct stack_leaks *of, struct hwi_suppressions *suppressions, struct hwi_error *error)
{
  const struct hwi_core_answer *answer = of->answer;
  const struct hwi_report report = {.profile = answer->recorded, .names = hwi_reading_names(answer->symbols)};
  struct hwi_named_frames frames;
  int status = hwi_named_frames_init(&frames, &report, error);
  for (uint32_t block = 0; block < answer->heap.block_count && status == 0; block++) {
    const struct hwi_core_block *of_heap = &answer->heap.blocks[block];
    const struct hwi_recorded_block *recorded =
        hwi_graph_is_leak(&answer->graph, block) ? hwi_recorded_blocks_find(&answer->recorded_blocks, of_heap->address)
                                                 : NULL;
    if (!recorded)
      continue;
    of->sums[recorded->stack].blocks++;
    of->sums[recorded->stack].bytes += recorded->size;
  }
  for (uint32_t stack = 0; stack < answer->recorded->stack_count && status == 0; stack++) {
    const struct hwi_core_heap_sum *sum = &of->sums[stack];
    if (!sum->blocks)
      continue;
    status = hwi_named_frames_load(&frames, stack, error);
    of->is_suppressed[stack] = status == 0 && hwi_suppressions_apply(suppressions, &frames, sum->blocks, sum->bytes);
  }
  hwi_named_frames_release(&frames);
  return status;
}

int hwi_core_answer_suppress(struct hwi_core_answer *answer, struct hwi_suppressions *suppressions)
{
  struct hwi_error error = {0};
  if (!answer->recorded) {
    hwi_warn("--suppressions: patterns match recorded stacks, and there is no recording of %s", answer->core.name);
    return 0;
  }
  struct stack_leaks of = {answer, calloc(answer->recorded->stack_count + 1, sizeof *of.sums),
                           calloc(answer->recorded->stack_count + 1, sizeof *of.is_suppressed)};
  int status = of.sums && of.is_suppressed ? match_stacks(&of, suppressions, &error)
                                           : hwi_error_set(&error, HW_ERR_MEMORY, "no memory for suppressions");
  if (status == 0)
    status = hwi_leaks_suppress(&answer->leaks, &answer->graph, is_suppressed, &of, &error);
  free(of.sums);
  free(of.is_suppressed);
  return status < 0 ? hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text) : 0;
}

/* --- the moment --- */

int hwi_core_answer_find_types(void *context, struct hwi_error *error)
{
  struct hwi_core_answer *answer = context;
  if (answer->has_types)
    return 0;
  answer->has_types = true;
  answer->types.index = answer->graph.marks ? &answer->graph.index : NULL;
  answer->core.types = &answer->types;
  return hwi_block_types_find(&answer->types, error);
}

int hwi_core_answer_write_moment(void *context, int fd)
{
  struct hwi_core_answer *answer = context;
  struct hwi_moment moment = {.find_types = hwi_core_answer_find_types,
                              .context = answer,
                              .types = &answer->types,
                              .memory = &answer->memory,
                              .modules = &answer->modules,
                              .heap = &answer->heap,
                              .profile = answer->recorded,
                              .recorded = &answer->recorded_blocks,
                              .leaks_of = answer->core.graph};
  const int status = hwi_moment_write(&moment, fd);
  answer->core.recorded_blocks = moment.known_stacks;
  return status;
}

static int print_text(const struct hwi_report *report, FILE *out, struct hwi_error *error)
{
  struct hwi_style style;
  hwi_style_init(&style, out);
  return hwi_report_text(report, &style, error);
}

static int print_report(const struct hwi_core_print *print, const struct hwi_report *report,
                        const struct hwi_answer_file *to)
{
  struct hwi_error error = {0};
  struct hwi_export_request export = {
      .report = *report, .is_present = true, .name = to->path, .path = to->part, .out = to->out};
  const bool is_html = print->format == HWI_FORMAT_HTML, is_page = is_html || print->format == HWI_FORMAT_PAGE;
  const struct hwi_page_request page = {
      .runs = report, .run_count = 1, .form = is_html ? HWI_PAGE_HTML : HWI_PAGE_DATA};
  const int status = print->export                      ? hwi_export_write(print->export, &export, &error)
                     : print->format == HWI_FORMAT_JSON ? hwi_report_json(report, to->out, &error)
                     : is_page                          ? hwi_page_write(&page, to->out, &error)
                                                        : print_text(report, to->out, &error);
  return status < 0 ? hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text) : HWI_EXIT_OK;
}

/* The blocks are a trace, and its profile is that of the moment. */
static int report_on(struct hwi_core_answer *answer, const struct hwi_core_print *print, const char *trace,
                     const struct hwi_answer_file *to)
{
  struct hwi_reading reading = *answer->reading;
  struct hwi_profile *profile;
  reading.shown_path = answer->core.name;
  int status = hwi_reading_profile(&reading, trace, &profile);
  if (status != 0)
    return status;
  struct hwi_reading_source source = {&reading, trace};
  const struct hwi_report report = {.profile = profile,
                                    .core = &answer->core,
                                    .core_names = &answer->names,
                                    .names = hwi_reading_names(answer->symbols),
                                    .options = hwi_ranking_options(print->ranking),
                                    .replayer = hwi_reading_replayer(&source),
                                    .trace = answer->core.name,
                                    .suppressions = print->suppressions};
  status = print_report(print, &report, to);
  hwi_profile_destroy(profile);
  return status;
}

int hwi_core_answer_print(struct hwi_core_answer *answer, const struct hwi_core_print *print,
                          const struct hwi_answer_file *to)
{
  char trace[32]; /* a path of an open file without a name */
  const int fd = memfd_create("moment", MFD_CLOEXEC);
  int status = fd < 0 ? HW_ERR_IO : hwi_core_answer_write_moment(answer, fd);
  snprintf(trace, sizeof trace, "/proc/self/fd/%d", fd);
  if (status < 0)
    status = hwi_fail(HWI_EXIT_TROUBLE, "no memory for the blocks of %s; use a larger machine", answer->core.name);
  else
    status = report_on(answer, print, trace, to);
  if (fd >= 0)
    close(fd);
  return status;
}
