/* leaks.h - the blocks that are live at the end but are not reported as leaks: the runtime's own, and suppressed ones
 *
 * suppressions  a user's list of known leaks, in LeakSanitizer's syntax, with a count of each line's matches. A line
 *               "leak:PATTERN" (see rules.h) suppresses a stack if the pattern matches the function, source file or
 *               module of any of its frames, as in LeakSanitizer. Only the first matching line counts a stack.
 */
#ifndef HWI_REPORT_SELECTION_LEAKS_H
#define HWI_REPORT_SELECTION_LEAKS_H

#include "report/names/named_frames.h"
#include "report/selection/figures.h"

struct hwi_suppression {
  const char *pattern; /* ended by NUL */
  unsigned line;
  uint64_t stacks, blocks, bytes; /* matched so far */
  bool is_late;                   /* it would have matched, but an earlier line did */
};

struct hwi_suppressions {
  char *text;
  const char *path; /* borrowed */
  struct hwi_suppression *items;
  size_t count, room;
};

/* Reads the file. Returns 0 or a negative status. The caller releases it, also after a failure. */
int hwi_suppressions_read(struct hwi_suppressions *suppressions, const char *path, struct hwi_error *error);
void hwi_suppressions_release(struct hwi_suppressions *suppressions);

/* Returns the line that suppresses the stack loaded last; NULL if none does. Does not change the counts. */
struct hwi_suppression *hwi_suppressions_find(const struct hwi_suppressions *suppressions,
                                              const struct hwi_named_frames *frames);

/* Returns whether a line suppresses that stack. Adds to the line's counts. */
bool hwi_suppressions_apply(const struct hwi_suppressions *suppressions, const struct hwi_named_frames *frames,
                            uint64_t blocks, uint64_t bytes);

struct hwi_runtime_blocks {
  struct hwi_named_frames *frames;
  struct hwi_suppressions *suppressions; /* NULL: none; their counts of matches are updated */
  struct hwi_amount amount;              /* of the runtime's stacks */
  uint32_t stack_count;
  struct hwi_amount suppressed; /* of the suppressed ones */
};

/* A filter for hwi_selection_init; `context` is a struct hwi_runtime_blocks. It keeps stacks with live blocks at the
 * end, except the runtime's and the suppressed ones, which it counts. */
bool hwi_runtime_blocks_keep(void *context, uint32_t stack, const struct hwi_amount *amount);

#endif
