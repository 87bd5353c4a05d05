/* library.c - the library's constructor and destructor
 *
 * No event depends on them: events before the constructor and after the destructor are recorded as well.
 */
#include "platform/os.h"
#include "record/events/describe.h"
#include "record/events/stream.h"
#include "record/runtime/real.h"
#include "record/session.h"

/* The trace begins here at the latest: a program may enter a sandbox before its first allocation, and a program whose
 * calls cannot be seen makes no event at all. */
static __attribute__((constructor)) void library_begins(void)
{
  hwi_real_find();
  if (!hwi_real_is_loaded_late) /* otherwise a collector begins it, if the program has something for it */
    hwi_stream_begin();
}

static void put_exit(void)
{
  struct hwi_lane *lane = hwi_stream_enter((uintptr_t)__builtin_frame_address(0));
  if (!lane)
    return;
  hwi_describe_rss(lane, true);
  hwi_lane_put_record(lane, HW_RECORD_EXIT, (struct hwi_bytes){0}, (struct hwi_bytes){0});
  hwi_stream_leave(lane);
}

static __attribute__((destructor)) void library_ends(void)
{
  if (!atomic_load(&hwi_session.liveness->live) || !hwi_stream_self)
    return;
  hwi_stream_thread_ends(hwi_stream_self);
  put_exit();
  hwi_session_note_time();
  __atomic_store_n(&hwi_session.header->state, HW_STATE_EXITED, __ATOMIC_RELEASE);
}
