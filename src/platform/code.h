/* code.h - leads the calls of a function elsewhere, by other code at its beginning
 *
 * detour    a jump at the beginning of a function, to a wrapper, which gets one argument more than the function
 * original  what the wrapper calls to do what the function did: a copy of the instructions that the jump replaces, and a
 *           jump to the rest of the function
 * room      memory near the function for both, which a jump reaches
 *
 * A detour is planned before anything is written. What cannot be moved without a doubt is refused, in words for the user.
 */
#ifndef HWI_PLATFORM_CODE_H
#define HWI_PLATFORM_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  HWI_CODE_ROOM_BYTES = 128,  /* of each detour, aligned to 16 */
  HWI_CODE_PATCH_BYTES = 8,   /* at most */
  HWI_CODE_BEYOND_BYTES = 16, /* that may be read after the end of a function */
  HWI_CODE_ARGUMENTS = 5,     /* of integers and pointers, which a function may have; the wrapper's own is the next */
};

struct hwi_code_request {
  const uint8_t *function; /* its code, whole and readable */
  size_t bytes;
  const uint8_t *cold; /* code that the compiler put elsewhere (NAME.cold); NULL: none */
  size_t cold_bytes;
  uintptr_t wrapper, argument;
  uintptr_t room; /* the address that the room will have */
};

struct hwi_code_detour {
  uint8_t room[HWI_CODE_ROOM_BYTES]; /* what the room must contain */
  uintptr_t original;                /* in it: called with the arguments of the function */
  uintptr_t patch_at;                /* in the function */
  uint8_t patch[HWI_CODE_PATCH_BYTES];
  size_t patch_bytes;
};

/* Returns NULL if there is code for it on this CPU, else why not, as in "its calls cannot be recorded: REASON". */
const char *hwi_code_obstacle(void);

/* Returns how far from one function of an allocator the room of all of them may be, in bytes: less than a jump reaches. */
size_t hwi_code_near_bytes(void);

/* Plans a detour, and writes nothing but *detour. Returns NULL, or why it is impossible, as in "the code of NAME REASON". The text
 * is static. */
const char *hwi_code_plan(struct hwi_code_detour *detour, const struct hwi_code_request *request);

/* Writes the patch. The pages with it must be writable. */
void hwi_code_write(const struct hwi_code_detour *detour);

/* To be called after code was written, before it runs. It must be readable. */
void hwi_code_sync(const void *start, size_t bytes);

#endif
