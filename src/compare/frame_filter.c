/* frame_filter.c - which stacks a rule is about: patterns against the names of their frames */
#include "compare/frame_filter.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "report/selection.h"
#include "report/suggest.h"

/* --- one pattern --- */

/* `pattern` as it stands, or as a shell pattern: "operator new[]" is a name and looks like one. */
static bool matches(const char *pattern, const char *text)
{
  return strcmp(pattern, text) == 0 || fnmatch(pattern, text, 0) == 0;
}

/* A function is meant by its whole name, or by what stands before its parameters. */
static bool matches_function(const char *pattern, const char *name)
{
  const char *parameters = strchr(name, '(');
  if (matches(pattern, name))
    return true;
  if (parameters == NULL || parameters == name)
    return false;
  char *before = strndup(name, (size_t)(parameters - name));
  bool matched = before != NULL && matches(pattern, before);
  free(before);
  return matched;
}

/* A file or module is meant by its path, or by as many of its last components as the pattern has. */
static bool matches_path(const char *pattern, const char *path)
{
  if (matches(pattern, path))
    return true;
  for (const char *at = path; (at = strchr(at, '/')) != NULL; at++) {
    if (matches(pattern, at + 1))
      return true;
  }
  return false;
}

/* What a filter compares of a frame; NULL or "": it has none. */
static const char *name_for(const struct hwi_filter *filter, const struct hwi_symbol *symbol, const char *module)
{
  switch (filter->kind) {
  case HWI_FILTER_FUNC:
    return symbol->function;
  case HWI_FILTER_FILE:
    return symbol->file;
  case HWI_FILTER_MODULE:
    return module;
  default:
    return NULL;
  }
}

static bool matches_frame(const struct hwi_filter *filter, const struct hwi_symbol *symbol, const char *module)
{
  const char *name = name_for(filter, symbol, module);
  if (name == NULL || *name == '\0')
    return false;
  return filter->kind == HWI_FILTER_FUNC ? matches_function(filter->pattern, name)
                                         : matches_path(filter->pattern, name);
}

static bool is_about_frames(const struct hwi_filter *filter)
{
  return filter->kind == HWI_FILTER_FUNC || filter->kind == HWI_FILTER_FILE || filter->kind == HWI_FILTER_MODULE;
}

/* --- frames: what is met on the way in from the outermost one --- */

enum { DOUBTFUL_BIT = 1 << HWI_FILTER_KINDS }; /* the other bits: 1 << kind, a filter of that kind matched */

static unsigned bits_of(struct hwi_frame_filter *filter, const struct hwi_budget *budget,
                        const struct hwi_named_frames *frames, const struct hwi_missing_names *missing, uint32_t frame)
{
  uint32_t number = frames->profile->frames[frame].module;
  const char *module = hwi_module_path(frames->profile, number);
  const struct hwi_symbol *symbols;
  uint32_t count = hwi_named_frames_find(frames, frame, &symbols);
  unsigned bits = 0;
  for (uint32_t k = 0; k < count && symbols != NULL; k++) {
    for (size_t i = 0; i < budget->filter_count; i++) {
      if (!matches_frame(&budget->filters[i], &symbols[k], module))
        continue;
      bits |= 1U << budget->filters[i].kind;
      filter->matched[i] = true;
    }
  }
  if (missing->reasons[number] != HWI_SYMBOL_OK) {
    filter->missing_module = number;
    bits |= DOUBTFUL_BIT;
  }
  return bits;
}

/* A caller comes before the frames that it calls. */
static bool find_bits(struct hwi_frame_filter *filter, const struct hwi_budget *budget,
                      const struct hwi_named_frames *frames, const struct hwi_missing_names *missing)
{
  const struct hwi_profile *profile = frames->profile;
  filter->bits = calloc((size_t)profile->frame_count + 1, sizeof *filter->bits);
  for (uint32_t frame = 1; frame < profile->frame_count && filter->bits != NULL; frame++)
    filter->bits[frame] =
        (uint16_t)(filter->bits[profile->frames[frame].caller] | bits_of(filter, budget, frames, missing, frame));
  return filter->bits != NULL;
}

/* --- what nothing matched --- */

/* Keeps `name` as the nearest where it is nearer than what `suggestion` has. False: no memory. */
static bool offer(struct hwi_suggestion *suggestion, char **nearest, const char *name, size_t bytes)
{
  char *plain = strndup(name, bytes);
  if (plain == NULL)
    return false;
  hwi_suggestion_offer(suggestion, plain);
  bool nearer = suggestion->best == plain;
  free(nearer ? *nearest : plain);
  if (nearer)
    *nearest = plain;
  return true;
}

static bool find_nearest(struct hwi_frame_filter *filter, size_t number, const struct hwi_filter *one,
                         const struct hwi_named_frames *frames)
{
  struct hwi_suggestion suggestion;
  hwi_suggestion_init(&suggestion, one->pattern, strlen(one->pattern));
  bool done = true;
  for (uint32_t frame = 1; frame < frames->profile->frame_count && done; frame++) {
    const struct hwi_symbol *symbols;
    uint32_t count = hwi_named_frames_find(frames, frame, &symbols);
    const char *module = hwi_module_path(frames->profile, frames->profile->frames[frame].module);
    for (uint32_t k = 0; k < count && symbols != NULL && done; k++) {
      const char *name = name_for(one, &symbols[k], module);
      bool is_function = one->kind == HWI_FILTER_FUNC;
      if (name == NULL || *name == '\0')
        continue;
      name = is_function ? name : hwi_base_name(name);
      done = offer(&suggestion, &filter->nearest[number], name, is_function ? strcspn(name, "(") : strlen(name));
    }
  }
  return done;
}

static bool find_thread(struct hwi_frame_filter *filter, size_t number, const struct hwi_filter *one,
                        const struct hwi_profile *profile)
{
  struct hwi_suggestion suggestion;
  hwi_suggestion_init(&suggestion, one->pattern, strlen(one->pattern));
  bool done = true;
  for (uint32_t i = 0; i < profile->thread_count && done; i++) {
    const struct hwi_profile_thread *thread = &profile->threads[i];
    filter->matched[number] |= hwi_thread_matches(thread, one->pattern);
    done = offer(&suggestion, &filter->nearest[number], thread->name, strnlen(thread->name, sizeof thread->name));
  }
  return done;
}

static bool explain_filters(struct hwi_frame_filter *filter, const struct hwi_budget *budget,
                            struct hwi_named_frames *frames)
{
  bool done = true;
  for (size_t i = 0; i < budget->filter_count && done; i++) {
    const struct hwi_filter *one = &budget->filters[i];
    if (one->kind == HWI_FILTER_THREAD)
      done = find_thread(filter, i, one, frames->profile);
    else if (!is_about_frames(one))
      filter->matched[i] = true;
    else if (!filter->matched[i])
      done = find_nearest(filter, i, one, frames);
  }
  return done;
}

/* --- all stacks --- */

static bool is_left_out(struct hwi_named_frames *frames, uint32_t stack, const struct hwi_suppressions *suppressions)
{
  if (hwi_named_frames_load(frames, stack, NULL) < 0)
    return false;
  return hwi_named_frames_are_runtime(frames) ||
         (suppressions != NULL && hwi_suppressions_find(suppressions, frames) != NULL);
}

int hwi_frame_filter_init(struct hwi_frame_filter *filter, const struct hwi_budget *budget,
                          const struct hwi_filtered_run *run, struct hwi_error *error)
{
  struct hwi_named_frames *frames = run->frames;
  uint32_t stacks = frames->profile->stack_count;
  bool unfreed = budget->metric == HWI_METRIC_UNFREED || budget->metric == HWI_METRIC_UNFREED_BLOCKS;
  *filter = (struct hwi_frame_filter){.chosen = calloc((size_t)stacks + 1, sizeof *filter->chosen),
                                      .doubtful = calloc((size_t)stacks + 1, sizeof *filter->doubtful)};
  bool done = filter->chosen != NULL && filter->doubtful != NULL && find_bits(filter, budget, frames, &run->missing);
  unsigned asked = 0;
  for (size_t i = 0; i < budget->filter_count; i++)
    asked |= is_about_frames(&budget->filters[i]) ? 1U << budget->filters[i].kind : 0;
  bool by_name = hwi_budget_has(budget, HWI_FILTER_FUNC) || hwi_budget_has(budget, HWI_FILTER_FILE);
  for (uint32_t stack = 1; stack < stacks && done; stack++) {
    unsigned bits = filter->bits[frames->profile->stacks[stack].frame];
    bool met = (bits & asked) == asked, doubtful = !met && by_name && (bits & DOUBTFUL_BIT);
    if (unfreed && (met || doubtful) && is_left_out(frames, stack, run->suppressions))
      continue;
    filter->chosen[stack] = met;
    filter->doubtful[stack] = doubtful;
  }
  if (done && explain_filters(filter, budget, frames))
    return HW_OK;
  return hwi_error_set(error, HW_ERR_MEMORY, "no memory for a rule about %u stacks", stacks);
}

void hwi_frame_filter_release(struct hwi_frame_filter *filter)
{
  free(filter->chosen);
  free(filter->doubtful);
  free(filter->bits);
  for (size_t i = 0; i < HWI_FILTERS_MAX; i++)
    free(filter->nearest[i]);
  *filter = (struct hwi_frame_filter){0};
}
