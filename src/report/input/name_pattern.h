/* name_pattern.h - patterns that users give for names: what they match, and what was probably meant where they match nothing
 *
 * pattern    a shell pattern (*, ?, [...]) for a whole name, or the name as it is: "operator new[]" looks like a pattern.
 *            A function is meant by its name as it is called, by what of that stands before the parameters, or as a report
 *            shows it (cxx_name.h); a file or module by its path, or by as many of its last components as the pattern has; a
 *            thread by its name or id.
 */
#ifndef HWI_REPORT_INPUT_NAME_PATTERN_H
#define HWI_REPORT_INPUT_NAME_PATTERN_H

#include "report/names/named_frames.h"
#include "report/text/line.h"

enum hwi_name_kind {
  HWI_NAME_FUNCTION = 0,
  HWI_NAME_FILE,
  HWI_NAME_MODULE,
  HWI_NAME_THREAD,
  HWI_NAME_KINDS,
};
enum { HWI_NAME_FRAME_KINDS = HWI_NAME_THREAD }; /* the first of them are names of frames */

struct hwi_name_pattern {
  uint8_t kind; /* enum hwi_name_kind; one of another kind (a size) matches no name */
  uint8_t bit;  /* set for what it matches */
  const char *text;
  bool matched;            /* something in the recording */
  struct hwi_line nearest; /* where nothing matched: a pattern that would; empty if none is near. To be released */
};

/* Whether one name is meant; a function's as the symbolizer has it, a path as the debug information or the loader has it. */
bool hwi_function_matches(const char *pattern, const char *function);
bool hwi_path_matches(const char *pattern, const char *path);
bool hwi_thread_matches(const struct hwi_profile_thread *thread, const char *pattern);

/* What is matched in a recording, by several patterns at once: bits of their `bit`s. */
struct hwi_name_matches {
  uint8_t *frames;  /* by frame: matched by it or by a frame outward of it; NULL where no pattern is about frames */
  uint8_t *threads; /* by thread */
};

/* Fills *matches, and `matched` and `nearest` of the patterns. False: no memory. To be released in either case. */
bool hwi_name_patterns_match(struct hwi_name_pattern *const *patterns, uint32_t count,
                             const struct hwi_named_frames *names, struct hwi_name_matches *matches);
void hwi_name_matches_release(struct hwi_name_matches *matches);

#endif
