/* name_pattern.c - patterns that users give for names
 *
 * Frames form a tree in which callers come before the functions that they call. So one pass in that order finds the
 * matches of each frame, including those of the frames outward of it. Names are compared once for each address.
 */
#define _GNU_SOURCE
#include "report/selection/name_pattern.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/shell_pattern.h"
#include "report/input/suggest.h"
#include "report/names/cxx_name.h"
#include "trace/grow.h"
#include "trace/numbering.h"

/* --- one name --- */

bool hwi_path_matches(const char *pattern, const char *path)
{
  if (hwi_shell_pattern_matches(pattern, path))
    return true;
  for (const char *slash = path; (slash = strchr(slash, '/'));) {
    if (hwi_shell_pattern_matches(pattern, ++slash))
      return true;
  }
  return false;
}

bool hwi_function_matches(const char *pattern, const char *function)
{
  if (hwi_shell_pattern_matches(pattern, function))
    return true;
  if (!strpbrk(function, "(< ")) /* it has no part that would be left out */
    return false;
  struct hwi_line name = {0};
  hwi_line_add(&name, function, strcspn(function, "("));
  bool found = hwi_shell_pattern_matches(pattern, hwi_line_text(&name));
  hwi_line_clear(&name);
  hwi_cxx_name_add(&name, function, SIZE_MAX, "");
  found = found || hwi_shell_pattern_matches(pattern, hwi_line_text(&name));
  hwi_line_release(&name);
  return found;
}

bool hwi_thread_matches(const struct hwi_profile_thread *thread, const char *pattern)
{
  char id[16];
  snprintf(id, sizeof id, "%" PRIu32, thread->tid);
  return hwi_shell_pattern_matches(pattern, thread->name) || strcmp(pattern, id) == 0;
}

bool hwi_scope_matches(const char *pattern, const char *name)
{
  return hwi_shell_pattern_matches(pattern, name);
}

/* --- the names of frames --- */

/* A cache: the symbols at an address are compared once. They do not move. */
struct known_symbols {
  const struct hwi_symbol *symbols;
  uint32_t module, count;
  uint8_t bits;
};

struct known {
  struct hwi_numbering numbers; /* by symbols and module */
  struct known_symbols *list;   /* [1, count] */
  uint32_t count;
  size_t capacity;
};

struct matcher {
  struct hwi_name_pattern *const *patterns;
  uint32_t count;
  const struct hwi_named_frames *names;
  struct known known; /* empty if no pattern is about frames */
};

bool hwi_symbol_matches(const struct hwi_name_pattern *pattern, const struct hwi_symbol *symbol,
                        const struct hwi_module_names *module)
{
  switch (pattern->kind) {
  case HWI_NAME_FUNCTION:
    return symbol->function && hwi_function_matches(pattern->text, symbol->function);
  case HWI_NAME_FILE:
    return symbol->file && hwi_path_matches(pattern->text, symbol->file);
  case HWI_NAME_MODULE:
    return *module->path != '\0' &&
           (hwi_path_matches(pattern->text, module->path) || hwi_path_matches(pattern->text, module->name));
  default:
    return false;
  }
}

static uint8_t bits_of_symbol(const struct matcher *matcher, const struct hwi_symbol *symbol,
                              const struct hwi_module_names *module)
{
  uint8_t bits = 0;
  for (uint32_t i = 0; i < matcher->count; i++) {
    struct hwi_name_pattern *pattern = matcher->patterns[i];
    if (!hwi_symbol_matches(pattern, symbol, module))
      continue;
    pattern->matched = true;
    bits |= pattern->bit;
  }
  return bits;
}

/* Returns false if there is no memory. */
static bool add_bits_of_frame(struct matcher *matcher, uint32_t frame, uint8_t *bits)
{
  const struct hwi_profile *profile = matcher->names->profile;
  struct known *known = &matcher->known;
  const struct hwi_symbol *symbols;
  uint32_t count = hwi_named_frames_find(matcher->names, frame, &symbols), module = profile->frames[frame].module;
  if (!symbols)
    return true;
  uint32_t number = hwi_numbering_of(&known->numbers, (uintptr_t)symbols, module);
  if (!number || !hwi_grow((void **)&known->list, &known->capacity, (size_t)number + 1, sizeof *known->list))
    return false;
  struct known_symbols *of_frame = &known->list[number];
  if (number > known->count) {
    known->count = number;
    *of_frame = (struct known_symbols){.symbols = symbols, .module = module, .count = count};
    const struct hwi_module_names names = {hwi_module_path(profile, module), hwi_module_name(profile, module)};
    for (uint32_t i = 0; i < count; i++)
      of_frame->bits |= bits_of_symbol(matcher, &symbols[i], &names);
  }
  *bits |= of_frame->bits;
  return true;
}

static bool match_frames(struct matcher *matcher, struct hwi_name_matches *matches)
{
  const struct hwi_profile *profile = matcher->names->profile;
  matches->frames = calloc((size_t)profile->frame_count + 1, sizeof *matches->frames);
  for (uint32_t i = 1; i < profile->frame_count && matches->frames; i++) {
    matches->frames[i] = matches->frames[profile->frames[i].caller];
    if (!add_bits_of_frame(matcher, i, &matches->frames[i]))
      return false;
  }
  return matches->frames;
}

/* --- the most similar name --- */

/* Copies a pattern without its wildcards. */
static void plain_word(const char *pattern, char *word, size_t bytes)
{
  size_t used = 0;
  for (; *pattern != '\0' && used + 1 < bytes; pattern++) {
    if (!strchr("*?[]", *pattern))
      word[used++] = *pattern;
  }
  word[used] = '\0';
}

struct search {
  struct hwi_name_pattern *pattern;
  char word[64];
  unsigned edits; /* of pattern->nearest */
};

/* `before` is the text that a pattern needs in front of the name. */
static void offer(struct search *search, const char *before, const char *name)
{
  struct hwi_suggestion suggestion;
  struct hwi_line *nearest = &search->pattern->nearest;
  hwi_suggestion_init(&suggestion, search->word, strlen(search->word));
  hwi_suggestion_offer(&suggestion, name);
  if (!suggestion.best || (nearest->bytes > 0 && suggestion.best_edits >= search->edits))
    return;
  hwi_line_clear(nearest);
  hwi_line_puts(nearest, before);
  hwi_line_puts(nearest, name);
  search->edits = suggestion.best_edits;
}

/* Offers a function's name as the report shows it, and its last parts, with "*::" for the rest. */
static void offer_function(struct search *search, const char *function)
{
  struct hwi_line shown = {0};
  hwi_cxx_name_add(&shown, function, SIZE_MAX, "");
  offer(search, "", hwi_line_text(&shown));
  for (const char *at = hwi_line_text(&shown); (at = strstr(at, "::")); at += 2)
    offer(search, "*::", at + 2);
  hwi_line_release(&shown);
}

static void offer_symbol(struct search *search, const struct hwi_symbol *symbol, const char *module)
{
  if (search->pattern->kind == HWI_NAME_FUNCTION && symbol->function)
    offer_function(search, symbol->function);
  else if (search->pattern->kind == HWI_NAME_FILE && symbol->file)
    offer(search, "", hwi_base_name(symbol->file));
  else if (search->pattern->kind == HWI_NAME_MODULE && *module != '\0')
    offer(search, "", module);
}

static void find_nearest(const struct matcher *matcher, struct hwi_name_pattern *pattern)
{
  const struct hwi_profile *profile = matcher->names->profile;
  const struct known *known = &matcher->known;
  struct search search = {.pattern = pattern};
  plain_word(pattern->text, search.word, sizeof search.word);
  for (uint32_t i = 0; pattern->kind == HWI_NAME_THREAD && i < profile->thread_count; i++)
    offer(&search, "", profile->threads[i].name);
  for (uint32_t i = 1; pattern->kind == HWI_NAME_SCOPE && i < profile->scope_count; i++)
    offer(&search, "", profile->scopes[i].name);
  for (uint32_t i = 1; pattern->kind < HWI_NAME_FRAME_KINDS && i <= known->count; i++) {
    const struct known_symbols *symbols = &known->list[i];
    for (uint32_t k = 0; k < symbols->count; k++)
      offer_symbol(&search, &symbols->symbols[k], hwi_module_name(profile, symbols->module));
  }
}

/* --- all patterns --- */

static bool match_threads(const struct matcher *matcher, struct hwi_name_matches *matches)
{
  const struct hwi_profile *profile = matcher->names->profile;
  matches->threads = calloc((size_t)profile->thread_count + 1, sizeof *matches->threads);
  for (uint32_t thread = 0; thread < profile->thread_count && matches->threads; thread++) {
    for (uint32_t i = 0; i < matcher->count; i++) {
      struct hwi_name_pattern *pattern = matcher->patterns[i];
      if (pattern->kind != HWI_NAME_THREAD || !hwi_thread_matches(&profile->threads[thread], pattern->text))
        continue;
      pattern->matched = true;
      matches->threads[thread] |= pattern->bit;
    }
  }
  return matches->threads;
}

/* A path has the matches of its own scope and of all outward of it, which have smaller numbers. */
static bool match_scopes(const struct matcher *matcher, struct hwi_name_matches *matches)
{
  const struct hwi_profile *profile = matcher->names->profile;
  matches->scopes = calloc((size_t)profile->scope_count + 1, sizeof *matches->scopes);
  for (uint32_t path = 1; path < profile->scope_count && matches->scopes; path++) {
    matches->scopes[path] = matches->scopes[profile->scopes[path].outer];
    for (uint32_t i = 0; i < matcher->count; i++) {
      struct hwi_name_pattern *pattern = matcher->patterns[i];
      if (pattern->kind != HWI_NAME_SCOPE || !hwi_scope_matches(pattern->text, profile->scopes[path].name))
        continue;
      pattern->matched = true;
      matches->scopes[path] |= pattern->bit;
    }
  }
  return matches->scopes;
}

bool hwi_name_patterns_match(struct hwi_name_pattern *const *patterns, uint32_t count,
                             const struct hwi_named_frames *names, struct hwi_name_matches *matches)
{
  struct matcher matcher = {.patterns = patterns, .count = count, .names = names};
  bool of_frames = false;
  for (uint32_t i = 0; i < count; i++)
    of_frames |= patterns[i]->kind < HWI_NAME_FRAME_KINDS;
  *matches = (struct hwi_name_matches){0};
  bool matched = match_threads(&matcher, matches) && match_scopes(&matcher, matches) &&
                 (!of_frames || match_frames(&matcher, matches));
  for (uint32_t i = 0; i < count && matched; i++) {
    if (!patterns[i]->matched)
      find_nearest(&matcher, patterns[i]);
  }
  hwi_numbering_release(&matcher.known.numbers);
  free(matcher.known.list);
  return matched;
}

void hwi_name_matches_release(struct hwi_name_matches *matches)
{
  free(matches->frames);
  free(matches->threads);
  free(matches->scopes);
  *matches = (struct hwi_name_matches){0};
}
