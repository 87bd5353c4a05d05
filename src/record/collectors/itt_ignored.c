/* itt_ignored.c - notes which functions of ITT that say nothing about memory the program calls
 *
 * A function cannot know by which name it was called, so that each name has a function of its own.
 */
#include "record/collectors/itt_ignored.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "record/events/stream.h"
#include "record/session.h"

enum { IGNORED_MAX = 256 };

static struct {
  const char *name;
  atomic_bool is_noted;
} ignored[IGNORED_MAX];

static __attribute__((noinline)) uintptr_t note(unsigned number)
{
  if (atomic_exchange(&ignored[number].is_noted, true))
    return 0;
  const uint8_t kind = HW_NOTE_IGNORED;
  const char *name = ignored[number].name;
  struct hwi_lane *lane = hwi_stream_enter((uintptr_t)__builtin_frame_address(0));
  if (!lane)
    return 0;
  hwi_lane_put_record(lane, HW_RECORD_NOTE, (struct hwi_bytes){&kind, 1},
                      (struct hwi_bytes){name, (uint32_t)strlen(name)});
  hwi_stream_leave(lane);
  return 0;
}

/* clang-format off */
#define ONE(n) static uintptr_t ignored_##n(void) { return note(0x##n); }
#define LISTED(n) ignored_##n,
#define SIXTEEN(each, n) \
  each(n##0) each(n##1) each(n##2) each(n##3) each(n##4) each(n##5) each(n##6) each(n##7) \
  each(n##8) each(n##9) each(n##A) each(n##B) each(n##C) each(n##D) each(n##E) each(n##F)
#define ALL(each) \
  SIXTEEN(each, 0) SIXTEEN(each, 1) SIXTEEN(each, 2) SIXTEEN(each, 3) SIXTEEN(each, 4) SIXTEEN(each, 5) \
  SIXTEEN(each, 6) SIXTEEN(each, 7) SIXTEEN(each, 8) SIXTEEN(each, 9) SIXTEEN(each, A) SIXTEEN(each, B) \
  SIXTEEN(each, C) SIXTEEN(each, D) SIXTEEN(each, E) SIXTEEN(each, F)
/* clang-format on */

ALL(ONE)
static uintptr_t (*const functions[IGNORED_MAX])(void) = {ALL(LISTED)};

void (*hwi_itt_ignored(const char *name))(void)
{
  static atomic_uint count;
  if (!hwi_session.options.itt_verbose)
    return NULL;
  for (unsigned i = 0; i < IGNORED_MAX && i < atomic_load(&count); i++) /* several static parts have the same names */
    if (ignored[i].name && strcmp(ignored[i].name, name) == 0)
      return (void (*)(void))functions[i];
  const unsigned number = atomic_fetch_add(&count, 1);
  if (number >= IGNORED_MAX)
    return NULL;
  ignored[number].name = name;
  return (void (*)(void))functions[number];
}
