/* frames.c - frames as JSON, with a cache: each frame is rendered once */
#include "report/json/frames.h"

#include <inttypes.h>
#include <stdlib.h>

#include "report/words/line.h"

enum { SLOTS_MIN = 4096 };

struct hwi_json_frame_slot {
  uint64_t address;
  uint32_t module;
  char *text; /* NULL: the slot is free */
};

int hwi_json_frames_init(struct hwi_json_frames *cache, const struct hwi_named_frames *frames, struct hwi_error *error)
{
  *cache = (struct hwi_json_frames){.frames = frames};
  cache->rendered = calloc((size_t)frames->profile->frame_count + 1, sizeof *cache->rendered);
  cache->slots = calloc(SLOTS_MIN, sizeof *cache->slots);
  cache->slot_count = SLOTS_MIN;
  if (cache->rendered && cache->slots)
    return HW_OK;
  hwi_json_frames_release(cache);
  return hwi_error_set(error, HW_ERR_MEMORY, "no memory for %u frames", frames->profile->frame_count);
}

void hwi_json_frames_release(struct hwi_json_frames *cache)
{
  for (size_t i = 0; i < cache->text_count; i++)
    free(cache->texts[i]);
  free(cache->texts);
  free(cache->rendered);
  free(cache->slots);
  *cache = (struct hwi_json_frames){0};
}

/* --- rendering --- */

static bool add_member(struct hwi_line *line, const char *key, const char *value)
{
  char *quoted = hwi_json_quoted(value);
  if (!quoted)
    return false;
  hwi_line_printf(line, "\"%s\":%s,", key, quoted);
  free(quoted);
  return true;
}

static bool render_symbol(struct hwi_line *line, const struct hwi_symbol *symbol, const struct hwi_frame *frame,
                          const char *module)
{
  hwi_line_puts(line, "{");
  if (!add_member(line, "function", symbol->function) || !add_member(line, "file", symbol->file))
    return false;
  if (symbol->line > 0)
    hwi_line_printf(line, "\"line\":%" PRIu32 ",", symbol->line);
  else
    hwi_line_puts(line, "\"line\":null,");
  if (symbol->start != 0)
    hwi_line_printf(line, "\"function_start\":%" PRIu64 ",", symbol->start);
  if (!add_member(line, "module", frame->module != 0 ? module : NULL))
    return false;
  if (symbol->inlined)
    hwi_line_puts(line, "\"inlined\":true,");
  if (symbol->reason != HWI_SYMBOL_OK &&
      !add_member(line, "reason", hwi_symbol_reason_text((enum hwi_symbol_reason)symbol->reason)))
    return false;
  hwi_line_printf(line, "\"address\":%" PRIu64 "}", frame->address);
  return true;
}

/* Returns the text of a frame, which the caller frees; NULL if there is no memory. */
static char *render(const struct hwi_named_frames *frames, uint32_t at)
{
  const struct hwi_frame *frame = &frames->profile->frames[at];
  struct hwi_line line = {0};
  const struct hwi_symbol *symbols;
  uint32_t count = hwi_named_frames_find(frames, at, &symbols);
  bool rendered = true;
  if (frame->cut)
    hwi_line_printf(
        &line,
        "{\"function\":null,\"file\":null,\"line\":null,\"module\":null,\"address\":0,\"frames_left_out\":%" PRIu64 "}",
        frame->address);
  for (uint32_t i = 0; i < count && rendered && !frame->cut; i++) {
    hwi_line_puts(&line, i > 0 ? "," : "");
    rendered = render_symbol(&line, &symbols[i], frame, hwi_module_path(frames->profile, frame->module));
  }
  if (rendered && !line.failed)
    return line.text;
  hwi_line_release(&line);
  return NULL;
}

/* --- the cache --- */

static size_t slot_of(const struct hwi_json_frames *cache, uint64_t address, uint32_t module)
{
  uint64_t hash = (address ^ ((uint64_t)module << 48)) * UINT64_C(0x9e3779b97f4a7c15);
  size_t at = (size_t)(hash ^ hash >> 32) & (cache->slot_count - 1);
  while (cache->slots[at].text && (cache->slots[at].address != address || cache->slots[at].module != module))
    at = (at + 1) & (cache->slot_count - 1);
  return at;
}

static bool grow_slots(struct hwi_json_frames *cache)
{
  if (cache->text_count * 2 < cache->slot_count)
    return true;
  struct hwi_json_frame_slot *old = cache->slots;
  size_t old_count = cache->slot_count;
  cache->slots = calloc(old_count * 2, sizeof *cache->slots);
  if (!cache->slots) {
    cache->slots = old;
    return false;
  }
  cache->slot_count = old_count * 2;
  for (size_t i = 0; i < old_count; i++) {
    if (old[i].text)
      cache->slots[slot_of(cache, old[i].address, old[i].module)] = old[i];
  }
  free(old);
  return true;
}

static bool keep_text(struct hwi_json_frames *cache, char *text)
{
  if (cache->text_count == cache->text_room) {
    size_t room = cache->text_room > 0 ? cache->text_room * 2 : SLOTS_MIN;
    char **texts = realloc(cache->texts, room * sizeof *texts);
    if (!texts)
      return false;
    cache->texts = texts;
    cache->text_room = room;
  }
  cache->texts[cache->text_count++] = text;
  return true;
}

static char *find_text(struct hwi_json_frames *cache, uint32_t at)
{
  const struct hwi_frame *frame = &cache->frames->profile->frames[at];
  if (!grow_slots(cache))
    return NULL;
  uint32_t module = frame->cut ? UINT32_MAX : frame->module; /* the address of frames left out is a count */
  size_t slot = slot_of(cache, frame->address, module);
  if (cache->slots[slot].text)
    return cache->slots[slot].text;
  char *text = render(cache->frames, at);
  if (!text || !keep_text(cache, text)) {
    free(text);
    return NULL;
  }
  cache->slots[slot] = (struct hwi_json_frame_slot){frame->address, module, text};
  return text;
}

void hwi_json_frames_write(struct hwi_json_frames *cache, struct hwi_json *json, uint32_t stack)
{
  const struct hwi_profile *profile = cache->frames->profile;
  for (uint32_t at = profile->stacks[stack].frame; at != 0; at = profile->frames[at].caller) {
    if (!cache->rendered[at])
      cache->rendered[at] = find_text(cache, at);
    if (!cache->rendered[at])
      json->failed = true;
    else
      hwi_json_raw(json, cache->rendered[at]);
  }
}

static void write_stack(void *context, struct hwi_json *json, uint32_t stack)
{
  hwi_json_begin_array(json, "stack");
  hwi_json_frames_write(context, json, stack);
  hwi_json_end_array(json);
}

struct hwi_json_stacks hwi_json_stacks_by_frames(struct hwi_json_frames *cache)
{
  return (struct hwi_json_stacks){write_stack, cache};
}
