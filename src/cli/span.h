/* span.h - the options that choose a part of a run: --from, --to, --at
 *
 * The functions report errors on stderr and return 0 or an exit status.
 */
#ifndef HWI_CLI_SPAN_H
#define HWI_CLI_SPAN_H

#include "cli/read_recording.h"

/* Part of a command's values. */
struct hwi_span_words {
  const char *from, *to, *at; /* NULL: not given */
};

/* Rows of the command's table of options, for `struct hwi_span_words field` in its `struct values`. */
/* clang-format off */
#define HWI_SPAN_OPTIONS(field)                                                                                        \
  {.name = "from",                                                                                                     \
   HWI_VALUE(TEXT, field.from),                                                                                        \
   .value = "T",                                                                                                       \
   .help = "only events from T on: 5s, 250ms, 2min, 90%, peak, or a mark's text"},                                     \
  {.name = "to",                                                                                                       \
   HWI_VALUE(TEXT, field.to),                                                                                          \
   .value = "T",                                                                                                       \
   .help = "only events before T (default: the end)"},                                                                 \
  {.name = "at",                                                                                                       \
   HWI_VALUE(TEXT, field.at),                                                                                          \
   .value = "T",                                                                                                       \
   .help = "show what was live at T, instead of at the peak"}
/* clang-format on */

/* Returns 0, or an exit status after a message if the options contradict each other or the ranked cost (enum
 * hwi_cost). */
int hwi_span_check(const struct hwi_span_words *words, int cost);

/* Calls hwi_reading_profile for the part of the run that `words` selects. Returns 0, or an exit status after a
 * message. */
int hwi_span_profile(const struct hwi_span_words *words, const struct hwi_reading *reading, const char *path,
                     struct hwi_profile **profile);

#endif
