/* suppressions.h - a user's list of leaks that are known, in LeakSanitizer's syntax, with a count of what each line matched
 *
 * A line "leak:PATTERN" (see pattern.h) suppresses a stack where the pattern matches the function, source file or module of
 * any of its frames, as LeakSanitizer compares them. The first line that matches counts.
 */
#ifndef HWI_REPORT_INPUT_SUPPRESSIONS_H
#define HWI_REPORT_INPUT_SUPPRESSIONS_H

#include "report/names/named_frames.h"

struct hwi_suppression {
  const char *pattern; /* ended by NUL */
  unsigned line;
  uint64_t stacks, blocks, bytes; /* matched so far */
  bool is_late;                   /* it would have matched, had a line before it not */
};

struct hwi_suppressions {
  char *text;
  const char *path; /* borrowed */
  struct hwi_suppression *items;
  size_t count, room;
};

/* Reads the file. To be released, even after a failure. */
int hwi_suppressions_read(struct hwi_suppressions *suppressions, const char *path, struct hwi_error *error);
void hwi_suppressions_release(struct hwi_suppressions *suppressions);

/* The line that suppresses the stack loaded last; NULL: none does. Nothing is counted. */
struct hwi_suppression *hwi_suppressions_find(const struct hwi_suppressions *suppressions,
                                              const struct hwi_named_frames *frames);

/* Whether a line suppresses it; counted. */
bool hwi_suppressions_apply(const struct hwi_suppressions *suppressions, const struct hwi_named_frames *frames,
                            uint64_t blocks, uint64_t bytes);

#endif
