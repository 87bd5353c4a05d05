/* name_pattern.c - patterns that users give for names
 *
 * Frames form a tree in which callers come before the functions that they call. So one pass in that order finds the
 * matches of each frame, including those of the frames outward of it. Names are compared once for each address.
 */
#define _GNU_SOURCE
#include "report/selection/name_pattern.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/input/suggest.h"
#include "report/names/cxx_name.h"

/* --- one name --- */

static bool matches(const char *pattern, const char *name)
{
  return strcmp(pattern, name) == 0 || fnmatch(pattern, name, 0) == 0;
}

bool hwi_path_matches(const char *pattern, const char *path)
{
  if (matches(pattern, path))
    return true;
  for (const char *slash = path; (slash = strchr(slash, '/'));) {
    if (matches(pattern, ++slash))
      return true;
  }
  return false;
}

bool hwi_function_matches(const char *pattern, const char *function)
{
  if (matches(pattern, function))
    return true;
  if (!strpbrk(function, "(< ")) /* it has no part that would be left out */
    return false;
  struct hwi_line name = {0};
  hwi_line_add(&name, function, strcspn(function, "("));
  bool found = matches(pattern, hwi_line_text(&name));
  hwi_line_clear(&name);
  hwi_cxx_name_add(&name, function, SIZE_MAX, "");
  found = found || matches(pattern, hwi_line_text(&name));
  hwi_line_release(&name);
  return found;
}

bool hwi_thread_matches(const struct hwi_profile_thread *thread, const char *pattern)
{
  char id[16];
  snprintf(id, sizeof id, "%" PRIu32, thread->tid);
  return matches(pattern, thread->name) || strcmp(pattern, id) == 0;
}

/* --- the names of frames --- */

/* A cache: the symbols at an address are compared once. They do not move. */
struct known_symbols {
  const struct hwi_symbol *symbols; /* NULL: the slot is free */
  uint32_t module, count;
  uint8_t bits;
};

struct known {
  struct known_symbols *slots; /* a power of two, never full: at least twice the number of frames */
  size_t mask;
};

static bool known_init(struct known *known, uint32_t frame_count)
{
  size_t count = 2;
  while (count < (size_t)frame_count * 2)
    count *= 2;
  *known = (struct known){calloc(count, sizeof *known->slots), count - 1};
  return known->slots;
}

static struct known_symbols *known_find(const struct known *known, const struct hwi_symbol *symbols, uint32_t module)
{
  uint64_t hash = ((uintptr_t)symbols + module) * UINT64_C(0x9e3779b97f4a7c15);
  size_t at = (size_t)(hash >> 32 ^ hash) & known->mask;
  while (known->slots[at].symbols && (known->slots[at].symbols != symbols || known->slots[at].module != module))
    at = (at + 1) & known->mask;
  return &known->slots[at];
}

struct matcher {
  struct hwi_name_pattern *const *patterns;
  uint32_t count;
  const struct hwi_named_frames *names;
  struct known known; /* no slots if no pattern is about frames */
};

/* The names of a module. */
struct module_names {
  const char *path, *name;
};

static bool matches_symbol(const struct hwi_name_pattern *pattern, const struct hwi_symbol *symbol,
                           const struct module_names *module)
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
                              const struct module_names *module)
{
  uint8_t bits = 0;
  for (uint32_t i = 0; i < matcher->count; i++) {
    struct hwi_name_pattern *pattern = matcher->patterns[i];
    if (!matches_symbol(pattern, symbol, module))
      continue;
    pattern->matched = true;
    bits |= pattern->bit;
  }
  return bits;
}

static uint8_t bits_of_frame(const struct matcher *matcher, uint32_t frame)
{
  const struct hwi_profile *profile = matcher->names->profile;
  const struct hwi_symbol *symbols;
  uint32_t count = hwi_named_frames_find(matcher->names, frame, &symbols), module = profile->frames[frame].module;
  if (!symbols)
    return 0;
  struct known_symbols *slot = known_find(&matcher->known, symbols, module);
  if (!slot->symbols) {
    *slot = (struct known_symbols){.symbols = symbols, .module = module, .count = count};
    const struct module_names names = {hwi_module_path(profile, module), hwi_module_name(profile, module)};
    for (uint32_t i = 0; i < count; i++)
      slot->bits |= bits_of_symbol(matcher, &symbols[i], &names);
  }
  return slot->bits;
}

static bool match_frames(struct matcher *matcher, struct hwi_name_matches *matches)
{
  const struct hwi_profile *profile = matcher->names->profile;
  matches->frames = calloc((size_t)profile->frame_count + 1, sizeof *matches->frames);
  if (!matches->frames || !known_init(&matcher->known, profile->frame_count))
    return false;
  for (uint32_t i = 1; i < profile->frame_count; i++)
    matches->frames[i] = matches->frames[profile->frames[i].caller] | bits_of_frame(matcher, i);
  return true;
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
  for (size_t i = 0; pattern->kind < HWI_NAME_FRAME_KINDS && i <= known->mask; i++) {
    const struct known_symbols *slot = &known->slots[i];
    for (uint32_t k = 0; k < slot->count; k++)
      offer_symbol(&search, &slot->symbols[k], hwi_module_name(profile, slot->module));
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

bool hwi_name_patterns_match(struct hwi_name_pattern *const *patterns, uint32_t count,
                             const struct hwi_named_frames *names, struct hwi_name_matches *matches)
{
  struct matcher matcher = {.patterns = patterns, .count = count, .names = names};
  bool of_frames = false;
  for (uint32_t i = 0; i < count; i++)
    of_frames |= patterns[i]->kind < HWI_NAME_FRAME_KINDS;
  *matches = (struct hwi_name_matches){0};
  bool matched = match_threads(&matcher, matches) && (!of_frames || match_frames(&matcher, matches));
  for (uint32_t i = 0; i < count && matched; i++) {
    if (!patterns[i]->matched)
      find_nearest(&matcher, patterns[i]);
  }
  free(matcher.known.slots);
  return matched;
}

void hwi_name_matches_release(struct hwi_name_matches *matches)
{
  free(matches->frames);
  free(matches->threads);
  *matches = (struct hwi_name_matches){0};
}
