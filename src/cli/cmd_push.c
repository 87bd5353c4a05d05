/* cmd_push.c - heapwright push: sends the profile of a recording to a server that collects profiles */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/read_recording.h"
#include "push/push.h"
#include "report/input/token_file.h"
#include "report/words/number.h"
#include "symbols/symbols.h"

struct values {
  const char *to, *name, *token;
  struct hwi_texts labels;
  uint64_t within_ns;
  bool quiet;
  struct hwi_reading reading;
};

static const struct values defaults = {.within_ns = UINT64_C(60000000000)};

static const struct hwi_option options[] = {
    {.name = "to", HWI_VALUE(TEXT, to), .value = "URL", .help = "the server, such as http://pyroscope:4040"},
    {.name = "name",
     HWI_VALUE(TEXT, name),
     .value = "NAME",
     .help = "the name of the application (default: that of the program)"},
    {.name = "label",
     HWI_VALUE(TEXTS, labels),
     .value = "KEY=VALUE",
     .help = "a label of the profile; may be given again"},
    {.name = "token",
     HWI_VALUE(TEXT, token),
     .value = "FILE",
     .help = "send the line in FILE in the header 'Authorization: Bearer TOKEN'"},
    {.name = "within",
     HWI_VALUE(DURATION, within_ns),
     .value = "TIME",
     .help = "try again as long as this if the server cannot be reached or is busy (default: 1min)"},
    {.name = "quiet", .letter = 'q', HWI_VALUE(ON, quiet), .help = "print errors only"},
    HWI_READING_OPTIONS(reading),
    {.name = NULL},
};

static int send(const struct values *values, const struct hwi_push *push, const char *path)
{
  struct hwi_profile *profile;
  struct hwi_symbols *symbols;
  struct hwi_pushed pushed = {0};
  struct hwi_error error = {0};
  struct hwi_reading_source source = {&values->reading, path};
  int status = hwi_reading_profile(&values->reading, path, &profile);
  if (status != 0)
    return status;
  status = hwi_reading_symbols_of(&values->reading, path, &symbols);
  if (status == 0) {
    const struct hwi_report report = {.profile = profile,
                                      .names = hwi_reading_names(symbols),
                                      .options = {.cost = HWI_COST_PEAK, .min_calls = 1},
                                      .replayer = hwi_reading_replayer(&source)};
    if (hwi_push(push, &report, &pushed, &error) < 0)
      status = hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text);
    else if (!values->quiet)
      hwi_warn("sent %s to %s", hwi_bytes_text(pushed.bytes).text, hwi_push_shown(values->to));
    if (status == 0 && !values->quiet)
      hwi_reading_warn(&values->reading, profile, "sent");
    hwi_symbols_save_names(symbols, profile->has_summary);
    hwi_symbols_destroy(symbols);
  }
  hwi_profile_destroy(profile);
  return status;
}

/* Scopes by rules are found before. */
static int find_and_send(const struct values *given, const struct hwi_push *push, const char *path)
{
  struct values values = *given;
  struct hwi_scope_rules rules = {0};
  int status = hwi_reading_find_scopes(&values.reading, path, &rules);
  if (status == 0)
    status = send(&values, push, path);
  hwi_scope_rules_release(&rules);
  return status;
}

enum { TOKEN_MAX_BYTES = 8192 }; /* servers take no longer headers */

static int run(const void *given, int word_count, char **words)
{
  const struct values *values = given;
  char path[HWI_READING_PATH_BYTES], *token = NULL;
  struct hwi_error error = {0};
  if (word_count > 1)
    return hwi_fail(HWI_EXIT_TROUBLE, "push takes one trace, not %d; '%s' is one too many", word_count, words[1]);
  if (!values->to)
    return hwi_fail(HWI_EXIT_TROUBLE, "push needs --to URL, the server, such as http://pyroscope:4040");
  if (values->within_ns == 0)
    return hwi_fail(HWI_EXIT_TROUBLE, "--within must be more than 0");
  struct hwi_push push = {values->to, values->name, &values->labels, NULL, values->within_ns};
  if (hwi_push_check(&push, &error) < 0)
    return hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text);
  int status = hwi_reading_check(&values->reading);
  if (status == 0)
    status = hwi_reading_find(word_count == 1 ? words[0] : ".", path, sizeof path);
  if (status == 0 && values->token && hwi_token_file_read(&token, values->token, 1, TOKEN_MAX_BYTES, &error) < 0)
    status = hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text);
  push.token = token;
  if (status == 0)
    status = find_and_send(values, &push, path);
  free(token);
  return status;
}

const struct hwi_command hwi_command_push = {
    .name = "push",
    .summary = "send the profile of a recording to Pyroscope",
    .usage = "[options] --to URL [TRACE]",
    .details =
        "For programs that end before a scraper comes: jobs, tests. Sends what was allocated, and what was live at\n"
        "the peak, in pprof's format to the server's /ingest. TRACE is a recording, or a folder in which the newest\n"
        "is taken.\n"
        "\n"
        "example:\n"
        "  heapwright record -o job.hwt ./job && heapwright push --to http://pyroscope:4040 --label ci=main job.hwt\n",
    .options = options,
    .defaults = &defaults,
    .values_bytes = sizeof(struct values),
    .usage_status = HWI_EXIT_TROUBLE,
    .run = run,
};
