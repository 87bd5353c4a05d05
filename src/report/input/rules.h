/* rules.h - lists of rules in LeakSanitizer's suppression syntax: matching, and the built-in lists
 *
 * Each line is one rule, "leak:PATTERN"; blank lines and lines that begin with '#' are ignored. A pattern matches
 * anywhere in the text; '*' matches any characters, '^' at its beginning and '$' at its end anchor it to the text's
 * ends.
 */
#ifndef HWI_REPORT_INPUT_RULES_H
#define HWI_REPORT_INPUT_RULES_H

#include <stdbool.h>
#include <stddef.h>

/* Returns whether the first `pattern_bytes` of `pattern` match `text`. */
bool hwi_pattern_matches(const char *pattern, size_t pattern_bytes, const char *text);

/* Returns the pattern within a rule; NULL if it is not a rule. */
const char *hwi_pattern_of_rule(const char *rule, size_t rule_bytes, size_t *pattern_bytes);

/* Returns whether any of the rules matches. */
bool hwi_patterns_match(const char *rules, const char *text);

/* The built-in lists: frames of no interest, and the runtime's own blocks. */
extern const char hwi_rules_wrappers[];        /* functions that only pass an allocation on */
extern const char hwi_rules_libraries[];       /* functions of libraries, which work for the program's own functions */
extern const char hwi_rules_library_modules[]; /* modules whose unnamed functions belong to libraries */
extern const char hwi_rules_starts[];          /* callers of main and of a thread's own function */
extern const char hwi_rules_start_modules[];   /* modules whose unnamed outermost frames are such callers */
extern const char hwi_rules_runtime[];         /* functions and modules whose own blocks are the runtime's */
extern const char hwi_rules_runtime_modules[]; /* a stack that never leaves these modules is the runtime's */

#endif
