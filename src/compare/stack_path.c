/* stack_path.c - what makes stacks of two runs the same stack */
#include "compare/stack_path.h"

#include <stdlib.h>

#include "trace/grow.h"

/* An ID shared by many frames does not show a loop, unless it repeats at once. */
static void append(struct hwi_stack_paths *path, uint32_t number, bool vague)
{
  size_t at = path->count;
  if (vague && at > 0 && path->numbers[at - 1] == number)
    return;
  for (size_t i = at; i-- > 0 && !vague;) {
    if (path->numbers[i] == number) {
      path->count = i + 1;
      return;
    }
  }
  path->numbers[at] = number;
  path->vague[at] = vague;
  path->count = at + 1;
}

bool hwi_stack_path_make(struct hwi_stack_paths *path, int side, uint32_t stack, bool loose)
{
  struct hwi_named_frames *frames = path->frames[side];
  if (hwi_named_frames_load(frames, stack, path->error) < 0)
    return false;
  uint32_t first, last;
  hwi_named_frames_trim(frames, &first, &last);
  path->count = 0;
  if (!hwi_grow((void **)&path->numbers, &path->numbers_room, (size_t)frames->count + 1, sizeof *path->numbers) ||
      !hwi_grow((void **)&path->vague, &path->vague_room, (size_t)frames->count + 1, sizeof *path->vague))
    return false;
  for (uint32_t i = last; i-- > first;) {
    struct hwi_identity identity;
    if (!hwi_identities_find(path->identities, side, &frames->items[i], &identity))
      return false;
    append(path, loose ? identity.loose : identity.strict, identity.vague);
  }
  return true;
}

void hwi_stack_paths_release(struct hwi_stack_paths *path)
{
  free(path->numbers);
  free(path->vague);
}
