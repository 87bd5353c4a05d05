/* frame_columns.c - writes and reads a summary's tree of frames and its modules
 *
 * place    all of a frame except its caller. A run has a million frames at some ten thousand places, so each place is
 *          stored once, and each frame has the number of its place.
 * back     how far before a frame its caller is: usually it is the frame just before, because the frames of a new stack
 *          are added together, callers first.
 */
#include "profile/columns/frame_columns.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "trace/grow.h"
#include "trace/numbering.h"
#include "trace/table.h"

static const struct hwi_field module_fields[] = {
    HWI_FIELDS(struct hwi_profile_module, build_id),  HWI_FIELD(struct hwi_profile_module, build_id_bytes),
    HWI_NEAR_FIELD(struct hwi_profile_module, start), HWI_NEAR_FIELD(struct hwi_profile_module, end),
    HWI_NEAR_FIELD(struct hwi_profile_module, bias),
};
_Static_assert(sizeof(void *) != sizeof(uint64_t) || sizeof(struct hwi_profile_module) == 14 * sizeof(uint64_t),
               "each field is above, but the names");
static const struct hwi_fields of_module = HWI_FIELDS_OF(struct hwi_profile_module, module_fields);

/* A place as it is stored; a frame's bit fields are separate fields here. */
struct place {
  uint64_t address;
  uint32_t module;
  uint8_t entry;
  bool cut;
};

static const struct hwi_field place_fields[] = {
    HWI_NEAR_FIELD(struct place, address),
    HWI_FIELD(struct place, module),
    HWI_FIELD(struct place, entry),
    HWI_BOOL_FIELD(struct place, cut),
};
_Static_assert(sizeof(struct hwi_frame) == 2 * sizeof(uint64_t), "each field is above, but the caller");
static const struct hwi_fields of_place = HWI_FIELDS_OF(struct place, place_fields);

/* A frame as it is stored. */
struct step {
  uint32_t place, back;
};

static const struct hwi_field step_fields[] = {HWI_FIELD(struct step, place), HWI_FIELD(struct step, back)};
static const struct hwi_fields of_step = HWI_FIELDS_OF(struct step, step_fields);

/* Places, as frames whose caller is 0. Place 0 is that of frame 0, which is not a frame. */
struct places {
  struct hwi_frame *list;
  size_t count, room;
  struct hwi_numbering numbers;
};

static const struct hwi_field text_fields[] = {{0, 1, HWI_FIELD_ANY, false, 1}};
static const struct hwi_fields of_text = {text_fields, 1, 1};

/* --- modules --- */

static void pass_path(struct hwi_pass *pass, const char **path)
{
  size_t bytes = pass->writes ? strlen(*path) + 1 : 0;
  char *text = (char *)*path;
  hwi_pass_list(pass, &of_text, (void **)&text, &bytes, 1); /* the spare byte is a NUL after any text */
  *path = text;
}

static void pass_modules(struct hwi_pass *pass, struct hwi_frames *frames)
{
  hwi_pass_list(pass, &of_module, (void **)&frames->modules, &frames->module_count, 0);
  for (size_t i = 1; i < frames->module_count && pass->status == 0; i++)
    pass_path(pass, &frames->modules[i].path); /* `run_as` comes from the images */
}

static bool modules_are_sound(const struct hwi_frames *frames)
{
  for (size_t i = 0; i < frames->module_count; i++)
    if (frames->modules[i].build_id_bytes > sizeof frames->modules[i].build_id)
      return false;
  return frames->module_count > 0;
}

/* --- places --- */

static void write_places(struct hwi_pass *pass, const struct places *places)
{
  size_t count = places->count;
  struct place *list = calloc(count, sizeof *list);
  for (size_t i = 0; i < count && list; i++) {
    const struct hwi_frame *from = &places->list[i];
    list[i] = (struct place){from->address, from->module, from->entry, from->cut};
  }
  if (list)
    hwi_pass_list(pass, &of_place, (void **)&list, &count, 0);
  else
    hwi_pass_fail(pass, HW_ERR_MEMORY);
  free(list);
}

/* Copies the places to a list with room for them. Returns false if there are none, or if one has an invalid module. */
static bool take_places(struct places *places, const struct place *list, size_t count, size_t module_count)
{
  places->count = count;
  for (size_t i = 0; i < count; i++) {
    if (list[i].module >= module_count || list[i].module >= HWI_FRAME_MODULES_MOST)
      return false;
    places->list[i] = (struct hwi_frame){
        .address = list[i].address, .module = list[i].module, .entry = list[i].entry, .cut = list[i].cut};
  }
  return count > 0;
}

static void read_places(struct hwi_pass *pass, struct places *places, size_t module_count)
{
  struct place *list = NULL;
  size_t count = 0;
  hwi_pass_list(pass, &of_place, (void **)&list, &count, 0);
  places->list = calloc(count + 1, sizeof *places->list);
  if (!places->list)
    hwi_pass_fail(pass, HW_ERR_MEMORY);
  else if (pass->status == 0 && !take_places(places, list, count, module_count))
    hwi_pass_fail(pass, HW_ERR_DAMAGED);
  free(list);
}

/* --- writing --- */

/* Returns 0 if there is no memory. */
static uint32_t find_place(struct places *places, const struct hwi_frame *frame)
{
  uint32_t number = hwi_numbering_of(&places->numbers, frame->address,
                                     (uint64_t)frame->module << 32 | (uint64_t)frame->entry << 1 | frame->cut);
  if (number < places->count)
    return number;
  if (!hwi_grow((void **)&places->list, &places->room, places->count + 1, sizeof *places->list))
    return 0;
  places->list[places->count] = *frame;
  places->list[places->count++].caller = 0;
  return number;
}

/* `steps` has an item for each frame, all zero. */
static bool find_places(struct places *places, const struct hwi_frames *frames, struct step *steps)
{
  if (!steps || !hwi_grow((void **)&places->list, &places->room, 1, sizeof *places->list))
    return false;
  places->count = 1;
  for (size_t i = 1; i < frames->count; i++) {
    steps[i] = (struct step){find_place(places, &frames->frames[i]), (uint32_t)i - frames->frames[i].caller};
    if (!steps[i].place)
      return false;
  }
  return true;
}

static void write_frames(struct hwi_pass *pass, const struct hwi_frames *frames)
{
  struct places places = {0};
  uint64_t count = frames->count;
  struct step *steps = calloc(frames->count, sizeof *steps);
  if (find_places(&places, frames, steps)) {
    write_places(pass, &places);
    hwi_pass_number(pass, &count);
    hwi_pass_array(pass, &of_step, steps, frames->count);
  } else {
    hwi_pass_fail(pass, HW_ERR_MEMORY);
  }
  free(steps);
  free(places.list);
  hwi_numbering_release(&places.numbers);
}

/* --- reading --- */

/* Adds the next frames. Returns false if an index is out of range. */
static bool take_steps(struct hwi_frames *frames, const struct places *places, const struct step *steps, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    const size_t number = frames->count + i;
    if (steps[i].place >= places->count || steps[i].back > number || (steps[i].back == 0) != (number == 0))
      return false;
    frames->frames[number] = places->list[steps[i].place];
    frames->frames[number].caller = (uint32_t)number - steps[i].back;
  }
  frames->count += count;
  return true;
}

static void read_steps(struct hwi_pass *pass, struct hwi_frames *frames, const struct places *places)
{
  uint64_t count = 0;
  hwi_pass_number(pass, &count);
  if (count > pass->most_frames || count > UINT32_MAX)
    hwi_pass_fail(pass, HW_ERR_DAMAGED);
  if (pass->status)
    return;
  struct step *steps = malloc(HWI_PASS_GROUP_ITEMS * sizeof *steps);
  if (!steps || !hwi_table_grow((void **)&frames->frames, &frames->capacity, (size_t)count, sizeof *frames->frames))
    hwi_pass_fail(pass, HW_ERR_MEMORY);
  while (frames->count < count && pass->status == 0) {
    const size_t left = (size_t)count - frames->count, now = left < HWI_PASS_GROUP_ITEMS ? left : HWI_PASS_GROUP_ITEMS;
    memset(steps, 0, now * sizeof *steps);
    hwi_pass_array(pass, &of_step, steps, now);
    if (!take_steps(frames, places, steps, now))
      hwi_pass_fail(pass, HW_ERR_DAMAGED);
  }
  free(steps);
}

static void read_frames(struct hwi_pass *pass, struct hwi_frames *frames)
{
  struct places places = {0};
  if (pass->status == 0 && !modules_are_sound(frames))
    hwi_pass_fail(pass, HW_ERR_DAMAGED);
  read_places(pass, &places, frames->module_count);
  read_steps(pass, frames, &places);
  if (pass->status == 0 && frames->count == 0)
    hwi_pass_fail(pass, HW_ERR_DAMAGED);
  free(places.list);
}

/* --- both --- */

void hwi_pass_frames(struct hwi_pass *pass, struct hwi_frames *frames)
{
  pass_modules(pass, frames);
  if (pass->writes)
    write_frames(pass, frames);
  else
    read_frames(pass, frames);
}
