/* pattern.h - lists of patterns in LeakSanitizer's suppression syntax
 *
 * One rule a line, "leak:PATTERN"; blank lines and those that begin with '#' are comments. A pattern matches where it occurs
 * anywhere in the text; '*' stands for anything, '^' at its beginning and '$' at its end tie it to the text's ends.
 */
#ifndef HWI_REPORT_INPUT_PATTERN_H
#define HWI_REPORT_INPUT_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the first `pattern_bytes` of `pattern` match. */
bool hwi_pattern_matches(const char *pattern, size_t pattern_bytes, const char *text);

/* The pattern of a rule, within it; NULL: it is none. */
const char *hwi_pattern_of_rule(const char *rule, size_t rule_bytes, size_t *pattern_bytes);

/* Whether any of the rules matches. */
bool hwi_patterns_match(const char *rules, const char *text);

#endif
