/* scope_rules.c - the user's rules for scopes: which ones the frames of each stack match
 *
 * A frame has the chain of its caller, longer by the rules that its own functions match and that are not in the chain yet.
 * Callers have smaller numbers, so one pass finds all chains. Names are compared once for each address.
 */
#include "report/selection/scope_rules.h"

#include <stdlib.h>
#include <string.h>

#include "report/input/suggest.h"
#include "report/input/text_file.h"
#include "report/selection/narrowing.h"
#include "trace/grow.h"
#include "trace/numbering.h"

void hwi_scope_rules_release(struct hwi_scope_rules *rules)
{
  for (size_t i = 0; i < rules->count; i++)
    hwi_line_release(&rules->items[i].pattern.nearest);
  free(rules->items);
  free(rules->file_text);
  free(rules->names);
  free((void *)rules->chains.items); /* allocated here, as is the next */
  free((void *)rules->chains.by_stack);
  *rules = (struct hwi_scope_rules){0};
}

/* --- rules --- */

/* Returns the kind that the rule begins with, or HWI_NAME_FRAME_KINDS if it is no rule. */
static int kind_of(const char *text, size_t bytes)
{
  int kind = 0;
  while (kind < HWI_NAME_FRAME_KINDS &&
         (strlen(hwi_narrowing_kind_names[kind]) != bytes || memcmp(hwi_narrowing_kind_names[kind], text, bytes) != 0))
    kind++;
  return text[bytes] == '=' && text[bytes + 1] != '\0' ? kind : HWI_NAME_FRAME_KINDS;
}

/* `where`: "--scope", or a file and the line. */
static int add(struct hwi_scope_rules *rules, const char *text, const char *where, struct hwi_error *error)
{
  const size_t bytes = strcspn(text, "=");
  const int kind = kind_of(text, bytes);
  if (kind == HWI_NAME_FRAME_KINDS) {
    struct hwi_suggestion suggestion;
    hwi_suggestion_init(&suggestion, text, bytes);
    for (int known = 0; known < HWI_NAME_FRAME_KINDS; known++)
      hwi_suggestion_offer(&suggestion, hwi_narrowing_kind_names[known]);
    return hwi_error_set(
        error, HW_ERR_USAGE,
        "%.200s: a rule for scopes is func=PATTERN, file=PATTERN or module=PATTERN, not '%.100s'%s%s%s", where, text,
        suggestion.best ? "; did you mean '" : "", suggestion.best ? suggestion.best : "",
        suggestion.best ? "=...'?" : "");
  }
  if (!hwi_grow((void **)&rules->items, &rules->room, rules->count + 1, sizeof *rules->items))
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory for another rule");
  rules->items[rules->count++] =
      (struct hwi_scope_rule){.pattern = {.kind = (uint8_t)kind, .bit = 1, .text = text + bytes + 1}, .text = text};
  return HW_OK;
}

int hwi_scope_rules_add(struct hwi_scope_rules *rules, const char *text, struct hwi_error *error)
{
  return add(rules, text, "--scope", error);
}

int hwi_scope_rules_read(struct hwi_scope_rules *rules, const char *path, struct hwi_error *error)
{
  int status = hwi_text_file_read(path, &rules->file_text, error);
  unsigned line = 0;
  for (char *at = rules->file_text, *next; at && status == HW_OK; at = next) {
    struct hwi_line where = {0};
    next = hwi_text_file_line(&at);
    hwi_line_printf(&where, "%s, line %u", path, ++line);
    if (*at != '\0' && *at != '#')
      status = add(rules, at, hwi_line_text(&where), error);
    hwi_line_release(&where);
  }
  return status;
}

/* --- chains --- */

/* The rules that the functions at an address match, the outermost function first: [first, first + count) of `rules`. */
struct matched {
  uint32_t first, count;
};

struct matcher {
  struct hwi_scope_rules *rules;
  struct hwi_named_frames names;
  struct hwi_numbering known; /* by symbols and module */
  struct matched *matched;    /* [1, known.count] */
  size_t matched_room;
  uint32_t *matches; /* numbers of rules */
  size_t match_count, match_room;
  struct hwi_numbering chains; /* of (outer chain, rule) */
  struct hwi_scope_chain *items;
  size_t item_room;
  uint32_t *by_frame;
};

/* Adds the rules that one function matches. Returns false if there is no memory; so do the next functions. */
static bool match_symbol(struct matcher *matcher, const struct hwi_symbol *symbol,
                         const struct hwi_module_names *module)
{
  for (uint32_t i = 0; i < matcher->rules->count; i++) {
    struct hwi_name_pattern *pattern = &matcher->rules->items[i].pattern;
    if (!hwi_symbol_matches(pattern, symbol, module))
      continue;
    if (!hwi_grow((void **)&matcher->matches, &matcher->match_room, matcher->match_count + 1, sizeof *matcher->matches))
      return false;
    pattern->matched = true;
    matcher->matches[matcher->match_count++] = i;
  }
  return true;
}

/* Finds the rules that a frame's own functions match. */
static bool match_frame(struct matcher *matcher, uint32_t frame, struct matched *matched)
{
  const struct hwi_profile *profile = matcher->names.profile;
  const struct hwi_symbol *symbols;
  const uint32_t count = hwi_named_frames_find(&matcher->names, frame, &symbols);
  const uint32_t module = profile->frames[frame].module, known = matcher->known.count;
  *matched = (struct matched){0};
  if (!symbols)
    return true;
  const uint32_t number = hwi_numbering_of(&matcher->known, (uintptr_t)symbols, module);
  if (!number ||
      !hwi_grow((void **)&matcher->matched, &matcher->matched_room, (size_t)number + 1, sizeof *matcher->matched))
    return false;
  if (number > known) {
    const struct hwi_module_names names = {hwi_module_path(profile, module), hwi_module_name(profile, module)};
    const uint32_t first = (uint32_t)matcher->match_count;
    for (uint32_t i = count; i-- > 0;)
      if (!match_symbol(matcher, &symbols[i], &names))
        return false;
    matcher->matched[number] = (struct matched){first, (uint32_t)matcher->match_count - first};
  }
  *matched = matcher->matched[number];
  return true;
}

static bool has_rule(const struct matcher *matcher, uint32_t chain, uint32_t rule)
{
  for (; chain; chain = matcher->items[chain].outer)
    if (matcher->items[chain].rule == rule)
      return true;
  return false;
}

/* Makes the chain longer by a rule, unless it has it. */
static bool extend(struct matcher *matcher, uint32_t *chain, uint32_t rule)
{
  if (has_rule(matcher, *chain, rule))
    return true;
  const uint32_t number = hwi_numbering_of(&matcher->chains, *chain, rule);
  if (!number || !hwi_grow((void **)&matcher->items, &matcher->item_room, (size_t)number + 1, sizeof *matcher->items))
    return false;
  matcher->items[number] = (struct hwi_scope_chain){*chain, rule};
  *chain = number;
  return true;
}

static bool find_chains(struct matcher *matcher)
{
  const struct hwi_profile *profile = matcher->names.profile;
  bool done = true;
  for (uint32_t frame = 1; done && frame < profile->frame_count; frame++) {
    struct matched matched;
    uint32_t chain = matcher->by_frame[profile->frames[frame].caller];
    done = match_frame(matcher, frame, &matched);
    for (uint32_t i = 0; done && i < matched.count; i++)
      done = extend(matcher, &chain, matcher->matches[matched.first + i]);
    matcher->by_frame[frame] = chain;
  }
  return done;
}

/* Makes the chains those of the rules. */
static bool publish(struct matcher *matcher)
{
  const struct hwi_profile *profile = matcher->names.profile;
  struct hwi_scope_rules *rules = matcher->rules;
  uint32_t *by_stack = calloc((size_t)profile->stack_count + 1, sizeof *by_stack);
  rules->names = calloc(rules->count + 1, sizeof *rules->names);
  if (!by_stack || !rules->names) {
    free(by_stack);
    return false;
  }
  for (size_t i = 0; i < rules->count; i++)
    rules->names[i] = rules->items[i].pattern.text;
  for (uint32_t i = 0; i < profile->stack_count; i++)
    by_stack[i] = profile->stacks[i].frame ? matcher->by_frame[profile->stacks[i].frame] : HWI_CHAIN_UNKNOWN;
  rules->chains = (struct hwi_scope_chains){.names = rules->names,
                                            .rule_count = (uint32_t)rules->count,
                                            .items = matcher->items,
                                            .count = matcher->chains.count + 1,
                                            .by_stack = by_stack,
                                            .stack_count = profile->stack_count};
  matcher->items = NULL;
  return true;
}

/* Finds the most similar names for rules that match nothing. */
static bool suggest(struct matcher *matcher)
{
  struct hwi_name_pattern **patterns = calloc(matcher->rules->count + 1, sizeof *patterns);
  struct hwi_name_matches matches = {0};
  uint32_t count = 0;
  for (size_t i = 0; patterns && i < matcher->rules->count; i++)
    if (!matcher->rules->items[i].pattern.matched)
      patterns[count++] = &matcher->rules->items[i].pattern;
  bool done = patterns && (count == 0 || hwi_name_patterns_match(patterns, count, &matcher->names, &matches));
  hwi_name_matches_release(&matches);
  free(patterns);
  return done;
}

int hwi_scope_rules_match(struct hwi_scope_rules *rules, const struct hwi_report *report, struct hwi_error *error)
{
  struct matcher matcher = {.rules = rules};
  int status = hwi_named_frames_init(&matcher.names, report, error);
  matcher.by_frame = calloc((size_t)report->profile->frame_count + 1, sizeof *matcher.by_frame);
  if (status == HW_OK && !(matcher.by_frame && find_chains(&matcher) && publish(&matcher) && suggest(&matcher)))
    status = hwi_error_set(error, HW_ERR_MEMORY, "no memory for %u frames", report->profile->frame_count);
  hwi_named_frames_release(&matcher.names);
  hwi_numbering_release(&matcher.known);
  hwi_numbering_release(&matcher.chains);
  free(matcher.matched);
  free(matcher.matches);
  free(matcher.items);
  free(matcher.by_frame);
  return status;
}

void hwi_scope_rules_remark(struct hwi_line *remarks, const struct hwi_scope_rules *rules)
{
  for (size_t i = 0; i < rules->count; i++) {
    const struct hwi_name_pattern *pattern = &rules->items[i].pattern;
    if (pattern->matched)
      continue;
    hwi_line_puts(remarks, "--scope ");
    hwi_line_clean(remarks, rules->items[i].text);
    hwi_line_puts(remarks, " matches nothing in this recording");
    if (pattern->nearest.bytes > 0) {
      hwi_line_printf(remarks, "; did you mean %s=", hwi_narrowing_kind_names[pattern->kind]);
      hwi_line_clean(remarks, hwi_line_text(&pattern->nearest));
      hwi_line_puts(remarks, "?");
    }
    hwi_line_puts(remarks, "\n");
  }
}
