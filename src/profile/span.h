/* span.h - how far a replay has come in relation to its span, the part of the run that is reported
 *
 * before     the span has not begun: all events are replayed, because the blocks that are live at its start must be
 *            known.
 * within     events are counted.
 * after      the span is over: no event is applied any more, so that the live blocks are those at its end.
 */
#ifndef HWI_PROFILE_SPAN_H
#define HWI_PROFILE_SPAN_H

#include "profile/profile.h"

enum hwi_span_phase {
  HWI_PHASE_BEFORE = 0,
  HWI_PHASE_WITHIN,
  HWI_PHASE_AFTER,
};

/* Returns the time at which a later phase begins: an event at that time belongs to it. UINT64_MAX: there is no later
 * phase. */
static inline uint64_t hwi_span_phase_end_ns(const struct hwi_span *span, enum hwi_span_phase phase)
{
  if (span->kind == HWI_SPAN_RUN || phase == HWI_PHASE_AFTER)
    return UINT64_MAX;
  if (phase == HWI_PHASE_WITHIN)
    return span->kind == HWI_SPAN_MOMENT ? 0 : span->to_ns;
  return span->kind == HWI_SPAN_MOMENT ? span->from_ns + 1 : span->from_ns;
}

/* Returns an image's figures at the start of the span: nothing is counted, `bytes` in `blocks` are live. */
static inline struct hwi_totals hwi_totals_restart(uint64_t blocks, uint64_t bytes)
{
  return (struct hwi_totals){.live_blocks_at_start = blocks,
                             .live_bytes_at_start = bytes,
                             .live_blocks_at_end = blocks,
                             .live_bytes_at_end = bytes};
}

#endif
