/* frames.c - the tree of frames that all stacks of a profile share */
#include "profile/frames.h"

#include <stdlib.h>
#include <string.h>

#include "profile/table.h"
#include "trace/grow.h"

enum { FIRST_SLOTS = 1024 };

bool hwi_frames_init(struct hwi_frames *frames)
{
  *frames = (struct hwi_frames){.count = 1, .module_count = 1, .slot_mask = FIRST_SLOTS - 1};
  frames->slots = calloc(FIRST_SLOTS, sizeof *frames->slots);
  return frames->slots && hwi_grow((void **)&frames->frames, &frames->capacity, 1, sizeof *frames->frames) &&
         hwi_grow((void **)&frames->stacks, &frames->stacks_capacity, 1, sizeof *frames->stacks) &&
         hwi_grow((void **)&frames->modules, &frames->module_capacity, 1, sizeof *frames->modules);
}

void hwi_frames_freeze(struct hwi_frames *frames)
{
  free(frames->stacks);
  free(frames->slots);
  frames->stacks = frames->slots = NULL;
}

void hwi_frames_release(struct hwi_frames *frames)
{
  for (size_t i = 1; i < frames->module_count; i++)
    free((char *)frames->modules[i].path);
  free(frames->modules);
  free(frames->frames);
  free(frames->stacks);
  free(frames->slots);
  *frames = (struct hwi_frames){0};
}

static size_t hash(const struct hwi_frame *frame)
{
  uint64_t key = frame->address ^ ((uint64_t)frame->caller << 32 | (uint64_t)frame->module << 9 |
                                   (uint64_t)frame->entry << 1 | frame->cut);
  key = (key ^ key >> 29) * UINT64_C(0xBF58476D1CE4E5B9);
  return (size_t)(key ^ key >> 32);
}

static bool same(const struct hwi_frame *a, const struct hwi_frame *b)
{
  return a->address == b->address && a->caller == b->caller && a->module == b->module && a->entry == b->entry &&
         a->cut == b->cut;
}

static bool grow_slots(struct hwi_frames *frames)
{
  size_t mask = frames->slot_mask * 2 + 1;
  uint32_t *slots = hwi_table_create((mask + 1) * sizeof *slots);
  if (!slots)
    return false;
  for (uint32_t number = 1; number < frames->count; number++) {
    size_t at = hash(&frames->frames[number]) & mask;
    while (slots[at])
      at = (at + 1) & mask;
    slots[at] = number;
  }
  free(frames->slots);
  frames->slots = slots;
  frames->slot_mask = mask;
  return true;
}

uint32_t hwi_frames_intern(struct hwi_frames *frames, const struct hwi_frame *wanted)
{
  struct hwi_frame frame = *wanted;
  if (frame.module && !frame.cut)
    frame.address += frames->modules[frame.module].bias;
  size_t at = hash(&frame) & frames->slot_mask;
  for (; frames->slots[at]; at = (at + 1) & frames->slot_mask)
    if (same(&frames->frames[frames->slots[at]], &frame))
      return frames->slots[at];
  if (frames->count >= UINT32_MAX - 1 ||
      !hwi_grow((void **)&frames->frames, &frames->capacity, frames->count + 1, sizeof *frames->frames) ||
      !hwi_grow((void **)&frames->stacks, &frames->stacks_capacity, frames->count + 1, sizeof *frames->stacks))
    return 0;
  uint32_t number = (uint32_t)frames->count++;
  frames->frames[number] = frame;
  frames->slots[at] = number;
  if (frames->count * 2 > frames->slot_mask && !grow_slots(frames))
    return 0;
  return number;
}

uint32_t hwi_frames_intern_module(struct hwi_frames *frames, const struct hwi_module *module)
{
  for (size_t i = 1; i < frames->module_count; i++) {
    const struct hwi_profile_module *known = &frames->modules[i];
    if (known->build_id_bytes == module->build_id_bytes && !strcmp(known->path, module->path) &&
        !memcmp(known->build_id, module->build_id, module->build_id_bytes))
      return (uint32_t)i;
  }
  char *path = strdup(module->path);
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
