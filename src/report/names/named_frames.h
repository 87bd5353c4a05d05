/* named_frames.h - a stack's frames with their names, inlined ones included, and which of them a text shows
 *
 * A recorded frame becomes one shown frame for each function inlined there, innermost first, as the compiler nested them.
 */
#ifndef HWI_REPORT_NAMES_NAMED_FRAMES_H
#define HWI_REPORT_NAMES_NAMED_FRAMES_H

#include "base/base_name.h"
#include "report/report.h"

enum { HWI_HIDDEN_HELPERS_MAX = 2 }; /* nameless frames below a known wrapper that belong to it */

struct hwi_shown_frame {
  const struct hwi_symbol *symbol; /* NULL: stands for `address` frames left out by the recorder (0: unknown number) */
  uint64_t address;
  uint32_t module; /* of the profile; 0: none */
};

struct hwi_named_frames {
  const struct hwi_profile *profile;
  struct hwi_names names;
  struct hwi_symbol_module *modules; /* as the symbolizer wants them */
  struct hwi_shown_frame *items;     /* of the stack asked for last */
  uint32_t count, room;
};

/* `report` must outlive the frames. HW_ERR_MEMORY. To be released, even after a failure; once is enough. Not for several threads
 * at once: the symbolizer behind the names reads files as it is asked. */
int hwi_named_frames_init(struct hwi_named_frames *frames, const struct hwi_report *report, struct hwi_error *error);
void hwi_named_frames_release(struct hwi_named_frames *frames);

/* Names the frames of `stack`: `items` and `count` are then its frames, innermost first, until the next call. HW_ERR_MEMORY. */
int hwi_named_frames_load(struct hwi_named_frames *frames, uint32_t stack, struct hwi_error *error);

/* Adds one to `items`, for frames that come from elsewhere. False: no memory. */
bool hwi_named_frames_add(struct hwi_named_frames *frames, const struct hwi_shown_frame *frame);

/* The functions at one recorded frame, innermost first; *symbols is NULL where the recorder left frames out. */
uint32_t hwi_named_frames_find(const struct hwi_named_frames *frames, uint32_t frame,
                               const struct hwi_symbol **symbols);

/* Of the loaded frames, those that say something: [*first, *last). Left out are, innermost, functions that only pass an
 * allocation on and, outermost, what lies below main or a thread's own function. One frame at least remains, if any. */
void hwi_named_frames_trim(const struct hwi_named_frames *frames, uint32_t *first, uint32_t *last);

/* Of [first, last) the innermost frame that is not the standard library's; `first` where that is not known. */
uint32_t hwi_named_frames_own(const struct hwi_named_frames *frames, uint32_t first, uint32_t last);

/* The same, or the nearest caller of it that has a name; the former where none has. */
uint32_t hwi_named_frames_nearest(const struct hwi_named_frames *frames, uint32_t first, uint32_t last);

/* Whether the loaded stack's block is one of the runtime's own (libc, libstdc++, loader). */
bool hwi_named_frames_are_runtime(const struct hwi_named_frames *frames);

/* In hexadecimal digits; "" for none. A struct, so that the function can be used in the middle of an argument list. */
struct hwi_build_id {
  char text[2 * sizeof((struct hwi_profile_module *)0)->build_id + 1];
};
struct hwi_build_id hwi_build_id_text(const struct hwi_profile_module *module);

const char *hwi_module_path(const struct hwi_profile *profile, uint32_t module); /* "" for none */
const char *hwi_module_name(const struct hwi_profile *profile,
                            uint32_t module); /* what it was run as, else its file's; "" for none */

#endif
