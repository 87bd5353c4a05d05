/* plan.h - the plan of a detour, and what the code for one CPU does for it; internal to this folder
 *
 * landing pad  the instruction at the beginning of a function that indirect calls may need (endbr64, bti c): it stays as it is
 */
#ifndef HWI_PLATFORM_CODE_PLAN_H
#define HWI_PLATFORM_CODE_PLAN_H

#include "platform/code.h"

/* Reasons why a detour is impossible, as hwi_code_plan returns them. */
#define HWI_PLAN_TOO_FAR "is too far from free memory"
#define HWI_PLAN_TOO_SHORT "is too short for a jump"
#define HWI_PLAN_OPEN_END "goes on in another function"
#define HWI_PLAN_IMMOVABLE "begins with an instruction that cannot be moved"
#define HWI_PLAN_UNKNOWN "has an instruction that is not known here"
#define HWI_PLAN_JUMPS_BACK "jumps back to its first instructions"

struct hwi_plan {
  struct hwi_code_detour *detour;
  const struct hwi_code_request *request;
  const uint8_t *begin; /* of what is replaced: the end of the landing pad */
  size_t used;          /* bytes of the room */
};

/* --- plan.c --- */

/* Appends to the room. */
void hwi_plan_put(struct hwi_plan *plan, const void *bytes, size_t count);

/* Returns the address of the next byte of the room. */
uintptr_t hwi_plan_place(const struct hwi_plan *plan);

/* Returns whether this is in the landing pad or in what a patch of `bytes` replaces, but not the function's first byte. To that a function
 * may jump, since it is then as a call of it. */
bool hwi_plan_is_replaced(const struct hwi_plan *plan, uintptr_t target, size_t bytes);

/* --- NAME.c --- */

/* Returns the length of the landing pad; 0: there is none. */
size_t hwi_plan_pad_bytes(const struct hwi_code_request *request);

/* Writes the entry, to which the patch jumps. */
void hwi_plan_put_entry(struct hwi_plan *plan);

/* Writes the original. Returns NULL, or why it is impossible; so do the next ones. */
const char *hwi_plan_put_original(struct hwi_plan *plan);

/* Looks for what jumps into the instructions that are replaced. */
const char *hwi_plan_check(const struct hwi_plan *plan, const uint8_t *code, size_t bytes);

const char *hwi_plan_put_patch(const struct hwi_plan *plan);

#endif
