/* record_options.h - how a command is recorded: the options of `heapwright record` and of `heapwright live -- COMMAND`
 *
 * `live` starts a process of `record`, to which it passes them on.
 */
#ifndef HWI_CLI_RECORD_OPTIONS_H
#define HWI_CLI_RECORD_OPTIONS_H

#include "cli/start_options.h"
#include "launch/start/launch.h"

/* Part of a command's values. */
struct hwi_recording_values {
  const char *only_process, *allocator, *itt_ignore, *keep;
  bool children, durations, paused, trap, itt_verbose, ros, pack, keep_files;
  uint64_t depth, max_size, duration_ns, sample_bytes;
  int usable;
  struct hwi_texts variables, save_when;
};

#define HWI_NOT_GIVEN UINT64_MAX /* not 0, which a user can give, and which is an error */

/* clang-format off */
#define HWI_RECORDING_DEFAULTS                                                                                         \
  {.children = true, .pack = true, .usable = -1, .depth = HWI_NOT_GIVEN, .max_size = HWI_NOT_GIVEN,                     \
   .duration_ns = HWI_NOT_GIVEN, .sample_bytes = HWI_NOT_GIVEN}

/* Rows of the command's table of options, for `struct hwi_recording_values field` in its `struct values`. */
#define HWI_RECORDING_OPTIONS(field)                                                                                   \
  {.name = "only-process",                                                                                             \
   HWI_VALUE(TEXT, field.only_process),                                                                                \
   .value = "PATTERN",                                                                                                 \
   .help = "record only programs with such a name (with * and ?)"},                                                    \
  {.name = "no-children",                                                                                              \
   HWI_VALUE(OFF, field.children),                                                                                     \
   .help = "record the command itself, not the processes that it starts"},                                             \
  {.name = "depth", HWI_VALUE(COUNT, field.depth), .value = "N", .help = "frames to keep of a stack (default: 1024)"}, \
  {.name = "max-size",                                                                                                 \
   HWI_VALUE(SIZE, field.max_size),                                                                                    \
   .value = "SIZE",                                                                                                    \
   .help =                                                                                                             \
       "of each process' unpacked trace; recording stops there\n(default: 8 GiB, or half of the free space if that is less)"},\
  {.name = "usable",                                                                                                   \
   HWI_VALUE(SET, field.usable),                                                                                       \
   .preset = 1,                                                                                                        \
   .help = "record the usable size of each block (the default)"},                                                      \
  {.name = "no-usable", HWI_VALUE(SET, field.usable), .preset = 0, .help = "do not record it"},                        \
  {.name = "sample",                                                                                                   \
   HWI_VALUE(MAYBE_SIZE, field.sample_bytes),                                                                          \
   .value = "SIZE",                                                                                                    \
   .preset = HW_SAMPLE_USUAL_BYTES,                                                                                    \
   .help = "count all calls, but keep the stacks of a sample: one per SIZE bytes on average\n"                         \
           "(default: 512K); costs most programs 1 to 5 %"},                                                              \
  {.name = "durations",                                                                                                \
   HWI_VALUE(ON, field.durations),                                                                                     \
   .help = "record how long each call took, for 'heapwright report --durations'"},                                     \
  {.name = "paused",                                                                                                   \
   HWI_VALUE(ON, field.paused),                                                                                        \
   .help = "begin without recording; 'heapwright control' switches recording on"},                                     \
  {.name = "duration", HWI_VALUE(DURATION, field.duration_ns), .value = "T", .help = "record for this time, then pause"},\
  {.name = "save-when",                                                                                                \
   HWI_VALUE(TEXTS, field.save_when),                                                                                  \
   .value = "RULE",                                                                                                    \
   .help = "save the recording so far, as FILE.saved-1.hwt and so on, when a process crosses a\n"                      \
           "limit: 'rss>2G', 'live>500M' or 'growth>10M/min'; may be given again"},                                    \
  {.name = "trap",                                                                                                     \
   HWI_VALUE(ON, field.trap),                                                                                          \
   .help =                                                                                                             \
       "send SIGTRAP to threads that allocate or free in a forbidden zone\n(HW_NO_ALLOC of heapwright/monitor.h)"},    \
  {.name = "itt-ignore",                                                                                               \
   HWI_VALUE(TEXT, field.itt_ignore),                                                                                  \
   .value = "LIST",                                                                                                    \
   .help = "leave out the tasks and ranges of these domains of ITT and NVTX (with * and ?)"},                          \
  {.name = "itt-verbose",                                                                                              \
   HWI_VALUE(ON, field.itt_verbose),                                                                                   \
   .help = "note which functions of ITT the program calls that are ignored: the report lists them"},                   \
  {.name = "ros", HWI_VALUE(ON, field.ros), .help = "record callbacks of ROS 2 programs as scopes"},                   \
  HWI_START_OPTIONS(field.allocator, field.variables, "record the command on this allocator"),                         \
  {.name = "no-pack",                                                                                                  \
   HWI_VALUE(OFF, field.pack),                                                                                         \
   .help = "leave the trace as the program writes it: larger, at no cost;\n'heapwright import' packs it later"},       \
  {.name = "keep-files",                                                                                               \
   HWI_VALUE(ON, field.keep_files),                                                                                    \
   .help = "copy the programs and libraries that ran into FILE.files, so that reports have\n"                          \
           "names when they were rebuilt, and on other machines"},                                                     \
  {.name = "keep",                                                                                                     \
   HWI_VALUE(TEXT, field.keep),                                                                                        \
   .value = "T|SIZE",                                                                                                  \
   .help = "keep only the events of the last T (10min, 24h), or SIZE (2GB) of each process' trace;\n"                  \
           "what still lives, and totals, of all: for runs that never end"}
/* clang-format on */

/* Fills *wanted as the values say, but for its output; `rules` gets the limits of --save-when. Returns 0, or HWI_EXIT_LAUNCHER after a
 * message if a value is wrong, or values contradict each other. */
int hwi_recording_wanted(const struct hwi_recording_values *values, struct hwi_launch_options *wanted,
                         struct hwi_save_rule rules[HWI_SAVE_RULES_MAX]);

/* Words of a command line, ended by NULL. */
struct hwi_recording_words {
  char **list;
  size_t count; /* of those that are options; they are malloc'd */
};

/* Sets *words to those of the values that are not the default, and then those of `command`. Returns false if there is no memory. The
 * caller releases them also then. */
bool hwi_recording_words_init(struct hwi_recording_words *words, const struct hwi_recording_values *values,
                              char *const *command);
void hwi_recording_words_release(struct hwi_recording_words *words);

#endif
