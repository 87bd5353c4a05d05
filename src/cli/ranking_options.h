/* ranking_options.h - the options of commands that rank stacks, or groups of them */
#ifndef HWI_CLI_RANKING_OPTIONS_H
#define HWI_CLI_RANKING_OPTIONS_H

#include "cli/command.h"
#include "report/content/tree.h"
#include "report/report.h"
#include "report/selection/figures.h"
#include "report/selection/leaks.h"

/* Part of a command's values. */
struct hwi_ranking {
  struct hwi_report_options report; /* all_frames is set by hwi_ranking_options */
  int frames;
};

#define HWI_RANKING_DEFAULTS                                                                                          \
  {                                                                                                                   \
    .report = {.cost = HWI_COST_DEFAULT, .top = HWI_TOP_DEFAULT, .min_share = HWI_MIN_SHARE_DEFAULT, .min_calls = 1 } \
  }

extern const char *const hwi_frames_names[]; /* the words of --frames */
bool hwi_frames_are_all(int frames);         /* whether the choice is "all" */

/* Rows of a command's table of options that select a part of a recording, for `struct hwi_report_options field` in its
 * `struct values`. */
/* clang-format off */
#define HWI_CHOOSING_OPTIONS(field)                                                                                    \
  {.name = "min-calls",                                                                                                \
   HWI_VALUE(COUNT, field.min_calls),                                                                                  \
   .value = "N",                                                                                                       \
   .help = "leave out stacks with fewer calls (default: 1)"},                                                          \
  {.name = "thread",                                                                                                   \
   HWI_VALUE(TEXT, field.thread),                                                                                      \
   .value = "PATTERN",                                                                                                 \
   .help = "short for --only thread=PATTERN; PATTERN may be a thread's id, too"},                                      \
  {.name = "only",                                                                                                     \
   HWI_VALUE(TEXTS, field.only),                                                                                       \
   .value = "KIND=PATTERN",                                                                                            \
   .help = "only allocations below a func, file or module, by a thread, in a scope, or of a size:\n"                   \
           "func=parse_*, file=*.cpp, module=libc.so*, thread=worker?, scope=frame,\n"                                 \
           "size=1K..4K; of several of one kind, one must match; of different kinds, all"},                            \
  {.name = "ignore",                                                                                                   \
   HWI_VALUE(TEXTS, field.ignore),                                                                                     \
   .value = "KIND=PATTERN",                                                                                            \
   .help = "leave these out; the opposite of --only; may be given again"},                                             \
  {.name = "leaks",                                                                                                    \
   HWI_VALUE(ON, field.leaks),                                                                                         \
   .help = "blocks that are not freed at the end, without the runtime's own"}
/* clang-format on */

/* Rows of the command's table of options, for `struct hwi_ranking field` in its `struct values`; --frames is an `int`. */
/* clang-format off */
#define HWI_TOP_OPTION_OF(field, words)                                                                                \
  {.name = "top", .letter = 'n', HWI_VALUE(COUNT, field.report.top), .value = "N", .help = words}

#define HWI_TOP_OPTION(field) HWI_TOP_OPTION_OF(field, "rows to show; 0: all (default: 10 in text, all in JSON)")

#define HWI_FRAMES_OPTION(field)                                                                                       \
  {.name = "frames",                                                                                                   \
   HWI_VALUE(CHOICE, field),                                                                                           \
   .choices = hwi_frames_names,                                                                                        \
   .help = "all frames of a stack, or without less useful ones (default: folded)"}

#define HWI_RANKING_OPTIONS(field)                                                                                     \
  {.name = "cost",                                                                                                     \
   HWI_VALUE(CHOICE, field.report.cost),                                                                               \
   .choices = hwi_cost_names,                                                                                          \
   .help = "figure to rank by: bytes held at the peak (the default), bytes live at the end,\n"                         \
           "calls, total bytes allocated, or blocks freed at once"},                                                   \
  {.name = "by",                                                                                                       \
   HWI_VALUE(CHOICE, field.report.by),                                                                                 \
   .choices = hwi_by_names,                                                                                            \
   .help = "what to group by (default: stack)"},                                                                       \
  HWI_TOP_OPTION(field),                                                                                               \
  HWI_CHOOSING_OPTIONS(field.report),                                                                                  \
  HWI_FRAMES_OPTION(field.frames)
/* clang-format on */

/* Both return 0, or an exit status if the options are invalid or contradict each other; the error is reported on
 * stderr. */
int hwi_choosing_check(const struct hwi_report_options *options);
int hwi_ranking_check(const struct hwi_ranking *ranking);

/* Returns an option that was given but cannot be combined with a table of call durations, or NULL if there is none. */
const char *hwi_ranking_not_in_durations(const struct hwi_ranking *ranking);

/* Returns 0 if the recording at `path` has durations of calls, or an exit status after reporting the error on
 * stderr. */
int hwi_ranking_require_durations(const struct hwi_profile *profile, const char *path);

/* Rows of the command's table of options for a tree; `share` is a `const char *` of its values, for
 * hwi_ranking_share. */
/* clang-format off */
#define HWI_TREE_OPTIONS(field, share)                                                                                 \
  {.name = "tree",                                                                                                     \
   HWI_VALUE(MAYBE, field.report.tree),                                                                                \
   .preset = HWI_TREE_CALLERS,                                                                                         \
   .choices = hwi_tree_names,                                                                                          \
   .help = "as a tree: callers first, from main inwards (the default), or callees first,\n"                            \
           "from the allocation outwards; --by selects its nodes (default: function);\n"                               \
           "or the scopes that the program marked"},                                                                   \
  {.name = "min-share",                                                                                                \
   HWI_VALUE(TEXT, share),                                                                                             \
   .value = "PERCENT",                                                                                                 \
   .help = "of a tree: sum up branches below PERCENT (default: 1%; in JSON, and with\n"                                \
           "--top 0: none)"}
/* clang-format on */

/* Parses the value of --min-share (NULL: not given). Returns 0, or an exit status if it is invalid. */
int hwi_ranking_share(struct hwi_ranking *ranking, const char *share);

/* Returns the options for a report, with --frames in all_frames. */
struct hwi_report_options hwi_ranking_options(const struct hwi_ranking *ranking);

/* --- the option --suppressions of commands that examine unfreed blocks at the end --- */

/* Row of the command's table of options, for `const char *field` in its `struct values`. */
/* clang-format off */
#define HWI_SUPPRESSING_OPTION(field)                                                                                  \
  {.name = "suppressions",                                                                                             \
   HWI_VALUE(TEXT, field),                                                                                             \
   .value = "FILE",                                                                                                    \
   .help = "known leaks to ignore: lines leak:PATTERN, as for LeakSanitizer"}
/* clang-format on */

/* For commands that examine unfreed blocks only with --leaks. Returns 0, or an exit status if --leaks is missing. */
int hwi_suppressing_check(const char *path, bool leaks);

/* Reads the file at `path`, if it is not NULL. Returns 0, or an exit status after reporting the error on stderr. Call
 * hwi_suppressing_end in either case. */
int hwi_suppressing_begin(struct hwi_suppressions *suppressions, const char *path);

/* `used`: the stacks were matched, so warn about each line that matched none. */
void hwi_suppressing_end(struct hwi_suppressions *suppressions, bool used);

#endif
