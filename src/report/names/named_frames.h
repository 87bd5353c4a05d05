/* named_frames.h - names a stack's frames, including inlined ones, and chooses those that a text shows
 *
 * A recorded frame becomes one shown frame for each function inlined there, innermost first, as the compiler nested
 * them.
 */
#ifndef HWI_REPORT_NAMES_NAMED_FRAMES_H
#define HWI_REPORT_NAMES_NAMED_FRAMES_H

#include "base/base_name.h"
#include "report/report.h"

enum { HWI_HIDDEN_HELPERS_MAX = 2 }; /* frames without a name that belong to a known wrapper above them */

struct hwi_shown_frame {
  const struct hwi_symbol *symbol; /* NULL: the recorder left out `address` frames here (0: an unknown number) */
  uint64_t address;
  uint32_t module; /* of the profile; 0: none */
};

struct hwi_named_frames {
  const struct hwi_profile *profile;
  struct hwi_names names;
  struct hwi_symbol_module *modules; /* in the form that the symbolizer needs */
  struct hwi_shown_frame *items;     /* of the stack loaded last */
  uint32_t count, room;
  struct hwi_rule_match *matches; /* names that were compared with rules lately, since most stacks have the same ones */
};

/* `report` must outlive the frames. Returns 0 or HW_ERR_MEMORY. The caller releases it, also after a failure; once
 * is enough. Not for several threads at once: the symbolizer reads files during look-ups. */
int hwi_named_frames_init(struct hwi_named_frames *frames, const struct hwi_report *report, struct hwi_error *error);
void hwi_named_frames_release(struct hwi_named_frames *frames);

/* Names the frames of `stack`: `items` and `count` are then its frames, innermost first, until the next call.
 * Returns 0 or HW_ERR_MEMORY. */
int hwi_named_frames_load(struct hwi_named_frames *frames, uint32_t stack, struct hwi_error *error);

/* Adds a frame to `items`, for callers with frames of another origin. Returns false if there is no memory. */
bool hwi_named_frames_add(struct hwi_named_frames *frames, const struct hwi_shown_frame *frame);

/* Returns the number of functions at one recorded frame. *symbols gets them, innermost first; NULL if the recorder
 * left frames out there. */
uint32_t hwi_named_frames_find(const struct hwi_named_frames *frames, uint32_t frame,
                               const struct hwi_symbol **symbols);

/* The significant frames of the loaded ones are [*first, *last). Left out are the innermost functions that only pass
 * an allocation on, and the callers of main or of a thread's own function. At least one frame remains, if there is
 * any. */
void hwi_named_frames_trim(const struct hwi_named_frames *frames, uint32_t *first, uint32_t *last);

/* Returns the innermost frame of [first, last) that is not the standard library's; `first` if that is not known. */
uint32_t hwi_named_frames_own(const struct hwi_named_frames *frames, uint32_t first, uint32_t last);

/* Returns the same frame if it has a name, else its nearest caller that has one; the same frame if none has. */
uint32_t hwi_named_frames_nearest(const struct hwi_named_frames *frames, uint32_t first, uint32_t last);

/* Whether the loaded stack's blocks are the runtime's own (libc, libstdc++, loader). */
bool hwi_named_frames_are_runtime(const struct hwi_named_frames *frames);

/* A build ID in hexadecimal digits; "" for none. It is a struct so that the function can be used in an argument
 * list. */
struct hwi_build_id {
  char text[2 * sizeof((struct hwi_profile_module *)0)->build_id + 1];
};
struct hwi_build_id hwi_build_id_text(const struct hwi_profile_module *module);

/* Return a module's path, and the name that it was run as, else that of its file; "" for none. */
const char *hwi_module_path(const struct hwi_profile *profile, uint32_t module);
const char *hwi_module_name(const struct hwi_profile *profile, uint32_t module);

#endif
