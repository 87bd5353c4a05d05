/* named_frames.c - names a stack's frames, and chooses those that a text shows */
#include "report/names/named_frames.h"

#include <stdlib.h>
#include <string.h>

#include "base/base_name.h"
#include "base/hash.h"
#include "report/input/rules.h"

enum { MATCHES = 1024 }; /* a power of two */

struct hwi_rule_match {
  const char *rules, *text;
  bool matches;
};

int hwi_named_frames_init(struct hwi_named_frames *frames, const struct hwi_report *report, struct hwi_error *error)
{
  const struct hwi_profile *profile = report->profile;
  *frames = (struct hwi_named_frames){.profile = profile, .names = report->names};
  frames->modules = calloc((size_t)profile->module_count + 1, sizeof *frames->modules);
  frames->matches = calloc(MATCHES, sizeof *frames->matches);
  if (!frames->modules || !frames->matches) {
    hwi_named_frames_release(frames);
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory for %u modules", profile->module_count);
  }
  for (uint32_t i = 1; i < profile->module_count; i++) {
    const struct hwi_profile_module *module = &profile->modules[i];
    frames->modules[i] = (struct hwi_symbol_module){.path = module->path,
                                                    .build_id = module->build_id,
                                                    .build_id_bytes = module->build_id_bytes,
                                                    .bias = module->bias};
  }
  return HW_OK;
}

void hwi_named_frames_release(struct hwi_named_frames *frames)
{
  free(frames->modules);
  free(frames->matches);
  free(frames->items);
  *frames = (struct hwi_named_frames){0};
}

uint32_t hwi_named_frames_find(const struct hwi_named_frames *frames, uint32_t frame, const struct hwi_symbol **symbols)
{
  const struct hwi_frame *found = &frames->profile->frames[frame];
  *symbols = NULL;
  if (found->cut)
    return 1;
  const struct hwi_symbol_module *module = found->module != 0 ? &frames->modules[found->module] : NULL;
  return frames->names.find(frames->names.context, module, found->address, true, symbols);
}

static bool make_room(struct hwi_named_frames *frames, uint32_t more)
{
  if (frames->count + more <= frames->room)
    return true;
  uint32_t room = (frames->count + more) * 2;
  struct hwi_shown_frame *items = realloc(frames->items, room * sizeof *items);
  if (!items)
    return false;
  frames->items = items;
  frames->room = room;
  return true;
}

bool hwi_named_frames_add(struct hwi_named_frames *frames, const struct hwi_shown_frame *frame)
{
  if (!make_room(frames, 1))
    return false;
  frames->items[frames->count++] = *frame;
  return true;
}

int hwi_named_frames_load(struct hwi_named_frames *frames, uint32_t stack, struct hwi_error *error)
{
  const struct hwi_profile *profile = frames->profile;
  frames->count = 0;
  for (uint32_t at = profile->stacks[stack].frame; at != 0; at = profile->frames[at].caller) {
    const struct hwi_symbol *symbols;
    uint32_t count = hwi_named_frames_find(frames, at, &symbols);
    if (!make_room(frames, count))
      return hwi_error_set(error, HW_ERR_MEMORY, "no memory for a stack of %u frames",
                           hwi_profile_depth(profile, stack));
    for (uint32_t k = 0; k < count; k++)
      frames->items[frames->count++] = (struct hwi_shown_frame){
          symbols ? &symbols[k] : NULL, profile->frames[at].address, profile->frames[at].module};
  }
  return HW_OK;
}

struct hwi_build_id hwi_build_id_text(const struct hwi_profile_module *module)
{
  static const char digits[] = "0123456789abcdef";
  struct hwi_build_id id;
  for (uint32_t i = 0; i < module->build_id_bytes; i++) {
    id.text[2 * i] = digits[module->build_id[i] >> 4];
    id.text[2 * i + 1] = digits[module->build_id[i] & 15];
  }
  id.text[2 * module->build_id_bytes] = '\0';
  return id;
}

const char *hwi_module_path(const struct hwi_profile *profile, uint32_t module)
{
  const char *path = module != 0 && module < profile->module_count ? profile->modules[module].path : NULL;
  return path ? path : "";
}

const char *hwi_module_name(const struct hwi_profile *profile, uint32_t module)
{
  if (strncmp(hwi_module_path(profile, module), HW_DATA_MODULE, sizeof HW_DATA_MODULE - 1) == 0)
    return "";
  const char *run_as = module != 0 && module < profile->module_count ? profile->modules[module].run_as : NULL;
  return run_as ? run_as : hwi_base_name(hwi_module_path(profile, module));
}

/* --- the significant frames --- */

/* As hwi_patterns_match. The texts are those of symbols and modules, which stay where they are. */
static bool matches(const struct hwi_named_frames *frames, const char *rules, const char *text)
{
  if (!frames->matches) /* frames that a caller filled itself */
    return hwi_patterns_match(rules, text);
  struct hwi_rule_match *match = &frames->matches[hwi_hash_pair((uintptr_t)rules, (uintptr_t)text) % MATCHES];
  if (match->rules != rules || match->text != text)
    *match = (struct hwi_rule_match){rules, text, hwi_patterns_match(rules, text)};
  return match->matches;
}

/* Returns a function's name as it is in the lists: inside libc, functions have aliases that begin with __GI_. */
static const char *plain_name(const struct hwi_symbol *symbol)
{
  static const char alias[] = "__GI_";
  bool aliased = strncmp(symbol->function, alias, sizeof alias - 1) == 0;
  return aliased ? symbol->function + sizeof alias - 1 : symbol->function;
}

static bool is_wrapper(const struct hwi_named_frames *frames, const struct hwi_shown_frame *frame)
{
  return frame->symbol && frame->symbol->function && frame->symbol->reason != HWI_SYMBOL_DATA &&
         matches(frames, hwi_rules_wrappers, plain_name(frame->symbol));
}

/* If `first` is a wrapper, or the helper of one in a stripped module, where helpers have no names, returns the frame
 * after the wrapper; else `first`. At least one frame is left. */
static uint32_t after_wrapper(const struct hwi_named_frames *frames, uint32_t first, uint32_t last)
{
  for (uint32_t i = first; i + 1 < last && i - first <= HWI_HIDDEN_HELPERS_MAX; i++) {
    const struct hwi_shown_frame *frame = &frames->items[i];
    if (is_wrapper(frames, frame))
      return i + 1;
    bool hidden = frame->symbol && !frame->symbol->function && frame->module != 0;
    if (!hidden || frame->module != frames->items[first].module)
      break;
  }
  return first;
}

static bool is_start(const struct hwi_named_frames *frames, const struct hwi_shown_frame *frame)
{
  if (!frame->symbol || frame->symbol->reason == HWI_SYMBOL_DATA)
    return false;
  if (frame->symbol->function)
    return matches(frames, hwi_rules_starts, plain_name(frame->symbol));
  return matches(frames, hwi_rules_start_modules, hwi_module_path(frames->profile, frame->module));
}

/* Whether the frame is the _start of a stripped program: the outermost one, and only libc's start functions are between
 * it and the program. If libc's frames are the innermost ones, a function of the program called them, and the stack ends
 * there. */
static bool is_nameless_start(const struct hwi_named_frames *frames, uint32_t frame)
{
  uint32_t inner = frame;
  while (inner > 0 && is_start(frames, &frames->items[inner - 1]))
    inner--;
  return frame + 1 == frames->count && !frames->items[frame].symbol->function && 0 < inner && inner < frame;
}

/* Whether the frame calls a start function, and so is one too: the C main of a language's runtime (the user's own
 * main is further in), and the _start of a stripped program. A nameless callee in libc may be any function there, such
 * as one that the user's main called. */
static bool calls_start(const struct hwi_named_frames *frames, uint32_t frame)
{
  const struct hwi_symbol *symbol = frames->items[frame].symbol, *callee = frames->items[frame - 1].symbol;
  if (!symbol || (symbol->function && strcmp(symbol->function, "main") != 0))
    return false;
  if (callee && !callee->function)
    return is_nameless_start(frames, frame);
  return is_start(frames, &frames->items[frame - 1]);
}

void hwi_named_frames_trim(const struct hwi_named_frames *frames, uint32_t *first, uint32_t *last)
{
  *first = 0;
  *last = frames->count;
  while (*last > 1 && (is_start(frames, &frames->items[*last - 1]) || calls_start(frames, *last - 1)))
    --*last;
  for (uint32_t end; (end = after_wrapper(frames, *first, *last)) > *first;)
    *first = end;
}

static bool is_in(const struct hwi_named_frames *frames, uint32_t frame, const char *modules)
{
  return matches(frames, modules, hwi_module_path(frames->profile, frames->items[frame].module));
}

uint32_t hwi_named_frames_own(const struct hwi_named_frames *frames, uint32_t first, uint32_t last)
{
  bool has_nameless = false;
  for (uint32_t i = first; i < last; i++) {
    const struct hwi_symbol *symbol = frames->items[i].symbol;
    if (!symbol || symbol->reason == HWI_SYMBOL_DATA)
      break; /* it may belong to any code */
    if (!symbol->function && !is_in(frames, i, hwi_rules_library_modules))
      break;
    if (symbol->function && !matches(frames, hwi_rules_libraries, symbol->function))
      return has_nameless && is_in(frames, i, hwi_rules_start_modules) ? first
                                                                       : i; /* the loader only starts the program */
    has_nameless |= !symbol->function;
  }
  return first;
}

uint32_t hwi_named_frames_nearest(const struct hwi_named_frames *frames, uint32_t first, uint32_t last)
{
  const uint32_t own = hwi_named_frames_own(frames, first, last);
  for (uint32_t i = own; i < last; i++) {
    const struct hwi_symbol *symbol = frames->items[i].symbol;
    if (symbol && symbol->function && !matches(frames, hwi_rules_libraries, symbol->function) &&
        !is_in(frames, i, hwi_rules_library_modules))
      return i;
  }
  return own;
}

bool hwi_named_frames_are_runtime(const struct hwi_named_frames *frames)
{
  uint32_t first, last;
  hwi_named_frames_trim(frames, &first, &last);
  if (first == last)
    return false;
  const struct hwi_shown_frame *allocator = &frames->items[first];
  if (matches(frames, hwi_rules_runtime, hwi_module_path(frames->profile, allocator->module)))
    return true;
  if (allocator->symbol && allocator->symbol->function &&
      matches(frames, hwi_rules_runtime, plain_name(allocator->symbol)))
    return true;
  for (uint32_t i = 0; i < frames->count; i++) {
    if (!matches(frames, hwi_rules_runtime_modules, hwi_module_path(frames->profile, frames->items[i].module)))
      return false;
  }
  return true;
}
