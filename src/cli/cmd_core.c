/* cmd_core.c - heapwright core: the heap of a core dump */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/core_answer.h"
#include "cli/core_source.h"
#include "launch/new_trace.h"
#include "memory/types/contents.h"
#include "report/content/core_blocks.h"
#include "report/content/core_crash.h"
#include "report/names/named_frames.h"
#include "report/words/style.h"

enum by { BY_TYPE = 0, BY_SIZE };
static const char *const by_names[] = {"type", "size", NULL};

struct values {
  int by;
  const char *recording;
  bool contents, leaks, retained;
  const char *who, *around, *path;
  struct hwi_core_source source;
  struct hwi_ranking ranking;
  struct hwi_answer answer;
  struct hwi_reading reading;
};

static const char trace_suffix[] = ".hwt";

/* The first four are reports; the others are formats of 'heapwright export', of which suffixes name all. */
static const char *const format_names[] = {"text", "json", "html", "page", "folded", "heapprof", NULL};
static const char *const suffixes[] = {".txt", ".json", ".html", ".page.json", ".folded", ".heapprof"};
static const enum hwi_format report_formats[] = {HWI_FORMAT_TEXT, HWI_FORMAT_JSON, HWI_FORMAT_HTML, HWI_FORMAT_PAGE};
enum { REPORT_FORMATS = sizeof report_formats / sizeof *report_formats };
static const struct hwi_formats formats = {format_names, suffixes};

static const struct values defaults = {.ranking = HWI_RANKING_DEFAULTS, .answer = HWI_ANSWER_DEFAULTS_OF(&formats)};

static const struct hwi_option options[] = {
    {.name = "by", HWI_VALUE(CHOICE, by), .choices = by_names, .help = "what to group by (default: type)"},
    {.name = "recording",
     HWI_VALUE(TEXT, recording),
     .value = "TRACE",
     .help = "a recording of the process, complete or not: its blocks have their stacks and the\n"
             "sizes asked for"},
    {.name = "leaks", HWI_VALUE(ON, leaks), .help = "the blocks that nothing reaches, and only these"},
    {.name = "who",
     HWI_VALUE(TEXT, who),
     .value = "ADDRESS",
     .help = "the block at ADDRESS, what is next to it, who refers to it, and a chain from a root"},
    {.name = "around",
     HWI_VALUE(TEXT, around),
     .value = "ADDRESS|crash",
     .help = "for a crash: the blocks around ADDRESS, or around the one that the crash is about;\n"
             "damage near it, and whose overflow or use after free it may be"},
    {.name = "path",
     HWI_VALUE(TEXT, path),
     .value = "ADDRESS",
     .help = "a shortest chain from a root to the block at ADDRESS"},
    {.name = "retained",
     HWI_VALUE(ON, retained),
     .help = "the blocks that retain most: what would go with each of them"},
    {.name = "contents",
     HWI_VALUE(ON, contents),
     .help = "what blocks hold: text, zeros, pointers, the same bytes as others"},
    HWI_TOP_OPTION_OF(ranking, "rows to show; 0: all (default: 10 in text, all in JSON; 20 for a question)"),
    HWI_CORE_SOURCE_OPTIONS(source),
    HWI_DEBUG_DIR_OPTION(reading),
    HWI_ANSWER_OPTIONS_OF(answer, format_names,
                          ".txt, .json, .html (a page to\n"
                          "look at), .hwt (a trace of this moment, for every other command), or a suffix of\n"
                          "'heapwright export', such as .pb.gz or .folded"),
    {.name = NULL},
};

struct work {
  const struct values *values;
  struct hwi_core_answer opened;
  char *program; /* its path, which a module may have; NULL: not named */
  struct hwi_core_contents contents;
  const struct question *question;        /* NULL: a report on the whole heap is wanted */
  uint64_t address;                       /* that it is about */
  bool is_about_crash;                    /* that address is wanted */
  const struct hwi_export_format *export; /* of the answer; NULL: a report in `format` */
  enum hwi_format format;
};

static int open_core(struct work *work, int word_count, char **words)
{
  const struct hwi_core_source *source = &work->values->source;
  struct hwi_core_answer *opened = &work->opened;
  opened->sysroot = source->sysroot;
  hwi_core_source_order(source, word_count, words);
  int status = hwi_core_source_open(source, word_count, words, &opened->memory, &opened->read);
  if (status == 0)
    status = hwi_core_answer_open(opened, hwi_core_source_name(source, word_count, words));
  if (status != 0)
    return status;
  work->program = hwi_core_source_place_program(source, word_count, words, &opened->modules);
  return hwi_core_answer_read(opened, work->values->recording);
}

static int save_trace(struct work *work, const char *path)
{
  struct hwi_error error = {0};
  const int status = hwi_new_trace_make(path, hwi_core_answer_write_moment, &work->opened, &error);
  if (error.status < 0)
    return hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text);
  if (status < 0)
    return hwi_fail(HWI_EXIT_TROUBLE, "cannot write %s: %s", path,
                    status == HW_ERR_IO ? strerror(errno) : hwi_status_text(status));
  if (work->values->leaks)
    hwi_warn("%s has only the leaks; without --leaks it would have all live blocks", path);
  return HWI_EXIT_OK;
}

static int read_contents(struct work *work)
{
  struct hwi_core_answer *opened = &work->opened;
  if (!work->values->contents)
    return 0;
  if (!hwi_core_contents_find(&work->contents, &opened->memory, &opened->heap, &opened->modules))
    return hwi_fail(HWI_EXIT_TROUBLE, "no memory to compare the blocks of %s; use a larger machine", opened->core.name);
  opened->core.contents = &work->contents;
  return 0;
}

static int find_leaks(struct work *work)
{
  const struct values *values = work->values;
  if (!values->leaks && !work->question)
    return 0;
  const int status = hwi_core_answer_find_leaks(&work->opened);
  if (status == 0 && values->leaks)
    hwi_core_answer_only_leaks(&work->opened);
  return status;
}

static int answer(struct work *work)
{
  const struct values *values = work->values;
  const struct hwi_core_print print = {.format = work->format, .export = work->export, .ranking = &values->ranking};
  struct hwi_answer_file to;
  int status = read_contents(work);
  if (status == 0)
    status = hwi_answer_open(&to, values->answer.path);
  return status == 0 ? hwi_answer_close(&to, hwi_core_answer_print(&work->opened, &print, &to)) : status;
}

/* --- single blocks --- */

struct question {
  const char *option;
  int (*text)(const struct hwi_core_question *question, uint64_t address, const struct hwi_style *style,
              struct hwi_error *error);
  int (*json)(const struct hwi_core_question *question, uint64_t address, FILE *out, struct hwi_error *error);
};

static const struct question questions[] = {{"--who", hwi_core_who_text, hwi_core_who_json},
                                            {"--around", hwi_core_around_text, hwi_core_around_json},
                                            {"--path", hwi_core_path_text, hwi_core_path_json},
                                            {"--retained", hwi_core_retained_text, hwi_core_retained_json}};
enum { QUESTIONS = sizeof questions / sizeof *questions };

static int answer_question(struct work *work, const struct hwi_core_question *question,
                           const struct hwi_answer_file *to)
{
  struct hwi_error error = {0};
  struct hwi_style style;
  hwi_style_init(&style, to->out);
  const int status = work->format == HWI_FORMAT_JSON ? work->question->json(question, work->address, to->out, &error)
                                                     : work->question->text(question, work->address, &style, &error);
  return status < 0 ? hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text) : HWI_EXIT_OK;
}

/* Sets the address to the one that the crash is about. */
static int find_crash(struct work *work)
{
  struct hwi_core_crash crash;
  const char *name = work->opened.core.name;
  if (!work->is_about_crash)
    return 0;
  hwi_core_crash_find(&crash, &work->opened.names);
  if (!crash.is_known)
    return hwi_fail(HWI_EXIT_TROUBLE, "--around crash: no signal is known that ended %s; name an address", name);
  if (!crash.source)
    return hwi_fail(
        HWI_EXIT_TROUBLE,
        "--around crash: the kernel did not say which address was accessed, and no register or frame of the "
        "thread refers to a block; name an address");
  work->address = crash.address;
  return 0;
}

static int ask_about_blocks(struct work *work)
{
  enum { LISTED = 20 };
  const uint64_t top = work->values->ranking.report.top;
  struct hwi_core_answer *opened = &work->opened;
  struct hwi_error error = {0};
  struct hwi_answer_file to;
  int status = find_crash(work);
  if (status != 0)
    return status;
  if (hwi_core_answer_find_types(opened, &error) < 0)
    return hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text);
  const struct hwi_core_question question = {.graph = &opened->graph,
                                             .names = opened->names,
                                             .is_about_crash = work->is_about_crash,
                                             .most = top == HWI_TOP_DEFAULT ? LISTED
                                                     : top                  ? top
                                                                            : SIZE_MAX};
  status = hwi_answer_open(&to, work->values->answer.path);
  if (status == 0)
    status = hwi_answer_close(&to, answer_question(work, &question, &to));
  return status;
}

static int check_question(struct work *work)
{
  const struct values *values = work->values;
  const char *const asked[QUESTIONS] = {values->who, values->around, values->path, values->retained ? "" : NULL};
  const char *address = NULL;
  for (int i = 0; i < QUESTIONS; i++) {
    if (!asked[i])
      continue;
    if (work->question)
      return hwi_fail(HWI_EXIT_TROUBLE, "%s and %s are different questions: ask one of them", work->question->option,
                      questions[i].option);
    work->question = &questions[i];
    address = asked[i];
  }
  if (work->question && values->leaks)
    return hwi_fail(HWI_EXIT_TROUBLE, "--leaks and %s are different questions: ask one of them",
                    work->question->option);
  work->is_about_crash = values->around && strcmp(values->around, "crash") == 0;
  return !address || values->retained || work->is_about_crash
             ? 0
             : hwi_core_source_address(address, work->question->option, &work->address);
}

static bool is_trace(const struct hwi_answer *answer)
{
  const size_t bytes = answer->path ? strlen(answer->path) : 0, suffix = sizeof trace_suffix - 1;
  return !hwi_answer_has_format(answer) && bytes > suffix && strcmp(answer->path + bytes - suffix, trace_suffix) == 0;
}

/* Determines the format, which -o's suffix may name. */
static int find_format(struct work *work, struct hwi_answer *answer)
{
  if (answer->format == HWI_FORMAT_UNKNOWN && answer->path) /* also .dhat.json, which is no .json */
    work->export = hwi_export_format_of(answer->path);
  if (!work->export && !hwi_answer_has_format(answer))
    return hwi_format_refuse(&formats, answer->path,
                             "; .hwt makes a trace, and each suffix of 'heapwright export' its format");
  const int status = work->export ? 0 : hwi_answer_check(answer);
  if (status != 0)
    return status;
  if (!work->export && answer->format < REPORT_FORMATS)
    work->format = report_formats[answer->format];
  else if (!work->export)
    work->export = hwi_export_format_named(format_names[answer->format]);
  if (!work->question || (!work->export && (work->format == HWI_FORMAT_TEXT || work->format == HWI_FORMAT_JSON)))
    return 0;
  return hwi_fail(HWI_EXIT_TROUBLE, "%s is answered as text or JSON, not as %s", work->question->option,
                  work->export ? work->export->name : format_names[answer->format]);
}

static int run(const void *given, int word_count, char **words)
{
  struct values values = *(const struct values *)given;
  struct work work = {.values = &values, .opened.reading = &values.reading};
  const bool saves = is_trace(&values.answer);
  int status = 0;
  values.ranking.report.by = values.by == BY_SIZE ? HWI_BY_SIZE : HWI_BY_STACK; /* a block's only frame is its type */
  status = hwi_reading_check(&values.reading);
  if (status == 0)
    status = check_question(&work);
  if (status == 0 && !saves)
    status = find_format(&work, &values.answer);
  if (status == 0)
    status = open_core(&work, word_count, words);
  if (status == 0)
    status = find_leaks(&work);
  if (status == 0)
    status = work.question ? ask_about_blocks(&work) : saves ? save_trace(&work, values.answer.path) : answer(&work);
  hwi_core_answer_close(&work.opened);
  free(work.program);
  return status;
}

const struct hwi_command hwi_command_core = {
    .name = "core",
    .summary = "explain the heap of a core dump, a process or an image of memory",
    .usage = "[options] [PROGRAM] CORE|PID|--stored MATCH|--raw FILE",
    .details =
        "PROGRAM is looked at for names. CORE is a core dump, also a compressed one; PID is a process, which is\n"
        "stopped while its memory is copied.\n"
        "\n"
        "examples:\n"
        "  heapwright core ./app core.4711\n"
        "  heapwright core --around crash ./app core.4711\n"
        "  heapwright core --leaks 4711\n"
        "  heapwright core --raw ram.bin@0x20000000 --word 32 firmware.elf\n",
    .options = options,
    .defaults = &defaults,
    .values_bytes = sizeof(struct values),
    .usage_status = HWI_EXIT_TROUBLE,
    .run = run,
};
