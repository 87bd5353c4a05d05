/* cmd_core.c - heapwright core: the heap of a core dump */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/answer.h"
#include "cli/core_source.h"
#include "cli/page_and_charts.h"
#include "cli/ranking_options.h"
#include "export/export.h"
#include "export/moment.h"
#include "launch/new_trace.h"
#include "memory/graph/graph.h"
#include "memory/heaps/heap.h"
#include "memory/types/contents.h"
#include "report/core_blocks.h"
#include "report/names/named_frames.h"
#include "report/words/style.h"
#include "symbols/symbols.h"

enum by { BY_TYPE = 0, BY_SIZE };
static const char *const by_names[] = {"type", "size", NULL};

struct values {
  int by;
  const char *recording;
  bool contents, leaks, retained;
  const char *who;
  struct hwi_core_source source;
  struct hwi_ranking ranking;
  struct hwi_answer answer;
  struct hwi_reading reading;
};

static const char trace_suffix[] = ".hwt";

static const struct values defaults = {.ranking = HWI_RANKING_DEFAULTS,
                                       .answer = HWI_ANSWER_DEFAULTS_OF(&hwi_page_formats)};

static const struct hwi_option options[] = {
    {.name = "by", HWI_VALUE(CHOICE, by), .choices = by_names, .help = "what to group by (default: type)"},
    {.name = "recording",
     HWI_VALUE(TEXT, recording),
     .value = "TRACE",
     .help = "a recording of the process, complete or not: its blocks have their stacks and the sizes asked for"},
    {.name = "leaks", HWI_VALUE(ON, leaks), .help = "the blocks that nothing reaches, and only these"},
    {.name = "who",
     HWI_VALUE(TEXT, who),
     .value = "ADDRESS",
     .help = "the block at ADDRESS, what is next to it, who refers to it, and a chain from a root"},
    {.name = "retained",
     HWI_VALUE(ON, retained),
     .help = "the blocks that retain most: what would go with each of them"},
    {.name = "contents",
     HWI_VALUE(ON, contents),
     .help = "what blocks hold: text, zeros, pointers, the same bytes as others"},
    {.name = "top",
     .letter = 'n',
     HWI_VALUE(COUNT, ranking.report.top),
     .value = "N",
     .help = "rows to show; 0: all (default: 10 in text, all in JSON)"},
    HWI_CORE_SOURCE_OPTIONS(source),
    HWI_ANSWER_OPTIONS_OF(answer, hwi_format_names,
                          ".txt, .json, .html (a page to\n"
                          "look at), .hwt (a trace of this moment, for every other command), or a suffix of\n"
                          "'heapwright export', such as .pb.gz or .folded"),
    {.name = NULL},
};

/* What the command has opened. */
struct work {
  const struct values *values;
  struct hwi_memory memory;
  struct hwi_process_read read;
  struct hwi_core_heap heap;
  struct hwi_core_modules modules;
  struct hwi_symbols *symbols;
  struct hwi_profile *recorded; /* NULL: there is no recording */
  struct hwi_recorded_blocks recorded_blocks;
  struct hwi_core_contents contents;
  struct hwi_graph graph;
  struct hwi_leaks leaks;
  struct hwi_core core;
  char trace[32]; /* of the moment: a path of an open file without a name */
  int fd;
  uint64_t address;                       /* of --who */
  const struct hwi_export_format *export; /* of the answer; NULL: a report */
};

static int print_text(const struct hwi_report *report, FILE *out, struct hwi_error *error)
{
  struct hwi_style style;
  hwi_style_init(&style, out);
  return hwi_report_text(report, &style, error);
}

static int print_report(const struct work *work, const struct hwi_report *report, const struct hwi_answer_file *to)
{
  struct hwi_error error = {0};
  const struct hwi_answer *answer = &work->values->answer;
  struct hwi_export_request export = {
      .report = *report, .is_present = true, .name = to->path, .path = to->part, .out = to->out};
  const struct hwi_page_request page = {.runs = report, .run_count = 1, .form = HWI_PAGE_HTML};
  const int status = work->export                        ? hwi_export_write(work->export, &export, &error)
                     : answer->format == HWI_FORMAT_JSON ? hwi_report_json(report, to->out, &error)
                     : answer->format == HWI_FORMAT_HTML ? hwi_page_write(&page, to->out, &error)
                                                         : print_text(report, to->out, &error);
  return status < 0 ? hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text) : HWI_EXIT_OK;
}

/* The blocks become a trace, and its profile is that of the moment; in pages and exports, it is a run of one moment. */
static int report_on(struct work *work, const struct hwi_answer_file *to)
{
  const enum hwi_format format = (enum hwi_format)work->values->answer.format;
  struct hwi_reading reading = work->values->reading;
  struct hwi_profile *profile;
  if (!work->export && format != HWI_FORMAT_HTML)
    reading.span = (struct hwi_span){.kind = HWI_SPAN_MOMENT};
  int status = hwi_reading_profile(&reading, work->trace, &profile);
  if (status != 0)
    return status;
  struct hwi_reading_source source = {&reading, work->trace};
  const struct hwi_report report = {.profile = profile,
                                    .core = &work->core,
                                    .names = hwi_reading_names(work->symbols),
                                    .options = hwi_ranking_options(&work->values->ranking),
                                    .replayer = hwi_reading_replayer(&source),
                                    .trace = work->core.name};
  status = print_report(work, &report, to);
  hwi_profile_destroy(profile);
  return status;
}

static struct hwi_vtables vtables_of(struct work *work)
{
  return (struct hwi_vtables){.memory = &work->memory,
                              .modules = &work->modules,
                              .symbols = work->symbols,
                              .reader = {.memory = &work->memory}};
}

static int write_moment(void *context, int fd)
{
  struct work *work = context;
  struct hwi_vtables vtables = vtables_of(work);
  struct hwi_moment moment = {.vtables = &vtables,
                              .heap = &work->heap,
                              .profile = work->recorded,
                              .recorded = &work->recorded_blocks,
                              .leaks_of = work->core.graph};
  const int status = hwi_moment_write(&moment, fd);
  work->core.recorded_blocks = moment.known_stacks;
  hwi_vtables_release(&vtables);
  return status;
}

static int make_trace(struct work *work)
{
  work->fd = memfd_create("moment", MFD_CLOEXEC);
  const int status = work->fd < 0 ? HW_ERR_IO : write_moment(work, work->fd);
  if (status < 0)
    return hwi_fail(HWI_EXIT_TROUBLE, "no memory for the blocks of %s; use a larger machine", work->core.name);
  snprintf(work->trace, sizeof work->trace, "/proc/self/fd/%d", work->fd);
  return 0;
}

/* The image of the recording with the PID of the core dump, or the largest. */
static int read_recording(struct work *work)
{
  struct hwi_error error = {0};
  struct hwi_profile_options chosen = {0};
  const char *path = work->values->recording;
  if (!path)
    return 0;
  if (hwi_profile_create(&work->recorded, path, &chosen, &error) < 0)
    return hwi_fail(HWI_EXIT_TROUBLE, "--recording: %s", error.text);
  for (uint32_t i = 0; i < work->recorded->image_count; i++)
    if (work->recorded->images[i].info && work->recorded->images[i].info->header.pid == work->memory.pid)
      chosen = (struct hwi_profile_options){.images = HWI_IMAGES_PID, .pid = work->memory.pid};
  if (chosen.images == HWI_IMAGES_PID) {
    hwi_profile_destroy(work->recorded);
    work->recorded = NULL;
    if (hwi_profile_create(&work->recorded, path, &chosen, &error) < 0)
      return hwi_fail(HWI_EXIT_TROUBLE, "--recording: %s", error.text);
  }
  if (hwi_recorded_blocks_read(&work->recorded_blocks, path, &chosen, &error) < 0)
    return hwi_fail(HWI_EXIT_TROUBLE, "--recording: %s", error.text);
  work->core.recording = path;
  return 0;
}

static int open_core(struct work *work, int word_count, char **words)
{
  struct hwi_error error = {0};
  const struct hwi_core_source *source = &work->values->source;
  int status = hwi_core_source_open(source, word_count, words, &work->memory, &work->read);
  if (status != 0)
    return status;
  work->core = (struct hwi_core){.name = hwi_core_source_name(source, word_count, words),
                                 .memory = &work->memory,
                                 .heap = &work->heap,
                                 .stop_ns = work->read.stop_ns};
  status = hwi_core_heap_find(&work->heap, &work->memory, &error);
  if (status == 0 && !hwi_core_modules_find(&work->modules, &work->memory))
    status = hwi_error_set(&error, HW_ERR_MEMORY, "no memory for the list of modules");
  if (status < 0)
    return hwi_fail(HWI_EXIT_TROUBLE, "%s: %s", work->core.name, error.text);
  hwi_core_source_place_program(&work->modules, hwi_core_source_program(source, word_count, words));
  status = read_recording(work);
  const char *const recordings[] = {work->core.recording, NULL};
  return status == 0 ? hwi_reading_symbols(&work->values->reading, recordings, &work->symbols) : status;
}

static void close_core(struct work *work)
{
  if (work->fd >= 0)
    close(work->fd);
  hwi_leaks_release(&work->leaks);
  hwi_graph_close(&work->graph);
  hwi_symbols_destroy(work->symbols);
  hwi_recorded_blocks_release(&work->recorded_blocks);
  hwi_profile_destroy(work->recorded);
  hwi_core_modules_release(&work->modules);
  hwi_core_heap_release(&work->heap);
  hwi_memory_close(&work->memory);
}

static int save_trace(struct work *work, const char *path)
{
  struct hwi_error error = {.text = "no memory"};
  if (hwi_new_trace_make(path, write_moment, work, &error) < 0)
    return hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text);
  return HWI_EXIT_OK;
}

static int read_contents(struct work *work)
{
  if (!work->values->contents)
    return 0;
  if (!hwi_core_contents_find(&work->contents, &work->memory, &work->heap, &work->modules))
    return hwi_fail(HWI_EXIT_TROUBLE, "no memory to compare the blocks of %s; use a larger machine", work->core.name);
  work->core.contents = &work->contents;
  return 0;
}

static int find_leaks(struct work *work)
{
  struct hwi_error error = {0};
  const struct values *values = work->values;
  if (!values->leaks && !values->who && !values->retained)
    return 0;
  if (hwi_graph_open(&work->graph, &work->memory, &work->heap, &error) < 0 ||
      hwi_leaks_find(&work->leaks, &work->graph, &error) < 0)
    return hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text);
  if (values->leaks) {
    work->core.graph = &work->graph;
    work->core.leaks = &work->leaks;
  }
  return 0;
}

static int answer(struct work *work)
{
  struct hwi_answer_file to;
  int status = make_trace(work);
  if (status == 0)
    status = read_contents(work);
  if (status == 0)
    status = hwi_answer_open(&to, work->values->answer.path);
  return status == 0 ? hwi_answer_close(&to, report_on(work, &to)) : status;
}

/* --- single blocks --- */

static int answer_question(struct work *work, const struct hwi_core_question *question,
                           const struct hwi_answer_file *to)
{
  const struct values *values = work->values;
  const bool is_json = values->answer.format == HWI_FORMAT_JSON;
  struct hwi_error error = {0};
  struct hwi_style style;
  hwi_style_init(&style, to->out);
  int status;
  if (values->retained)
    status =
        is_json ? hwi_core_retained_json(question, to->out, &error) : hwi_core_retained_text(question, &style, &error);
  else
    status = is_json ? hwi_core_who_json(question, work->address, to->out, &error)
                     : hwi_core_who_text(question, work->address, &style, &error);
  return status < 0 ? hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text) : HWI_EXIT_OK;
}

static int ask_about_blocks(struct work *work)
{
  enum { LISTED = 20 };
  const uint64_t top = work->values->ranking.report.top;
  struct hwi_vtables vtables = vtables_of(work);
  const struct hwi_report report = {.profile = work->recorded, .names = hwi_reading_names(work->symbols)};
  struct hwi_named_frames frames;
  struct hwi_error error = {0};
  struct hwi_answer_file to;
  if (work->recorded && hwi_named_frames_init(&frames, &report, &error) < 0)
    return hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text);
  const struct hwi_core_question question = {
      .graph = &work->graph,
      .names = {&vtables, &work->recorded_blocks, work->recorded ? &frames : NULL},
      .most = top == HWI_TOP_DEFAULT ? LISTED
              : top                  ? top
                                     : SIZE_MAX};
  int status = hwi_answer_open(&to, work->values->answer.path);
  if (status == 0)
    status = hwi_answer_close(&to, answer_question(work, &question, &to));
  if (work->recorded)
    hwi_named_frames_release(&frames);
  hwi_vtables_release(&vtables);
  return status;
}

static int check_question(struct work *work)
{
  const struct values *values = work->values;
  char *end;
  if (values->who && values->retained)
    return hwi_fail(HWI_EXIT_TROUBLE, "--who and --retained are different questions: ask one of them");
  if (!values->who)
    return 0;
  work->address = strtoull(values->who, &end, 16);
  if (end == values->who || *end)
    return hwi_fail(HWI_EXIT_TROUBLE, "--who %s: that is no address; try one in hexadecimal, such as 0x5581e0",
                    values->who);
  return 0;
}

static bool is_trace(const struct hwi_answer *answer)
{
  const size_t bytes = answer->path ? strlen(answer->path) : 0, suffix = sizeof trace_suffix - 1;
  return !hwi_answer_has_format(answer) && bytes > suffix && strcmp(answer->path + bytes - suffix, trace_suffix) == 0;
}

static int run(const void *given, int word_count, char **words)
{
  struct values values = *(const struct values *)given;
  struct work work = {.values = &values, .fd = -1};
  const bool saves = is_trace(&values.answer);
  int status = 0;
  values.ranking.report.by = values.by == BY_SIZE ? HWI_BY_SIZE : HWI_BY_STACK; /* a block's only frame is its type */
  status = check_question(&work);
  if (status == 0 && !saves && !hwi_answer_has_format(&values.answer))
    work.export = hwi_export_format_of(values.answer.path);
  if (status == 0 && !saves && !work.export)
    status = hwi_answer_check(&values.answer);
  if (status == 0)
    status = open_core(&work, word_count, words);
  if (status == 0)
    status = find_leaks(&work);
  if (status == 0)
    status = values.who || values.retained ? ask_about_blocks(&work)
             : saves                       ? save_trace(&work, values.answer.path)
                                           : answer(&work);
  close_core(&work);
  return status;
}

const struct hwi_command hwi_command_core = {
    .name = "core",
    .summary = "explain the heap of a core dump, a process or an image of memory",
    .usage = "[options] PROGRAM [CORE|PID|--raw FILE]",
    .details = "",
    .options = options,
    .defaults = &defaults,
    .values_bytes = sizeof(struct values),
    .usage_status = HWI_EXIT_TROUBLE,
    .run = run,
};
