/* cmd_export.c - heapwright export: a recording in another tool's format */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/answer.h"
#include "cli/ranking_options.h"
#include "cli/span.h"
#include "export/compression.h"
#include "export/export.h"
#include "export/tables/tables.h"
#include "report/input/moment.h"
#include "report/input/suggest.h"
#include "symbols/symbols.h"

struct values {
  struct hwi_report_options report;
  const char *output, *format, *table;
  uint64_t event_stacks;
  bool with_scopes;
  struct hwi_reading reading;
  struct hwi_span_words span;
};

static const struct values defaults = {.report = {.cost = HWI_COST_DEFAULT, .top = HWI_TOP_DEFAULT, .min_calls = 1}};

static const struct hwi_option options[] = {
    {.name = "output",
     .letter = 'o',
     HWI_VALUE(TEXT, output),
     .value = "FILE",
     .help =
         "the file to write; its suffix names the format, and .gz or .zst after\nthat compresses it. '-' is stdout"},
    {.name = "format", HWI_VALUE(TEXT, format), .value = "NAME", .help = "the format, regardless of FILE's suffix"},
    {.name = "cost",
     HWI_VALUE(CHOICE, report.cost),
     .choices = hwi_cost_names,
     .help = "the figure for formats with one figure, and the first of others (default: peak)"},
    {.name = "table", HWI_VALUE(TEXT, table), .value = "NAME", .help = "csv: which table (default: stacks)"},
    {.name = "events",
     HWI_VALUE(COUNT, event_stacks),
     .value = "N",
     .help = "chrome: also every allocation of the N costliest stacks (default: 0)"},
    {.name = "scopes",
     HWI_VALUE(ON, with_scopes),
     .help = "folded, speedscope: the scopes that the program marked, in front of the\nstacks"},
    HWI_CHOOSING_OPTIONS(report),
    HWI_SPAN_OPTIONS(span),
    HWI_READING_OPTIONS(reading),
    {0},
};

/* --- which format --- */

static int unknown_format(const char *name)
{
  struct hwi_suggestion suggestion;
  hwi_suggestion_init(&suggestion, name, strlen(name));
  for (const struct hwi_export_format *const *format = hwi_export_formats; *format; format++)
    hwi_suggestion_offer(&suggestion, (*format)->name);
  if (suggestion.best)
    return hwi_fail(HWI_EXIT_TROUBLE, "there is no format '%s'; did you mean '%s'?", name, suggestion.best);
  return hwi_fail(HWI_EXIT_TROUBLE, "there is no format '%s'; 'heapwright help export' lists them", name);
}

static int find_format(const struct values *values, const struct hwi_export_format **format)
{
  if (!values->output || values->output[0] == '\0')
    return hwi_fail(HWI_EXIT_TROUBLE, "export needs -o FILE, or -o - for stdout; 'heapwright help export' lists the "
                                      "suffixes of FILE");
  if (values->format) {
    *format = hwi_export_format_named(values->format);
    return *format ? 0 : unknown_format(values->format);
  }
  if (strcmp(values->output, "-") == 0)
    return hwi_fail(HWI_EXIT_TROUBLE, "stdout needs --format NAME; 'heapwright help export' lists the formats");
  *format = hwi_export_format_of(values->output);
  if (*format)
    return 0;
  return hwi_fail(HWI_EXIT_TROUBLE,
                  "'%s' has no suffix of a format; 'heapwright help export' lists them, and "
                  "--format NAME chooses one",
                  values->output);
}

/* Refuses options that the format does not have. */
static int check_options(const struct values *values, const struct hwi_export_format *format)
{
  if (values->event_stacks != 0 && format != &hwi_export_chrome)
    return hwi_fail(HWI_EXIT_TROUBLE, "--events is for chrome; %s does not use it", format->name);
  if (values->with_scopes && format != &hwi_export_folded && format != &hwi_export_speedscope)
    return hwi_fail(HWI_EXIT_TROUBLE, "--scopes is for folded and speedscope; %s does not use it", format->name);
  if (!values->table)
    return 0;
  if (format != &hwi_export_csv)
    return hwi_fail(HWI_EXIT_TROUBLE, "--table is for csv; %s has no separate tables", format->name);
  if (hwi_table_named(values->table))
    return 0;
  struct hwi_line names = {0};
  for (const struct hwi_table *const *table = hwi_tables; *table; table++)
    hwi_line_printf(&names, "%s%s", table == hwi_tables ? "" : ", ", (*table)->name);
  int status = hwi_fail(HWI_EXIT_TROUBLE, "there is no table '%s', but %s", values->table, hwi_line_text(&names));
  hwi_line_release(&names);
  return status;
}

static int refuse_span(const struct hwi_export_format *format, enum hwi_export_span wanted, const char *why)
{
  struct hwi_line names = {0};
  for (const struct hwi_export_format *const *at = hwi_export_formats; *at; at++) {
    if ((*at)->spans <= wanted)
      hwi_line_printf(&names, "%s%s", names.bytes > 0 ? ", " : "", (*at)->name);
  }
  int status = hwi_fail(HWI_EXIT_TROUBLE, "%s %s; these formats can: %s", format->name, why, hwi_line_text(&names));
  hwi_line_release(&names);
  return status;
}

/* Formats of events cannot begin with blocks that are live already, and cannot hold a single moment, which has no
 * events. */
static int check_span(const struct hwi_span_words *span, const struct hwi_export_format *format)
{
  if (span->at && format->spans != HWI_EXPORT_ANY_SPAN)
    return refuse_span(format, HWI_EXPORT_ANY_SPAN, "goes along the time of a run and cannot hold one moment (--at)");
  if (span->from && format->spans == HWI_EXPORT_BEGINNINGS)
    return refuse_span(format, HWI_EXPORT_INTERVALS,
                       "holds each block from its allocation on, so that it cannot begin later (--from; --to it can)");
  return 0;
}

/* Refuses what the format cannot do. */
static int check_format(const struct values *values, const struct hwi_export_format *format)
{
  bool to_stdout = strcmp(values->output, "-") == 0;
  if (format->one_process && values->reading.children)
    return hwi_fail(HWI_EXIT_TROUBLE, "%s holds one process: leave --children out, or choose one with --pid",
                    format->name);
  struct stat about;
  bool is_device = stat(values->output, &about) == 0 && !S_ISREG(about.st_mode);
  if (format->needs_file && (to_stdout || is_device || hwi_compression_of(values->output) != HWI_COMPRESSION_NONE))
    return hwi_fail(HWI_EXIT_TROUBLE, "%s can be written to a plain file only", format->name);
  if (format->compresses && hwi_compression_of(values->output) == HWI_COMPRESSION_ZSTD)
    return hwi_fail(HWI_EXIT_TROUBLE, "%s is always compressed by gzip: leave .zst out", format->name);
  if (format->is_binary && to_stdout && isatty(STDOUT_FILENO) == 1)
    return hwi_fail(HWI_EXIT_TROUBLE, "%s is no text for a terminal; name a file with -o, or use a pipe", format->name);
  return 0;
}

/* --- the work --- */

static int write_compressed(const struct hwi_export_format *format, struct hwi_export_request *request,
                            enum hwi_compression compression, struct hwi_error *error)
{
  FILE *out = request->out;
  request->out = hwi_compressed_open(out, compression);
  if (!request->out)
    return hwi_export_no_memory(error);
  int status = hwi_export_write(format, request, error);
  int closed = hwi_compressed_close(request->out, out, status == HW_OK ? error : NULL);
  request->out = out;
  return status == HW_OK ? closed : status;
}

static int write_file(const struct values *values, const struct hwi_export_format *format,
                      struct hwi_export_request *request, const struct hwi_answer_file *to)
{
  struct hwi_error error = {0};
  enum hwi_compression compression = format->compresses ? HWI_COMPRESSION_NONE : hwi_compression_of(values->output);
  request->out = to->out;
  request->name = values->output;
  request->path = to->part ? to->part : values->output;
  int status = compression != HWI_COMPRESSION_NONE ? write_compressed(format, request, compression, &error)
                                                   : hwi_export_write(format, request, &error);
  return status < 0 ? hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text) : HWI_EXIT_OK;
}

static int export_from(const struct values *values, const struct hwi_export_format *format, const char *path,
                       const struct hwi_answer_file *to)
{
  struct hwi_profile *profile;
  struct hwi_symbols *symbols;
  struct hwi_reading_source source = {&values->reading, path};
  int status = hwi_span_profile(&values->span, &values->reading, path, &profile);
  if (status != 0)
    return status;
  status = hwi_reading_symbols_of(&values->reading, path, &symbols);
  if (status == 0) {
    struct hwi_export_request request = {
        .report = {.profile = profile,
                   .names = hwi_reading_names(symbols),
                   .options = values->report,
                   .replayer = hwi_reading_replayer(&source)},
        .table = values->table,
        .event_stacks = values->event_stacks,
        .with_scopes = values->with_scopes,
    };
    status = write_file(values, format, &request, to);
    if (status == HWI_EXIT_OK)
      hwi_reading_warn(&values->reading, profile, "exported");
    hwi_warn_of(&request.remarks);
    hwi_symbols_save_names(symbols, profile->has_summary);
    hwi_symbols_destroy(symbols);
  }
  hwi_profile_destroy(profile);
  return status;
}

/* Scopes by rules are found before the export. */
static int find_and_export(const struct values *given, const struct hwi_export_format *format, const char *path,
                           const struct hwi_answer_file *to)
{
  struct values values = *given;
  struct hwi_scope_rules rules = {0};
  int status = hwi_reading_find_scopes(&values.reading, path, &rules);
  if (status == 0)
    status = export_from(&values, format, path, to);
  hwi_scope_rules_release(&rules);
  return status;
}

static int run(const void *given, int word_count, char **words)
{
  const struct values *values = given;
  const struct hwi_export_format *format = NULL;
  char path[HWI_READING_PATH_BYTES];
  if (word_count > 1)
    return hwi_fail(HWI_EXIT_TROUBLE, "export takes one trace, not %d; '%s' is one too many", word_count, words[1]);
  int status = find_format(values, &format);
  if (status == 0)
    status = check_options(values, format);
  if (status == 0)
    status = hwi_choosing_check(&values->report);
  if (status == 0)
    status = hwi_span_check(&values->span, values->report.cost);
  if (status == 0)
    status = check_span(&values->span, format);
  if (status == 0)
    status = hwi_reading_check(&values->reading);
  if (status == 0)
    status = hwi_reading_find(word_count == 1 ? words[0] : ".", path, sizeof path);
  if (status == 0)
    status = check_format(values, format);
  struct hwi_answer_file to;
  if (status == 0)
    status = hwi_answer_open(&to, values->output);
  return status == 0 ? hwi_answer_close(&to, find_and_export(values, format, path, &to)) : status;
}

static void print_formats(void)
{
  enum { NAME_CELLS = 11, SUFFIX_CELLS = 19 };
  puts("\nformats, and the suffixes of FILE:");
  for (const struct hwi_export_format *const *format = hwi_export_formats; *format; format++)
    printf("  %-*s %-*s %s\n", NAME_CELLS, (*format)->name, SUFFIX_CELLS, (*format)->suffixes[0], (*format)->summary);
}

const struct hwi_command hwi_command_export = {
    .name = "export",
    .summary = "write a recording in another tool's format",
    .usage = "[options] [TRACE] -o FILE",
    .details = "TRACE is a recording, its folder NAME.children, or a folder in which the newest is taken.\n"
               "\n"
               "examples:\n"
               "  heapwright export app.hwt -o app.pb.gz     then: go tool pprof app.pb.gz\n"
               "  heapwright export app.hwt -o app.folded --cost calls\n"
               "                                             then: flamegraph.pl app.folded\n"
               "  heapwright export app.hwt -o app.pb.gz --from 5s --only 'func=parse_*'\n"
               "                                             a part of it\n",
    .print_more = print_formats,
    .options = options,
    .defaults = &defaults,
    .values_bytes = sizeof(struct values),
    .usage_status = HWI_EXIT_TROUBLE,
    .run = run,
};
