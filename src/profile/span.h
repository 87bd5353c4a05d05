/* span.h - where a replay stands to the part of the run that it is to tell of
 *
 * before     the span begins later: all is replayed, since what is live at its start must be known.
 * within     counted.
 * after      the span is over: nothing is applied any more, so that what is live is what was live at its end.
 */
#ifndef HWI_PROFILE_SPAN_H
#define HWI_PROFILE_SPAN_H

#include "profile/profile.h"

enum hwi_span_phase {
  HWI_PHASE_BEFORE = 0,
  HWI_PHASE_WITHIN,
  HWI_PHASE_AFTER,
};

/* An event of that time belongs to a later phase. UINT64_MAX: none does. */
static inline uint64_t hwi_span_phase_end_ns(const struct hwi_span *span, enum hwi_span_phase phase)
{
  if (span->kind == HWI_SPAN_RUN || phase == HWI_PHASE_AFTER)
    return UINT64_MAX;
  if (phase == HWI_PHASE_WITHIN)
    return span->kind == HWI_SPAN_MOMENT ? 0 : span->to_ns;
  return span->kind == HWI_SPAN_MOMENT ? span->from_ns + 1 : span->from_ns;
}

/* An image's figures at the start of the span: nothing counted, `bytes` in `blocks` live. */
static inline struct hwi_totals hwi_totals_restart(uint64_t blocks, uint64_t bytes)
{
  return (struct hwi_totals){.live_blocks_at_start = blocks,
                             .live_bytes_at_start = bytes,
                             .live_blocks_at_end = blocks,
                             .live_bytes_at_end = bytes};
}

#endif
