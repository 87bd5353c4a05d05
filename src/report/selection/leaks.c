/* leaks.c - the blocks that are live at the end but are not reported as leaks: the runtime's own, and suppressed ones */
#include "report/selection/leaks.h"

#include <stdlib.h>
#include <string.h>

#include "report/input/rules.h"
#include "report/input/text_file.h"
#include "trace/grow.h"

/* One line, ended by NUL and without blanks around it. */
static int add_line(struct hwi_suppressions *suppressions, const char *text, unsigned line, struct hwi_error *error)
{
  size_t pattern_bytes;
  if (*text == '\0' || *text == '#')
    return HW_OK;
  const char *pattern = hwi_pattern_of_rule(text, strlen(text), &pattern_bytes);
  if (!pattern)
    return hwi_error_set(error, HW_ERR_USAGE, "%s, line %u: '%.100s' is no 'leak:PATTERN'", suppressions->path, line,
                         text);
  if (!hwi_grow((void **)&suppressions->items, &suppressions->room, suppressions->count + 1,
                sizeof *suppressions->items))
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory for the suppressions of %s", suppressions->path);
  suppressions->items[suppressions->count++] = (struct hwi_suppression){.pattern = pattern, .line = line};
  return HW_OK;
}

int hwi_suppressions_read(struct hwi_suppressions *suppressions, const char *path, struct hwi_error *error)
{
  *suppressions = (struct hwi_suppressions){.path = path};
  int status = hwi_text_file_read(path, &suppressions->text, error);
  unsigned line = 0;
  for (char *at = suppressions->text, *next; at && status == HW_OK; at = next) {
    next = hwi_text_file_line(&at);
    status = add_line(suppressions, at, ++line, error);
  }
  return status;
}

void hwi_suppressions_release(struct hwi_suppressions *suppressions)
{
  free(suppressions->text);
  free(suppressions->items);
  *suppressions = (struct hwi_suppressions){0};
}

static bool matches(const struct hwi_suppression *suppression, const char *text)
{
  return text && *text != '\0' && hwi_pattern_matches(suppression->pattern, strlen(suppression->pattern), text);
}

static bool matches_stack(const struct hwi_suppression *suppression, const struct hwi_named_frames *frames)
{
  for (uint32_t i = 0; i < frames->count; i++) {
    const struct hwi_shown_frame *frame = &frames->items[i];
    if (frame->symbol && (matches(suppression, frame->symbol->function) || matches(suppression, frame->symbol->file) ||
                          matches(suppression, hwi_module_path(frames->profile, frame->module))))
      return true;
  }
  return false;
}

struct hwi_suppression *hwi_suppressions_find(const struct hwi_suppressions *suppressions,
                                              const struct hwi_named_frames *frames)
{
  for (size_t i = 0; i < suppressions->count; i++) {
    if (matches_stack(&suppressions->items[i], frames))
      return &suppressions->items[i];
  }
  return NULL;
}

bool hwi_suppressions_apply(const struct hwi_suppressions *suppressions, const struct hwi_named_frames *frames,
                            uint64_t blocks, uint64_t bytes)
{
  struct hwi_suppression *by = hwi_suppressions_find(suppressions, frames);
  if (!by)
    return false;
  by->stacks++;
  by->blocks += blocks;
  by->bytes += bytes;
  const struct hwi_suppression *end = suppressions->items + suppressions->count;
  for (struct hwi_suppression *other = by + 1; other < end; other++)
    other->is_late = other->is_late || (other->stacks == 0 && matches_stack(other, frames));
  return true;
}

/* --- the filter --- */

static bool is_suppressed(struct hwi_runtime_blocks *runtime, const struct hwi_amount *amount)
{
  if (!runtime->suppressions ||
      !hwi_suppressions_apply(runtime->suppressions, runtime->frames, amount->live_blocks, amount->live_bytes))
    return false;
  runtime->suppressed.live_blocks += amount->live_blocks;
  runtime->suppressed.live_bytes += amount->live_bytes;
  return true;
}

bool hwi_runtime_blocks_keep(void *context, uint32_t stack, const struct hwi_amount *amount)
{
  struct hwi_runtime_blocks *runtime = context;
  if (amount->live_blocks == 0)
    return false;
  if (hwi_named_frames_load(runtime->frames, stack, NULL) < 0)
    return true;
  if (!hwi_named_frames_are_runtime(runtime->frames))
    return !is_suppressed(runtime, amount);
  runtime->amount.live_blocks += amount->live_blocks;
  runtime->amount.live_bytes += amount->live_bytes;
  runtime->stack_count++;
  return false;
}
