/* frames.c - frames as JSON, with a cache: each frame is rendered once */
#include "report/json/frames.h"

#include <inttypes.h>
#include <stdlib.h>

#include "trace/grow.h"

int hwi_json_frames_init(struct hwi_json_frames *cache, const struct hwi_named_frames *frames, struct hwi_error *error)
{
  *cache = (struct hwi_json_frames){.frames = frames};
  cache->rendered = calloc((size_t)frames->profile->frame_count + 1, sizeof *cache->rendered);
  if (cache->rendered)
    return HW_OK;
  return hwi_error_set(error, HW_ERR_MEMORY, "no memory for %u frames", frames->profile->frame_count);
}

void hwi_json_frames_release(struct hwi_json_frames *cache)
{
  for (size_t i = 0; i < cache->text_capacity; i++)
    free(cache->texts[i]);
  free(cache->texts);
  free(cache->rendered);
  hwi_numbering_release(&cache->numbers);
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

bool hwi_json_frame_add(struct hwi_line *line, const struct hwi_symbol *symbol, const char *module, uint64_t address)
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
  if (!add_member(line, "module", module))
    return false;
  if (symbol->inlined)
    hwi_line_puts(line, "\"inlined\":true,");
  if (symbol->reason != HWI_SYMBOL_OK &&
      !add_member(line, "reason", hwi_symbol_reason_text((enum hwi_symbol_reason)symbol->reason)))
    return false;
  hwi_line_printf(line, "\"address\":%" PRIu64 "}", address);
  return true;
}

void hwi_json_frames_left_out_add(struct hwi_line *line, uint64_t count)
{
  hwi_line_printf(
      line,
      "{\"function\":null,\"file\":null,\"line\":null,\"module\":null,\"address\":0,\"frames_left_out\":%" PRIu64 "}",
      count);
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
    hwi_json_frames_left_out_add(&line, frame->address);
  for (uint32_t i = 0; i < count && rendered && !frame->cut; i++) {
    hwi_line_puts(&line, i > 0 ? "," : "");
    rendered =
        hwi_json_frame_add(&line, &symbols[i],
                           frame->module != 0 ? hwi_module_path(frames->profile, frame->module) : NULL, frame->address);
  }
  if (rendered && !line.failed)
    return line.text;
  hwi_line_release(&line);
  return NULL;
}

/* --- the cache --- */

/* Returns NULL if there is no memory. */
static char *find_text(struct hwi_json_frames *cache, uint32_t at)
{
  const struct hwi_frame *frame = &cache->frames->profile->frames[at];
  /* the address of frames left out is a count */
  uint32_t number = hwi_numbering_of(&cache->numbers, frame->address, frame->cut ? UINT64_MAX : frame->module);
  if (!number || !hwi_grow((void **)&cache->texts, &cache->text_capacity, (size_t)number + 1, sizeof *cache->texts))
    return NULL;
  if (!cache->texts[number])
    cache->texts[number] = render(cache->frames, at);
  return cache->texts[number];
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
