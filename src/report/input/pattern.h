/* pattern.h - lists of patterns in LeakSanitizer's suppression syntax
 *
 * Each line is one rule, "leak:PATTERN"; blank lines and lines that begin with '#' are ignored. A pattern matches
 * anywhere in the text; '*' matches any characters, '^' at its beginning and '$' at its end anchor it to the text's
 * ends.
 */
#ifndef HWI_REPORT_INPUT_PATTERN_H
#define HWI_REPORT_INPUT_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the first `pattern_bytes` of `pattern` match `text`. */
bool hwi_pattern_matches(const char *pattern, size_t pattern_bytes, const char *text);

/* Returns the pattern within a rule; NULL if it is not a rule. */
const char *hwi_pattern_of_rule(const char *rule, size_t rule_bytes, size_t *pattern_bytes);

/* Whether any of the rules matches. */
bool hwi_patterns_match(const char *rules, const char *text);

#endif
