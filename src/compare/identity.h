/* identity.h - finds the frames and stacks of two runs that are the same
 *
 * Addresses differ from run to run, lines from commit to commit, folders from build to build, and a library's file name
 * from version to version. The same in both runs are the function's name, the last component of its source file, and
 * the name of its module up to ".so". A frame has two IDs that both runs share:
 *
 * strict     function, file and module.
 * loose      the function alone, without parameters, template arguments and return type: it stays the same if the
 *            signature changes or the function moves to another file or library.
 * vague      the frame has no name. It is identified by its module and offset if both runs had the same build of the
 *            module (by build-id), else by the module alone: then many frames share the ID.
 *
 * A stack becomes a path of IDs, without frames that are not informative (hwi_named_frames_trim), and without loops:
 * from the outermost frame inwards, a frame that occurred before cuts the path back to its first occurrence. So a
 * recursion of any depth, and through any number of functions, gives the same path.
 */
#ifndef HWI_COMPARE_IDENTITY_H
#define HWI_COMPARE_IDENTITY_H

#include "report/names/named_frames.h"
#include "trace/numbering.h"
#include "trace/store.h"

#define HWI_PROGRAM_NAME \
  "the program" /* name of the program's own module, and of the thread that has the program's name */

struct hwi_identity {
  uint32_t strict, loose;
  bool vague;
};

/* The modules and symbols of one run, with their numbers. */
struct hwi_identity_side {
  const struct hwi_named_frames *frames;
  char **module_names;          /* by module of the profile: without folder and version, or HWI_PROGRAM_NAME */
  bool *same_build;             /* ... whether the other run has the same build */
  struct hwi_numbering numbers; /* of cached results, by symbol and module */
  struct hwi_identity *known;   /* [1, numbers.count]; loose is 0 if there was no memory */
  size_t capacity;
};

struct hwi_identities {
  struct hwi_store names;
  struct hwi_identity_side sides[2];
};

/* `frames` are of both runs; they and their profiles are borrowed. Release `identities` even after a failure. */
int hwi_identities_init(struct hwi_identities *identities, const struct hwi_named_frames *const frames[2],
                        struct hwi_error *error);
void hwi_identities_release(struct hwi_identities *identities);

/* Returns false if there is no memory. */
bool hwi_identities_find(struct hwi_identities *identities, int side, const struct hwi_shown_frame *frame,
                         struct hwi_identity *identity);

/* Returns the ID of a text, from the same number space, or 0 if there is no memory. */
uint32_t hwi_identities_text(struct hwi_identities *identities, const char *kind, const char *text);

/* --- stacks --- */

/* The caller sets the first members and zeroes the rest. The pointers are borrowed. */
struct hwi_stack_paths {
  struct hwi_identities *identities;
  struct hwi_named_frames *frames[2]; /* of both sides */
  struct hwi_error *error;
  uint32_t *numbers; /* of the latest path, outermost first */
  bool *vague;
  size_t count, numbers_room, vague_room;
};

/* Makes the path of a side's stack, from strict or loose IDs. Returns false if there is no memory. */
bool hwi_stack_path_make(struct hwi_stack_paths *path, int side, uint32_t stack, bool loose);
void hwi_stack_paths_release(struct hwi_stack_paths *path);

#endif
