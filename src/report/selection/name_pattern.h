/* name_pattern.h - patterns that users give for names: matching, and suggestions if a pattern matches nothing
 *
 * pattern    a shell pattern (*, ?, [...]) for a whole name, or the name as it is: "operator new[]" looks like a
 *            pattern. It is compared with a function's full name, its name without the parameters, and its name as a
 *            report shows it (cxx_name.h); with a file's or module's path, or as many of its last components as the
 *            pattern has; with a thread's name or ID; with a scope's name.
 */
#ifndef HWI_REPORT_SELECTION_NAME_PATTERN_H
#define HWI_REPORT_SELECTION_NAME_PATTERN_H

#include "report/names/named_frames.h"
#include "report/words/line.h"

enum hwi_name_kind {
  HWI_NAME_FUNCTION = 0,
  HWI_NAME_FILE,
  HWI_NAME_MODULE,
  HWI_NAME_THREAD,
  HWI_NAME_SCOPE, /* of a scope that the program marked */
  HWI_NAME_KINDS,
};
enum { HWI_NAME_FRAME_KINDS = HWI_NAME_THREAD }; /* kinds below are names of frames */

struct hwi_name_pattern {
  uint8_t kind; /* enum hwi_name_kind; one of another kind (a size) matches no name */
  uint8_t bit;  /* set in the matches */
  const char *text;
  bool matched; /* the pattern matches something in the recording */
  /* If nothing matched: the most similar pattern that would match, or empty. The caller releases it. */
  struct hwi_line nearest;
};

/* Return whether a pattern matches one name: a function's as the symbolizer returns it, a path as in the debug
 * information or the loader's list. */
bool hwi_function_matches(const char *pattern, const char *function);
bool hwi_path_matches(const char *pattern, const char *path);
bool hwi_scope_matches(const char *pattern, const char *name);
bool hwi_thread_matches(const struct hwi_profile_thread *thread, const char *pattern);

/* The path of a module, and the name that it was run as. */
struct hwi_module_names {
  const char *path, *name;
};

/* Returns whether a pattern about frames matches a function at a frame of this module. */
bool hwi_symbol_matches(const struct hwi_name_pattern *pattern, const struct hwi_symbol *symbol,
                        const struct hwi_module_names *module);

/* The items of a recording that several patterns match: each item has the `bit`s of the patterns that match it. */
struct hwi_name_matches {
  /* By frame: the patterns that match it or a frame outward of it; NULL if no pattern is about frames. */
  uint8_t *frames;
  uint8_t *threads; /* by thread */
  uint8_t *scopes;  /* by path of scopes: the patterns that match one of its scopes; [0]: none */
};

/* Fills *matches, and `matched` and `nearest` of the patterns. Returns false if there is no memory. The caller
 * releases *matches in either case. */
bool hwi_name_patterns_match(struct hwi_name_pattern *const *patterns, uint32_t count,
                             const struct hwi_named_frames *names, struct hwi_name_matches *matches);
void hwi_name_matches_release(struct hwi_name_matches *matches);

#endif
