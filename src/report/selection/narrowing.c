/* narrowing.c - narrows a report to a part of its run
 *
 * Each stack, thread, path of scopes and size has a byte: one bit for each kind of which an --only matched, and one bit if an
 * --ignore matched. The bytes of a cell's stack, thread, path and size are or-ed. The cell is kept if the bits of all
 * kinds with an --only are set, and the bit for --ignore is not. A stack has the byte of its innermost frame, which
 * includes the matches of all frames outward of it (name_pattern.h).
 */
#include "report/selection/narrowing.h"

#include <stdlib.h>
#include <string.h>

#include "report/input/quantities.h"
#include "report/input/suggest.h"

enum { IGNORED = 1 << HWI_NARROW_KINDS };
static_assert(IGNORED <= UINT8_MAX, "the bits of a cell fit into a byte");

const char *const hwi_narrowing_kind_names[] = {"func", "file", "module", "thread", "scope", "size"};

/* --- rules --- */

static int wrong_kind(const char *text, size_t bytes, const char *option, struct hwi_error *error)
{
  struct hwi_suggestion suggestion;
  hwi_suggestion_init(&suggestion, text, bytes);
  for (int kind = 0; kind < HWI_NARROW_KINDS; kind++)
    hwi_suggestion_offer(&suggestion, hwi_narrowing_kind_names[kind]);
  return hwi_error_set(error, HW_ERR_USAGE,
                       "%s takes KIND=PATTERN, where KIND is func, file, module, thread, scope or size, not '%s'%s%s%s",
                       option, text, suggestion.best ? "; did you mean '" : "", suggestion.best ? suggestion.best : "",
                       suggestion.best ? "=...'?" : "");
}

static void set_rule(struct hwi_narrowing_rule *rule, enum hwi_narrowing_kind kind, const char *pattern, bool ignores)
{
  uint8_t bit = (uint8_t)(ignores ? IGNORED : 1 << kind);
  *rule = (struct hwi_narrowing_rule){.name = {.kind = (uint8_t)kind, .bit = bit, .text = pattern}, .ignores = ignores};
}

static int parse_rule(struct hwi_narrowing_rule *rule, const char *text, bool ignores, struct hwi_error *error)
{
  const char *option = ignores ? "--ignore" : "--only";
  size_t bytes = strcspn(text, "=");
  int kind = 0;
  while (kind < HWI_NARROW_KINDS &&
         (strlen(hwi_narrowing_kind_names[kind]) != bytes || memcmp(hwi_narrowing_kind_names[kind], text, bytes) != 0))
    kind++;
  if (kind == HWI_NARROW_KINDS || text[bytes] != '=' || text[bytes + 1] == '\0')
    return wrong_kind(text, bytes, option, error);
  set_rule(rule, (enum hwi_narrowing_kind)kind, text + bytes + 1, ignores);
  if (kind == HWI_NARROW_SIZE && !hwi_size_range_parse(rule->name.text, &rule->from, &rule->to))
    return hwi_error_set(error, HW_ERR_USAGE, "%s size= takes a size or a range, such as 64, 1K..4K or 1MB.., not '%s'",
                         option, rule->name.text);
  return HW_OK;
}

/* Parses the rules of `options`; the caller frees *rules. Returns how many there are, or a negative status. */
static int parse_rules(const struct hwi_report_options *options, struct hwi_narrowing_rule **rules,
                       struct hwi_error *error)
{
  *rules = calloc(options->only.count + options->ignore.count + 1, sizeof **rules);
  if (!*rules)
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory");
  int count = 0, status = HW_OK;
  for (size_t i = 0; i < options->only.count && status == HW_OK; i++)
    status = parse_rule(&(*rules)[count++], options->only.items[i], false, error);
  for (size_t i = 0; i < options->ignore.count && status == HW_OK; i++)
    status = parse_rule(&(*rules)[count++], options->ignore.items[i], true, error);
  if (options->thread)
    set_rule(&(*rules)[count++], HWI_NARROW_THREAD, options->thread, false);
  return status < 0 ? status : count;
}

bool hwi_report_is_narrowed(const struct hwi_report_options *options)
{
  return options->thread || options->only.count > 0 || options->ignore.count > 0;
}

/* Returns whether the text of a rule begins with a kind that is not about frames. */
static bool is_about_blocks(const char *text)
{
  for (int kind = HWI_NAME_FRAME_KINDS; kind < HWI_NARROW_KINDS; kind++) {
    if (strncmp(text, hwi_narrowing_kind_names[kind], strlen(hwi_narrowing_kind_names[kind])) == 0)
      return true;
  }
  return false;
}

bool hwi_report_splits_stacks(const struct hwi_report_options *options)
{
  const struct hwi_texts *lists[] = {&options->only, &options->ignore};
  for (size_t list = 0; list < sizeof lists / sizeof *lists; list++) {
    for (size_t i = 0; i < lists[list]->count; i++) {
      if (is_about_blocks(lists[list]->items[i]))
        return true;
    }
  }
  return options->thread;
}

int hwi_narrowing_check(const struct hwi_report_options *options, struct hwi_error *error)
{
  struct hwi_narrowing_rule *rules;
  int status = parse_rules(options, &rules, error);
  free(rules);
  return status < 0 ? status : HW_OK;
}

/* --- what matches --- */

static bool is_of(const struct hwi_narrowing_rule *rule, uint64_t size_bytes)
{
  return rule->name.kind == HWI_NARROW_SIZE && size_bytes >= rule->from && size_bytes <= rule->to;
}

static uint8_t bits_of_size(const struct hwi_narrowing *filter, uint64_t size_bytes)
{
  uint8_t bits = 0;
  for (uint32_t i = 0; i < filter->rule_count; i++)
    bits |= is_of(&filter->rules[i], size_bytes) ? filter->rules[i].name.bit : 0;
  return bits;
}

static void match_sizes(struct hwi_narrowing *filter)
{
  for (uint32_t i = 0; i < filter->rule_count; i++) {
    for (uint32_t k = 0; k < filter->profile->size_count; k++)
      filter->rules[i].name.matched |= is_of(&filter->rules[i], filter->profile->sizes[k].size);
  }
}

static bool match_names(struct hwi_narrowing *filter, const struct hwi_named_frames *names)
{
  struct hwi_name_pattern **patterns = calloc(filter->rule_count, sizeof *patterns);
  for (uint32_t i = 0; i < filter->rule_count && patterns; i++)
    patterns[i] = &filter->rules[i].name;
  bool matched = patterns && hwi_name_patterns_match(patterns, filter->rule_count, names, &filter->names);
  free(patterns);
  return matched;
}

static bool match_all(struct hwi_narrowing *filter, const struct hwi_named_frames *names)
{
  const struct hwi_profile *profile = filter->profile;
  filter->stacks = calloc((size_t)profile->stack_count + 1, sizeof *filter->stacks);
  match_sizes(filter);
  if (!filter->stacks || !match_names(filter, names))
    return false;
  for (uint32_t i = 1; i < profile->stack_count && filter->names.frames; i++)
    filter->stacks[i] = filter->names.frames[profile->stacks[i].frame];
  return true;
}

int hwi_narrowing_init(struct hwi_narrowing *filter, const struct hwi_report *report, struct hwi_error *error)
{
  *filter = (struct hwi_narrowing){.profile = report->profile};
  int count = parse_rules(&report->options, &filter->rules, error);
  if (count <= 0) {
    hwi_narrowing_release(filter);
    return count;
  }
  filter->rule_count = (uint32_t)count;
  for (uint32_t i = 0; i < filter->rule_count; i++) {
    filter->used |= (uint8_t)(1U << filter->rules[i].name.kind);
    filter->asked |= (uint8_t)(filter->rules[i].ignores ? 0 : 1U << filter->rules[i].name.kind);
  }
  struct hwi_named_frames names;
  int status = hwi_named_frames_init(&names, report, error);
  if (status == HW_OK && !match_all(filter, &names))
    status = hwi_error_set(error, HW_ERR_MEMORY, "no memory for %u frames", report->profile->frame_count);
  hwi_named_frames_release(&names);
  if (status < 0)
    hwi_narrowing_release(filter);
  return status;
}

void hwi_narrowing_release(struct hwi_narrowing *filter)
{
  for (uint32_t i = 0; i < filter->rule_count; i++)
    hwi_line_release(&filter->rules[i].name.nearest);
  free(filter->rules);
  free(filter->stacks);
  hwi_name_matches_release(&filter->names);
  *filter = (struct hwi_narrowing){0};
}

static bool is_kept(const struct hwi_narrowing *filter, uint8_t bits)
{
  return bits == (bits | filter->asked) && (bits & IGNORED) == 0;
}

bool hwi_narrowing_keeps(const struct hwi_narrowing *filter, const struct hwi_narrowing_block *block)
{
  if (filter->rule_count == 0)
    return true;
  return is_kept(filter, filter->stacks[block->stack] | filter->names.threads[block->thread] |
                             filter->names.scopes[block->scope] | bits_of_size(filter, block->size_bytes));
}

bool hwi_narrowing_keeps_cell(const struct hwi_narrowing *filter, const struct hwi_profile_cell *cell)
{
  if (filter->rule_count == 0)
    return true;
  const struct hwi_narrowing_block block = {.thread = cell->thread,
                                            .stack = cell->stack,
                                            .scope = cell->scope,
                                            .size_bytes = filter->profile->sizes[cell->size].size};
  return hwi_narrowing_keeps(filter, &block);
}

bool hwi_narrowing_keeps_stack(const struct hwi_narrowing *filter, uint32_t stack)
{
  return filter->rule_count == 0 || is_kept(filter, filter->stacks[stack]);
}

static bool is_kept_by(const struct hwi_narrowing *filter, enum hwi_narrowing_kind kind, uint8_t bits)
{
  const uint8_t asked = filter->asked & 1U << kind;
  return (bits & asked) == asked && (bits & IGNORED) == 0;
}

bool hwi_narrowing_keeps_thread(const struct hwi_narrowing *filter, uint32_t thread)
{
  return filter->rule_count == 0 || is_kept_by(filter, HWI_NARROW_THREAD, filter->names.threads[thread]);
}

bool hwi_narrowing_keeps_path(const struct hwi_narrowing *filter, uint32_t path)
{
  return filter->rule_count == 0 || is_kept_by(filter, HWI_NARROW_SCOPE, filter->names.scopes[path]);
}

void hwi_narrowing_rule_add(struct hwi_line *line, const struct hwi_narrowing_rule *rule)
{
  hwi_line_printf(line, "%s=", hwi_narrowing_kind_names[rule->name.kind]);
  hwi_line_clean(line, rule->name.text);
}

void hwi_narrowing_explain(struct hwi_line *line, const struct hwi_narrowing_rule *rule, const char *where)
{
  hwi_narrowing_rule_add(line, rule);
  hwi_line_printf(line, " matches nothing in %s", where);
  if (rule->name.nearest.bytes == 0)
    return;
  hwi_line_printf(line, "; did you mean %s=", hwi_narrowing_kind_names[rule->name.kind]);
  hwi_line_clean(line, hwi_line_text(&rule->name.nearest));
  hwi_line_puts(line, "?");
}

bool hwi_narrowing_splits_stacks(const struct hwi_narrowing *filter)
{
  return filter->used >> HWI_NAME_FRAME_KINDS != 0;
}

bool hwi_narrowing_splits_threads(const struct hwi_narrowing *filter)
{
  return (filter->used & ~(1U << HWI_NARROW_THREAD)) != 0;
}

bool hwi_narrowing_splits_sizes(const struct hwi_narrowing *filter)
{
  return (filter->used & ~(1U << HWI_NARROW_SIZE)) != 0;
}
