/* cmd_import.c - heapwright import: packs a recording that was left raw, or converts a recording of another tool */
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#include "cli/command.h"
#include "export/import/foreign.h"
#include "launch/import.h"
#include "report/words/number.h"

struct values {
  const char *output;
};

static const struct values defaults = {0};

static const struct hwi_option options[] = {
    {.name = "output",
     .letter = 'o',
     HWI_VALUE(TEXT, output),
     .value = "FILE",
     .help = "the packed trace; may be RAW itself"},
    {.name = NULL},
};

static int import_foreign(const struct hwi_foreign_format *format, const char *from, const char *to)
{
  struct hwi_foreign result;
  struct hwi_error error = {0};
  if (hwi_foreign_import(format, from, to, &result, &error) < 0)
    return hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text);
  hwi_warn("%s events of %s in %s", hwi_count_text(result.event_count).text, result.tool,
           hwi_bytes_text(result.packed_bytes).text);
  hwi_warn("info: %s does not keep %s", result.tool, result.missing);
  if (result.bad_lines > 0)
    hwi_warn("invalid lines were left out: %s line%s, the first one is line %" PRIu64,
             hwi_count_text(result.bad_lines).text, result.bad_lines > 1 ? "s" : "", result.first_bad_line);
  return HWI_EXIT_OK;
}

/* Returns whether `path` is a regular file that is not empty. Other files get an error of the trace reader. */
static bool has_contents(const char *path)
{
  struct stat about;
  return stat(path, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0;
}

static int run(const void *given, int word_count, char **words)
{
  const struct values *values = given;
  if (word_count != 1)
    return hwi_fail(HWI_EXIT_TROUBLE, "import takes one recording, not %d", word_count);
  if (!values->output || values->output[0] == '\0')
    return hwi_fail(HWI_EXIT_TROUBLE, "import needs -o FILE; to pack %s in its place, name it again", words[0]);
  const struct hwi_foreign_format *foreign = hwi_foreign_format_of(words[0]);
  if (foreign)
    return import_foreign(foreign, words[0], values->output);
  struct hwi_imported imported;
  struct hwi_error error = {0};
  int status = hwi_import(words[0], values->output, &imported, &error);
  if (status == HW_ERR_NOT_A_TRACE && has_contents(words[0]))
    return hwi_fail(HWI_EXIT_TROUBLE, "%s is neither a heapwright trace nor a recording of heaptrack or heaphook",
                    words[0]);
  if (status < 0)
    return hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text);
  hwi_warn("%s events in %s", hwi_count_text(imported.event_count).text, hwi_bytes_text(imported.packed_bytes).text);
  if (imported.unreadable > 0)
    hwi_warn("%u other files there are not traces of this run and were not changed", imported.unreadable);
  return HWI_EXIT_OK;
}

const struct hwi_command hwi_command_import = {
    .name = "import",
    .summary = "pack a recording that was left unpacked, or convert a recording of another tool",
    .usage = "RAW -o FILE",
    .details =
        "A program that was started with LD_PRELOAD alone, or whose launcher was killed, leaves a trace that is\n"
        "complete, but several times larger than it need be. Every command reads it just the same.\n"
        "RAW may also be a recording of heaptrack, raw or interpreted, or a heap log of heaphook.\n"
        "\n"
        "example:\n"
        "  heapwright import heapwright.app.4711.hwt -o app.hwt\n",
    .options = options,
    .defaults = &defaults,
    .values_bytes = sizeof(struct values),
    .usage_status = HWI_EXIT_TROUBLE,
    .run = run,
};
