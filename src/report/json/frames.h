/* frames.h - frames as JSON, with a cache: each frame is rendered once, since it can occur in thousands of stacks */
#ifndef HWI_REPORT_JSON_FRAMES_H
#define HWI_REPORT_JSON_FRAMES_H

#include "report/json/json.h"
#include "report/names/named_frames.h"
#include "report/words/line.h"
#include "trace/numbering.h"

struct hwi_json_frames {
  const struct hwi_named_frames *frames;
  char **rendered;              /* by frame of the profile; several refer to the same text */
  struct hwi_numbering numbers; /* of texts, by address and module */
  char **texts;                 /* [1, numbers.count]: all texts */
  size_t text_capacity;
};

/* `frames` must outlive the cache. Returns 0 or HW_ERR_MEMORY; after a failure there is nothing to release. */
int hwi_json_frames_init(struct hwi_json_frames *cache, const struct hwi_named_frames *frames, struct hwi_error *error);
void hwi_json_frames_release(struct hwi_json_frames *cache);

/* Adds the object of a frame: the symbol at an address of a module (NULL: none). Returns false if there is no memory. */
bool hwi_json_frame_add(struct hwi_line *line, const struct hwi_symbol *symbol, const char *module, uint64_t address);

/* The same of so many frames that are left out. */
void hwi_json_frames_left_out_add(struct hwi_line *line, uint64_t count);

/* Lists that are the same in several documents name their stacks with this: `write` adds members for `stack` to the
 * object begun last. */
struct hwi_json_stacks {
  void (*write)(void *context, struct hwi_json *json, uint32_t stack);
  void *context;
};

/* Names a stack by its frames: the array "stack". */
struct hwi_json_stacks hwi_json_stacks_by_frames(struct hwi_json_frames *cache);

/* Writes a stack's frames, innermost first, inlined ones included, as the items of the array begun last. */
void hwi_json_frames_write(struct hwi_json_frames *cache, struct hwi_json *json, uint32_t stack);

#endif
