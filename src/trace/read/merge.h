/* merge.h - merges the events of all streams into one order */
#ifndef HWI_TRACE_READ_MERGE_H
#define HWI_TRACE_READ_MERGE_H

#include "trace/read/stream.h"
#include "trace/read/tick_order.h"

/* A stream's place in the heap. `key` is the tick of its next event, or a lower bound if that is not decoded yet. */
struct hwi_merge_entry {
  uint64_t key;
  struct hwi_stream *stream;
};

struct hwi_merge {
  struct hwi_stream *streams;
  size_t stream_count;
  struct hwi_merge_entry *heap; /* by key, the smallest first */
  size_t heap_count;
  size_t room;    /* of heap, group and stretches */
  uint64_t until; /* events from this tick on are held back: older ones may still come from a followed stream */
  struct hwi_merge_entry *group; /* room for the streams with an event at the same tick */
  struct hwi_tick_order_stretch *stretches;
  struct hwi_liveness liveness;
};

/* Begins a merge of the index's pieces, which must outlive it, at the first event that is not older than `tick`.
 * Returns 0 or HW_ERR_MEMORY. */
int hwi_merge_init(struct hwi_merge *merge, const struct hwi_index *index, uint64_t tick);

/* Makes room for `stream_count` followed streams, in a merge that is all zero at first. The caller owns the streams.
 * Returns 0 or HW_ERR_MEMORY. */
int hwi_merge_make_room(struct hwi_merge *merge, size_t stream_count);

/* Puts a followed stream back into the merge, since it may have new events. */
void hwi_merge_resume(struct hwi_merge *merge, struct hwi_stream *stream);

void hwi_merge_release(struct hwi_merge *merge);

/* As hwi_trace_next. `max` is at least HWI_TICK_ORDER_MAX_EVENTS. With followed streams, 0 means that the next event
 * is not certain yet; all events before merge->until have then been returned. */
int hwi_merge_next(struct hwi_merge *merge, struct hwi_source *source, struct hwi_event *events, int max);

#endif
