/* frames.c - the tree of frames that all stacks of a profile share */
#include "profile/blocks/frames.h"

#include <stdlib.h>
#include <string.h>

#include "base/base_name.h"
#include "base/command_name.h"
#include "base/hash.h"
#include "base/loader_name.h"
#include "trace/grow.h"
#include "trace/table.h"

bool hwi_frames_init(struct hwi_frames *frames)
{
  *frames = (struct hwi_frames){.count = 1, .module_count = 1};
  return hwi_table_grow((void **)&frames->frames, &frames->capacity, 1, sizeof *frames->frames) &&
         hwi_table_grow((void **)&frames->links, &frames->links_capacity, 1, sizeof *frames->links) &&
         hwi_grow((void **)&frames->modules, &frames->module_capacity, 1, sizeof *frames->modules);
}

void hwi_frames_freeze(struct hwi_frames *frames)
{
  hwi_table_release(frames->links, frames->links_capacity * sizeof *frames->links);
  frames->links = NULL;
  frames->links_capacity = 0;
  hwi_hash_table_release(&frames->numbers);
}

void hwi_frames_drop_modules(struct hwi_frames *frames, size_t first)
{
  for (size_t i = first; i < frames->module_count; i++) {
    free((char *)frames->modules[i].path);
    free((char *)frames->modules[i].run_as);
  }
  if (frames->module_count > first)
    frames->module_count = first;
}

void hwi_frames_release(struct hwi_frames *frames)
{
  hwi_frames_drop_modules(frames, 1);
  free(frames->modules);
  hwi_frames_freeze(frames);
  hwi_table_release(frames->frames, frames->capacity * sizeof *frames->frames);
  *frames = (struct hwi_frames){0};
}

static uint32_t hash(const struct hwi_frame *frame)
{
  uint64_t key = frame->address ^ ((uint64_t)frame->caller << 32 | (uint64_t)frame->module << 9 |
                                   (uint64_t)frame->entry << 1 | frame->cut);
  return hwi_hash_number(key);
}

static bool same(const struct hwi_frame *a, const struct hwi_frame *b)
{
  return a->address == b->address && a->caller == b->caller && a->module == b->module && a->entry == b->entry &&
         a->cut == b->cut;
}

/* Returns 0 if there is no memory. */
static uint32_t add(struct hwi_frames *frames, const struct hwi_frame *frame)
{
  if (frames->count >= UINT32_MAX - 1 ||
      !hwi_table_grow((void **)&frames->frames, &frames->capacity, frames->count + 1, sizeof *frames->frames) ||
      !hwi_table_grow((void **)&frames->links, &frames->links_capacity, frames->count + 1, sizeof *frames->links))
    return 0;
  frames->frames[frames->count] = *frame;
  return (uint32_t)frames->count++;
}

/* For a frame whose caller has another first callee. Returns 0 if there is no memory. */
static uint32_t intern_further(struct hwi_frames *frames, const struct hwi_frame *frame)
{
  const struct hwi_hash_table *numbers = &frames->numbers;
  uint32_t tag = hash(frame);
  for (const struct hwi_hash_slot *at = hwi_hash_table_first(numbers, tag); at->number;
       at = hwi_hash_table_next(numbers, at))
    if (same(&frames->frames[at->number], frame))
      return at->number;
  uint32_t number = add(frames, frame);
  return number && hwi_hash_table_add(&frames->numbers, tag, number) ? number : 0;
}

uint32_t hwi_frames_intern(struct hwi_frames *frames, const struct hwi_frame *wanted)
{
  struct hwi_frame frame = *wanted;
  if (frame.module && !frame.cut)
    frame.address += frames->modules[frame.module].bias;
  uint32_t first = frames->links[frame.caller].first_callee;
  if (first)
    return same(&frames->frames[first], &frame) ? first : intern_further(frames, &frame);
  first = add(frames, &frame);
  frames->links[frame.caller].first_callee = first;
  return first;
}

uint32_t hwi_frames_intern_module(struct hwi_frames *frames, const struct hwi_module *module)
{
  for (size_t i = 1; i < frames->module_count; i++) {
    const struct hwi_profile_module *known = &frames->modules[i];
    if (known->build_id_bytes == module->build_id_bytes && !strcmp(known->path, module->path) &&
        !memcmp(known->build_id, module->build_id, module->build_id_bytes))
      return (uint32_t)i;
  }
  char *path = frames->module_count < HWI_FRAME_MODULES_MOST ? strdup(module->path) : NULL;
  if (!path || !hwi_grow((void **)&frames->modules, &frames->module_capacity, frames->module_count + 1,
                         sizeof *frames->modules)) {
    free(path);
    return 0;
  }
  struct hwi_profile_module *made = &frames->modules[frames->module_count];
  *made = (struct hwi_profile_module){.path = path, .start = module->start, .end = module->end, .bias = module->bias};
  made->build_id_bytes = module->build_id_bytes;
  memcpy(made->build_id, module->build_id, module->build_id_bytes);
  return (uint32_t)frames->module_count++;
}

/* --- the names under which programs were run --- */

/* The name under which a module was run so far. */
struct name {
  struct hwi_command_name run_as; /* empty: it was not run so far */
  bool is_one_of_several;
};

static void take_name(struct name *name, const char *command)
{
  struct hwi_command_name run_as = hwi_command_name(command);
  if (run_as.text[0] == '\0' || hwi_is_loader(run_as.text))
    return;
  if (name->run_as.text[0] != '\0' && strcmp(name->run_as.text, run_as.text) != 0)
    name->is_one_of_several = true;
  name->run_as = run_as;
}

static bool set_name(struct hwi_profile_module *module, const struct name *name)
{
  const char *run_as = name->run_as.text;
  if (*run_as == '\0' || name->is_one_of_several || strcmp(run_as, hwi_base_name(module->path)) == 0)
    return true;
  module->run_as = strdup(run_as);
  return module->run_as;
}

bool hwi_frames_name_programs(struct hwi_frames *frames, const struct hwi_image *images, size_t count)
{
  bool done = true;
  for (size_t i = 1; i < frames->module_count && done; i++) {
    struct hwi_profile_module *module = &frames->modules[i];
    struct name name = {.is_one_of_several = false};
    for (size_t k = 0; k < count; k++)
      if (images[k].counted && strcmp(images[k].info->exe, module->path) == 0)
        take_name(&name, images[k].info->command);
    done = set_name(module, &name);
  }
  return done;
}
