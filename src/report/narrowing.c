/* narrowing.c - what a report is narrowed to
 *
 * What holds of a stack, a thread or a size is a byte: a bit for each kind of which an --only matched, and one for being
 * ignored. The bytes of a cell's stack, thread and size are or-ed, and the cell is kept where all kinds that are asked for
 * hold and nothing ignores it.
 *
 * Frames form a tree in which callers come before the functions that they call, so that one pass in that order gives what
 * holds of each frame and of those outward of it; a stack has the byte of its innermost frame. Names are looked at once for
 * each address that occurs.
 */
#define _GNU_SOURCE
#include "report/narrowing.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/cxx_name.h"
#include "report/named_frames.h"
#include "report/suggest.h"
#include "report/units.h"

enum {
  IGNORED = 1 << HWI_NARROW_KINDS,
  FRAME_KINDS = 1 << HWI_NARROW_FUNCTION | 1 << HWI_NARROW_FILE | 1 << HWI_NARROW_MODULE
};
static_assert(IGNORED <= UINT8_MAX, "what holds of a cell is a byte");

const char *const hwi_narrowing_kind_names[] = {"func", "file", "module", "thread", "size"};

/* --- rules --- */

static int wrong_kind(const char *text, size_t bytes, const char *option, struct hwi_error *error)
{
  struct hwi_suggestion suggestion;
  hwi_suggestion_init(&suggestion, text, bytes);
  for (int kind = 0; kind < HWI_NARROW_KINDS; kind++)
    hwi_suggestion_offer(&suggestion, hwi_narrowing_kind_names[kind]);
  return hwi_error_set(error, HW_ERR_USAGE,
                       "%s takes KIND=PATTERN, where KIND is func, file, module, thread or size, not '%s'%s%s%s",
                       option, text, suggestion.best != NULL ? "; did you mean '" : "",
                       suggestion.best != NULL ? suggestion.best : "", suggestion.best != NULL ? "=...'?" : "");
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
  *rule = (struct hwi_narrowing_rule){.kind = (uint8_t)kind, .ignores = ignores, .pattern = text + bytes + 1};
  if (kind == HWI_NARROW_SIZE && !hwi_size_range_parse(rule->pattern, &rule->from, &rule->to))
    return hwi_error_set(error, HW_ERR_USAGE, "%s size= takes a size or a range, such as 64, 1K..4K or 1MB.., not '%s'",
                         option, rule->pattern);
  return HW_OK;
}

/* The rules of `options`; *rules is the caller's. Returns how many, or a negative status. */
static int parse_rules(const struct hwi_report_options *options, struct hwi_narrowing_rule **rules,
                       struct hwi_error *error)
{
  *rules = calloc(options->only.count + options->ignore.count + 1, sizeof **rules);
  if (*rules == NULL)
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory");
  int count = 0, status = HW_OK;
  for (size_t i = 0; i < options->only.count && status == HW_OK; i++)
    status = parse_rule(&(*rules)[count++], options->only.items[i], false, error);
  for (size_t i = 0; i < options->ignore.count && status == HW_OK; i++)
    status = parse_rule(&(*rules)[count++], options->ignore.items[i], true, error);
  if (options->thread != NULL)
    (*rules)[count++] = (struct hwi_narrowing_rule){.kind = HWI_NARROW_THREAD, .pattern = options->thread};
  return status < 0 ? status : count;
}

bool hwi_report_is_narrowed(const struct hwi_report_options *options)
{
  return options->thread != NULL || options->only.count > 0 || options->ignore.count > 0;
}

static bool begins(const char *text, enum hwi_narrowing_kind kind)
{
  return strncmp(text, hwi_narrowing_kind_names[kind], strlen(hwi_narrowing_kind_names[kind])) == 0;
}

bool hwi_report_splits_stacks(const struct hwi_report_options *options)
{
  const struct hwi_texts *lists[] = {&options->only, &options->ignore};
  for (size_t list = 0; list < sizeof lists / sizeof *lists; list++) {
    for (size_t i = 0; i < lists[list]->count; i++) {
      if (begins(lists[list]->items[i], HWI_NARROW_THREAD) || begins(lists[list]->items[i], HWI_NARROW_SIZE))
        return true;
    }
  }
  return options->thread != NULL;
}

int hwi_narrowing_check(const struct hwi_report_options *options, struct hwi_error *error)
{
  struct hwi_narrowing_rule *rules;
  int status = parse_rules(options, &rules, error);
  free(rules);
  return status < 0 ? status : HW_OK;
}

/* --- what a name matches --- */

static bool matches(const char *pattern, const char *name)
{
  return name != NULL && fnmatch(pattern, name, 0) == 0;
}

/* A path as a whole, or as many of its last parts as the pattern has. */
static bool matches_path(const char *pattern, const char *path)
{
  if (path == NULL || matches(pattern, path))
    return path != NULL;
  for (const char *slash = path; (slash = strchr(slash, '/')) != NULL;) {
    if (matches(pattern, ++slash))
      return true;
  }
  return false;
}

/* A function as it is called, or as the report shows it: without parameters and the like. */
static bool matches_function(const char *pattern, const char *function)
{
  if (function == NULL || matches(pattern, function))
    return function != NULL;
  if (strpbrk(function, "(< ") == NULL)
    return false;
  struct hwi_line shown = {0};
  hwi_cxx_name_add(&shown, function, SIZE_MAX, "");
  bool found = matches(pattern, hwi_line_text(&shown));
  hwi_line_release(&shown);
  return found;
}

static void thread_name(const struct hwi_profile_thread *thread, char name[sizeof thread->name + 1])
{
  memcpy(name, thread->name, sizeof thread->name);
  name[sizeof thread->name] = '\0';
}

bool hwi_thread_matches(const struct hwi_profile_thread *thread, const char *pattern)
{
  char name[sizeof thread->name + 1], id[16];
  thread_name(thread, name);
  snprintf(id, sizeof id, "%" PRIu32, thread->tid);
  return matches(pattern, name) || strcmp(pattern, id) == 0;
}

static uint8_t note_match(struct hwi_narrowing_rule *rule)
{
  rule->matched = true;
  return (uint8_t)(rule->ignores ? IGNORED : 1U << rule->kind);
}

static uint8_t bits_of_symbol(struct hwi_narrowing *filter, const struct hwi_symbol *symbol, const char *module)
{
  uint8_t bits = 0;
  for (uint32_t i = 0; i < filter->rule_count; i++) {
    struct hwi_narrowing_rule *rule = &filter->rules[i];
    bool found = (rule->kind == HWI_NARROW_FUNCTION && matches_function(rule->pattern, symbol->function)) ||
                 (rule->kind == HWI_NARROW_FILE && matches_path(rule->pattern, symbol->file)) ||
                 (rule->kind == HWI_NARROW_MODULE && *module != '\0' && matches_path(rule->pattern, module));
    bits |= found ? note_match(rule) : 0;
  }
  return bits;
}

/* --- frames --- */

/* The symbols at an address are looked at once: they stay where they are. */
struct known_symbols {
  const struct hwi_symbol *symbols; /* NULL: the slot is free */
  uint32_t module, count;
  uint8_t bits;
};

struct known {
  struct known_symbols *slots; /* a power of two, never full: as many as twice the frames */
  size_t mask;
};

static bool known_init(struct known *known, uint32_t frame_count)
{
  size_t count = 2;
  while (count < (size_t)frame_count * 2)
    count *= 2;
  *known = (struct known){calloc(count, sizeof *known->slots), count - 1};
  return known->slots != NULL;
}

static struct known_symbols *known_find(const struct known *known, const struct hwi_symbol *symbols, uint32_t module)
{
  uint64_t hash = ((uintptr_t)symbols + module) * UINT64_C(0x9e3779b97f4a7c15);
  size_t at = (size_t)(hash >> 32 ^ hash) & known->mask;
  while (known->slots[at].symbols != NULL && (known->slots[at].symbols != symbols || known->slots[at].module != module))
    at = (at + 1) & known->mask;
  return &known->slots[at];
}

static uint8_t bits_of_frame(struct hwi_narrowing *filter, const struct known *known,
                             const struct hwi_named_frames *names, uint32_t frame)
{
  const struct hwi_symbol *symbols;
  uint32_t count = hwi_named_frames_find(names, frame, &symbols), module = filter->profile->frames[frame].module;
  if (symbols == NULL)
    return 0;
  struct known_symbols *slot = known_find(known, symbols, module);
  if (slot->symbols == NULL) {
    *slot = (struct known_symbols){.symbols = symbols, .module = module, .count = count};
    for (uint32_t i = 0; i < count; i++)
      slot->bits |= bits_of_symbol(filter, &symbols[i], hwi_module_path(filter->profile, module));
  }
  return slot->bits;
}

/* --- the nearest --- */

/* A pattern without what stands for anything. */
static void plain_word(const char *pattern, char *word, size_t bytes)
{
  size_t used = 0;
  for (; *pattern != '\0' && used + 1 < bytes; pattern++) {
    if (strchr("*?[]", *pattern) == NULL)
      word[used++] = *pattern;
  }
  word[used] = '\0';
}

struct search {
  struct hwi_narrowing_rule *rule;
  char word[64];
  unsigned edits; /* of what stands in rule->nearest */
};

/* `before` is what a pattern needs in front of the name. */
static void offer(struct search *search, const char *before, const char *name)
{
  struct hwi_suggestion suggestion;
  struct hwi_narrowing_rule *rule = search->rule;
  hwi_suggestion_init(&suggestion, search->word, strlen(search->word));
  hwi_suggestion_offer(&suggestion, name);
  if (suggestion.best == NULL || (rule->nearest.bytes > 0 && suggestion.best_edits >= search->edits))
    return;
  hwi_line_clear(&rule->nearest);
  hwi_line_puts(&rule->nearest, before);
  hwi_line_puts(&rule->nearest, name);
  search->edits = suggestion.best_edits;
}

/* As the report shows it; and its last parts, with "*::" for the rest. */
static void offer_function(struct search *search, const char *function)
{
  struct hwi_line shown = {0};
  hwi_cxx_name_add(&shown, function, SIZE_MAX, "");
  offer(search, "", hwi_line_text(&shown));
  for (const char *at = hwi_line_text(&shown); (at = strstr(at, "::")) != NULL; at += 2)
    offer(search, "*::", at + 2);
  hwi_line_release(&shown);
}

static void offer_symbol(struct search *search, const struct hwi_symbol *symbol, const char *module)
{
  if (search->rule->kind == HWI_NARROW_FUNCTION && symbol->function != NULL)
    offer_function(search, symbol->function);
  else if (search->rule->kind == HWI_NARROW_FILE && symbol->file != NULL)
    offer(search, "", hwi_base_name(symbol->file));
  else if (search->rule->kind == HWI_NARROW_MODULE && *module != '\0')
    offer(search, "", hwi_base_name(module));
}

static void find_nearest_name(const struct hwi_narrowing *filter, struct hwi_narrowing_rule *rule,
                              const struct known *known)
{
  struct search search = {.rule = rule};
  plain_word(rule->pattern, search.word, sizeof search.word);
  for (uint32_t i = 0; rule->kind == HWI_NARROW_THREAD && i < filter->profile->thread_count; i++) {
    char name[sizeof filter->profile->threads->name + 1];
    thread_name(&filter->profile->threads[i], name);
    offer(&search, "", name);
  }
  for (size_t i = 0; known->slots != NULL && i <= known->mask; i++) {
    const struct known_symbols *slot = &known->slots[i];
    for (uint32_t k = 0; k < slot->count; k++)
      offer_symbol(&search, &slot->symbols[k], hwi_module_path(filter->profile, slot->module));
  }
}

/* --- the whole --- */

static uint8_t bits_of_size(const struct hwi_narrowing *filter, uint64_t size_bytes)
{
  uint8_t bits = 0;
  for (uint32_t i = 0; i < filter->rule_count; i++) {
    const struct hwi_narrowing_rule *rule = &filter->rules[i];
    if (rule->kind == HWI_NARROW_SIZE && size_bytes >= rule->from && size_bytes <= rule->to)
      bits |= (uint8_t)(rule->ignores ? IGNORED : 1U << HWI_NARROW_SIZE);
  }
  return bits;
}

static void match_threads(struct hwi_narrowing *filter)
{
  for (uint32_t thread = 0; thread < filter->profile->thread_count; thread++) {
    for (uint32_t i = 0; i < filter->rule_count; i++) {
      struct hwi_narrowing_rule *rule = &filter->rules[i];
      if (rule->kind == HWI_NARROW_THREAD && hwi_thread_matches(&filter->profile->threads[thread], rule->pattern))
        filter->threads[thread] |= note_match(rule);
    }
  }
}

static void match_sizes(struct hwi_narrowing *filter)
{
  for (uint32_t i = 0; i < filter->rule_count; i++) {
    struct hwi_narrowing_rule *rule = &filter->rules[i];
    for (uint32_t k = 0; rule->kind == HWI_NARROW_SIZE && k < filter->profile->size_count; k++) {
      uint64_t size = filter->profile->sizes[k].size;
      rule->matched |= size >= rule->from && size <= rule->to;
    }
  }
}

static bool match_stacks(struct hwi_narrowing *filter, const struct hwi_named_frames *names, struct known *known)
{
  const struct hwi_profile *profile = filter->profile;
  uint8_t *frames = calloc((size_t)profile->frame_count + 1, sizeof *frames);
  if (frames == NULL || !known_init(known, profile->frame_count)) {
    free(frames);
    return false;
  }
  for (uint32_t i = 1; i < profile->frame_count; i++)
    frames[i] = frames[profile->frames[i].caller] | bits_of_frame(filter, known, names, i);
  for (uint32_t i = 1; i < profile->stack_count; i++)
    filter->stacks[i] = frames[profile->stacks[i].frame];
  free(frames);
  return true;
}

static bool match_all(struct hwi_narrowing *filter, const struct hwi_named_frames *names)
{
  struct known known = {0};
  filter->stacks = calloc((size_t)filter->profile->stack_count + 1, sizeof *filter->stacks);
  filter->threads = calloc((size_t)filter->profile->thread_count + 1, sizeof *filter->threads);
  if (filter->stacks == NULL || filter->threads == NULL ||
      ((filter->used & FRAME_KINDS) != 0 && !match_stacks(filter, names, &known)))
    return false;
  match_threads(filter);
  match_sizes(filter);
  for (uint32_t i = 0; i < filter->rule_count; i++) {
    if (!filter->rules[i].matched)
      find_nearest_name(filter, &filter->rules[i], &known);
  }
  free(known.slots);
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
    filter->used |= (uint8_t)(1U << filter->rules[i].kind);
    filter->asked |= (uint8_t)(filter->rules[i].ignores ? 0 : 1U << filter->rules[i].kind);
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
    hwi_line_release(&filter->rules[i].nearest);
  free(filter->rules);
  free(filter->stacks);
  free(filter->threads);
  *filter = (struct hwi_narrowing){0};
}

bool hwi_narrowing_keeps(const struct hwi_narrowing *filter, uint32_t thread, uint32_t stack, uint64_t size_bytes)
{
  if (filter->rule_count == 0)
    return true;
  uint8_t bits = filter->stacks[stack] | filter->threads[thread] | bits_of_size(filter, size_bytes);
  return bits == (bits | filter->asked) && (bits & IGNORED) == 0;
}

bool hwi_narrowing_keeps_thread(const struct hwi_narrowing *filter, uint32_t thread)
{
  uint8_t asked = filter->asked & 1U << HWI_NARROW_THREAD;
  return filter->rule_count == 0 ||
         ((filter->threads[thread] & asked) == asked && (filter->threads[thread] & IGNORED) == 0);
}

bool hwi_narrowing_splits_stacks(const struct hwi_narrowing *filter)
{
  return (filter->used & (1U << HWI_NARROW_THREAD | 1U << HWI_NARROW_SIZE)) != 0;
}

bool hwi_narrowing_splits_threads(const struct hwi_narrowing *filter)
{
  return (filter->used & ~(1U << HWI_NARROW_THREAD)) != 0;
}

bool hwi_narrowing_splits_sizes(const struct hwi_narrowing *filter)
{
  return (filter->used & ~(1U << HWI_NARROW_SIZE)) != 0;
}
