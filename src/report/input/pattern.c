/* pattern.c - lists of patterns in LeakSanitizer's suppression syntax */
#include "report/input/pattern.h"

#include <string.h>

/* Whether `text` begins with the pattern; if `tied`, both must end together. The classic algorithm for '*': after a
 * mismatch, the last star matches one more character. */
static bool matches_here(const char *pattern, const char *end, bool tied, const char *text)
{
  const char *star = NULL, *star_text = NULL;
  for (;;) {
    if (pattern == end && (!tied || *text == '\0'))
      return true;
    if (pattern < end && *pattern == '*') {
      star = ++pattern;
      star_text = text;
    } else if (pattern < end && *text != '\0' && *pattern == *text) {
      pattern++;
      text++;
    } else if (star && *star_text != '\0') {
      pattern = star;
      text = ++star_text;
    } else {
      return false;
    }
  }
}

bool hwi_pattern_matches(const char *pattern, size_t pattern_bytes, const char *text)
{
  const char *end = pattern + pattern_bytes;
  bool from_start = pattern < end && *pattern == '^';
  pattern += from_start;
  bool to_end = pattern < end && end[-1] == '$';
  end -= to_end;
  if (from_start)
    return matches_here(pattern, end, to_end, text);
  for (;; text++) { /* also at the text's end, since a star can match nothing */
    if (matches_here(pattern, end, to_end, text))
      return true;
    if (*text == '\0')
      return false;
  }
}

const char *hwi_pattern_of_rule(const char *rule, size_t rule_bytes, size_t *pattern_bytes)
{
  static const char kind[] = "leak:";
  enum { KIND_BYTES = sizeof kind - 1 };
  if (rule_bytes <= KIND_BYTES || memcmp(rule, kind, KIND_BYTES) != 0)
    return NULL;
  *pattern_bytes = rule_bytes - KIND_BYTES;
  return rule + KIND_BYTES;
}

bool hwi_patterns_match(const char *rules, const char *text)
{
  while (*rules != '\0') {
    size_t bytes = strcspn(rules, "\n"), pattern_bytes;
    const char *pattern = hwi_pattern_of_rule(rules, bytes, &pattern_bytes);
    if (pattern && hwi_pattern_matches(pattern, pattern_bytes, text))
      return true;
    rules += bytes + (rules[bytes] == '\n');
  }
  return false;
}
