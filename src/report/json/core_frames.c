/* core_frames.c - frames of a core dump's threads and recorder, as the frames of a stack */
#include "report/json/core_frames.h"

#include "report/json/frames.h"

static void write_raw(struct hwi_json *json, struct hwi_line *line)
{
  json->failed |= line->failed;
  if (!line->failed)
    hwi_json_raw(json, hwi_line_text(line));
  hwi_line_release(line);
}

void hwi_json_core_frame(struct hwi_json *json, const struct hwi_core_names *names,
                         const struct hwi_thread_frame *frame)
{
  const struct hwi_core_module *module;
  const struct hwi_symbol *symbols;
  const uint32_t count = hwi_core_names_code(names, frame->address, frame->is_return, &module, &symbols);
  for (uint32_t i = 0; i < count; i++) {
    struct hwi_line line = {0};
    json->failed |= !hwi_json_frame_add(&line, &symbols[i], module ? module->path : NULL, frame->address);
    write_raw(json, &line);
  }
}

void hwi_json_core_frames_left_out(struct hwi_json *json, uint64_t count)
{
  struct hwi_line line = {0};
  hwi_json_frames_left_out_add(&line, count);
  write_raw(json, &line);
}
