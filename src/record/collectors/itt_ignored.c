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

#define ONE(n)                       \
  static uintptr_t ignored_##n(void) \
  {                                  \
    return note(0x##n);              \
  }
#define SIXTEEN(do, n)                                                                                          \
  do                                                                                                            \
  (n##0) do(n##1) do(n##2) do(n##3) do(n##4) do(n##5) do(n##6) do(n##7) do(n##8) do(n##9) do(n##A) do(n##B) do( \
      n##C) do(n##D) do(n##E) do(n##F)
#define ALL(do)                                                                                            \
  SIXTEEN(do, 0)                                                                                           \
  SIXTEEN(do, 1)                                                                                           \
  SIXTEEN(do, 2) SIXTEEN(do, 3) SIXTEEN(do, 4) SIXTEEN(do, 5) SIXTEEN(do, 6) SIXTEEN(do, 7) SIXTEEN(do, 8) \
      SIXTEEN(do, 9) SIXTEEN(do, A) SIXTEEN(do, B) SIXTEEN(do, C) SIXTEEN(do, D) SIXTEEN(do, E) SIXTEEN(do, F)
#define LISTED(n) ignored_##n,

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
