/* identity.h - what makes frames of two runs the same frame
 *
 * Addresses differ from run to run, lines from commit to commit, folders from build to build, and a library's file name from
 * version to version. What stays is the function's name, the last component of its source file, and the name of its module
 * up to ".so". A frame is known by two numbers that both runs share:
 *
 * strict     function, file and module.
 * loose      the function alone, without parameters, template arguments and return type: it survives a changed signature, and
 *            a move to another file or library.
 * vague      the frame has no name. It is known by its module and offset where both runs had the same build of it (by
 *            build-id), else by its module alone: then many frames share the number.
 */
#ifndef HWI_COMPARE_IDENTITY_H
#define HWI_COMPARE_IDENTITY_H

#include "compare/intern.h"
#include "report/names/named_frames.h"

#define HWI_PROGRAM_NAME \
  "the program" /* of the module that is the program itself, and of the thread that has its name */

struct hwi_identity {
  uint32_t strict, loose;
  bool vague;
};

struct hwi_identity_slot; /* private */

/* The modules and symbols of one run, with their numbers. */
struct hwi_identity_side {
  const struct hwi_named_frames *frames;
  char **module_names;             /* by module of the profile: without folder and version, or HWI_PROGRAM_NAME */
  bool *same_build;                /* ... the other run has it in the same build */
  struct hwi_identity_slot *slots; /* by symbol and module: what was asked before */
  size_t slot_count, used;
};

struct hwi_identities {
  struct hwi_intern names;
  struct hwi_identity_side sides[2];
};

/* `frames`: of both runs; borrowed, as their profiles are. To be released, even after a failure. */
int hwi_identities_init(struct hwi_identities *identities, const struct hwi_named_frames *const frames[2],
                        struct hwi_error *error);
void hwi_identities_release(struct hwi_identities *identities);

/* False: no memory. */
bool hwi_identities_find(struct hwi_identities *identities, int side, const struct hwi_shown_frame *frame,
                         struct hwi_identity *identity);

/* The number of any text, from the same space. 0: no memory. */
uint32_t hwi_identities_text(struct hwi_identities *identities, const char *kind, const char *text);

#endif
