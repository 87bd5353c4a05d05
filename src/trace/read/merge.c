/* merge.c - merges the events of all streams into one order
 *
 * A binary heap holds the streams by the tick of their next event. A stretch of events is taken from the first stream,
 * up to the tick of the second one, so that the heap is updated once per stretch and not once per event; the last
 * stream left (or the only one) is decoded directly into the caller's array. A stream that is not decoded yet is in the
 * heap with a lower bound, so that a thousand idle threads cost no memory. If the next events of several streams have
 * the same tick, tick_order.c orders them. It gets the streams in the order of their numbers, so that every reading of
 * the trace gives the same order.
 *
 * A stream that is followed while it is written has only a preliminary end: more events may come from it, and those may
 * be older than events of other streams. When its last written event is decoded, merge->until is lowered to the
 * stream's horizon, and no event from that tick on is returned.
 */
#include "trace/read/merge.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* --- the heap --- */

static void sift_down(struct hwi_merge *merge, size_t at)
{
  struct hwi_merge_entry entry = merge->heap[at];
  for (;;) {
    size_t child = 2 * at + 1;
    if (child >= merge->heap_count)
      break;
    if (child + 1 < merge->heap_count && merge->heap[child + 1].key < merge->heap[child].key)
      child++;
    if (merge->heap[child].key >= entry.key)
      break;
    merge->heap[at] = merge->heap[child];
    at = child;
  }
  merge->heap[at] = entry;
}

/* Called for a stream that was removed from the heap because it has no more events, or none for now. */
static void drop(struct hwi_stream *stream)
{
  stream->is_in_heap = false;
  if (!stream->followed && !stream->open.is_open) {
    hwi_stream_release(stream);
    return;
  }
  free(stream->ready);
  stream->ready = NULL;
  stream->ready_count = stream->ready_at = 0;
}

static void push(struct hwi_merge *merge, struct hwi_stream *stream)
{
  if (hwi_stream_is_done(stream)) {
    drop(stream);
    return;
  }
  stream->is_in_heap = true;
  struct hwi_merge_entry entry = {hwi_stream_bound(stream), stream};
  size_t at = merge->heap_count++;
  while (at > 0 && merge->heap[(at - 1) / 2].key > entry.key) {
    merge->heap[at] = merge->heap[(at - 1) / 2];
    at = (at - 1) / 2;
  }
  merge->heap[at] = entry;
}

static struct hwi_stream *pop(struct hwi_merge *merge)
{
  struct hwi_stream *stream = merge->heap[0].stream;
  merge->heap[0] = merge->heap[--merge->heap_count];
  if (merge->heap_count)
    sift_down(merge, 0);
  return stream;
}

/* To be called when events were taken from the first entry's stream. */
static void update_first(struct hwi_merge *merge)
{
  struct hwi_stream *stream = merge->heap[0].stream;
  if (hwi_stream_is_done(stream)) {
    drop(pop(merge));
    return;
  }
  merge->heap[0].key = hwi_stream_bound(stream);
  sift_down(merge, 0);
}

/* Lowers merge->until to the stream's horizon. To be called when more of the stream was decoded. */
static void lower_until(struct hwi_merge *merge, const struct hwi_stream *stream)
{
  uint64_t horizon = hwi_stream_horizon(stream);
  if (horizon < merge->until)
    merge->until = horizon;
}

/* Returns the tick before which events of the first stream may be returned. */
static uint64_t stretch_limit(const struct hwi_merge *merge)
{
  uint64_t key = merge->until;
  if (merge->heap_count > 1 && merge->heap[1].key < key)
    key = merge->heap[1].key;
  if (merge->heap_count > 2 && merge->heap[2].key < key)
    key = merge->heap[2].key;
  return key;
}

/* --- set-up --- */

static size_t count_streams(const struct hwi_index *index)
{
  size_t count = 0;
  for (size_t i = 0; i < index->count; i++)
    count += i == 0 || index->pieces[i].stream != index->pieces[i - 1].stream;
  return count;
}

static bool resize(void **items, size_t count, size_t item_bytes)
{
  void *made = realloc(*items, count * item_bytes);
  *items = made ? made : *items;
  return made;
}

int hwi_merge_make_room(struct hwi_merge *merge, size_t stream_count)
{
  size_t room = 2 * merge->room > stream_count ? 2 * merge->room : stream_count + 1;
  if (stream_count < merge->room)
    return 0;
  if (!resize((void **)&merge->heap, room, sizeof *merge->heap) ||
      !resize((void **)&merge->group, room, sizeof *merge->group) ||
      !resize((void **)&merge->stretches, room, sizeof *merge->stretches))
    return HW_ERR_MEMORY;
  merge->room = room;
  return 0;
}

int hwi_merge_init(struct hwi_merge *merge, const struct hwi_index *index, uint64_t tick)
{
  size_t stream_count = count_streams(index);
  *merge = (struct hwi_merge){.stream_count = stream_count, .until = UINT64_MAX};
  merge->streams = calloc(stream_count + 1, sizeof *merge->streams);
  if (!merge->streams || hwi_merge_make_room(merge, stream_count) < 0) {
    hwi_merge_release(merge);
    return HW_ERR_MEMORY;
  }
  struct hwi_stream *stream = merge->streams;
  for (size_t first = 0, end; first < index->count; first = end) {
    for (end = first + 1; end < index->count && index->pieces[end].stream == index->pieces[first].stream;)
      end++;
    hwi_stream_init(stream, &index->pieces[first], end - first);
    stream->may_begin_late = index->from_tick != 0;
    hwi_stream_skip(stream, tick);
    /* Of what the base replaces, events are dropped, but no chunks are skipped: those of a sample have counts. */
    const uint64_t from_tick = hwi_index_from_tick(index, stream->number);
    stream->from_tick = from_tick > tick ? from_tick : tick;
    push(merge, stream++);
  }
  return 0;
}

void hwi_merge_resume(struct hwi_merge *merge, struct hwi_stream *stream)
{
  if (!stream->is_in_heap)
    push(merge, stream);
}

void hwi_merge_release(struct hwi_merge *merge)
{
  for (size_t i = 0; merge->streams && i < merge->stream_count; i++)
    hwi_stream_release(&merge->streams[i]);
  free(merge->streams);
  free(merge->heap);
  free(merge->group);
  free(merge->stretches);
  *merge = (struct hwi_merge){0};
}

/* The events that a call returns. `must_return`: the call returns these now, even if there is room for more. */
struct output {
  struct hwi_event *events;
  int count, max;
  bool must_return;
};

/* --- ties --- */

/* Takes every stream with a next event at `tick` out of the heap. */
static int gather(struct hwi_merge *merge, struct hwi_source *source, uint64_t tick)
{
  int count = 0;
  while (merge->heap_count && merge->heap[0].key <= tick) {
    struct hwi_stream *stream = merge->heap[0].stream;
    bool has_event = hwi_stream_fill(stream, source);
    lower_until(merge, stream);
    if (!has_event) {
      drop(pop(merge));
      continue;
    }
    if (stream->ready[stream->ready_at].tick > tick) { /* its key was only a lower bound */
      update_first(merge);
      continue;
    }
    int at = count++;
    for (; at > 0 && merge->group[at - 1].stream->number > stream->number; at--)
      merge->group[at] = merge->group[at - 1];
    merge->group[at].stream = pop(merge);
  }
  return count;
}

static int stretch_length(struct hwi_stream *stream, uint64_t tick)
{
  int end = stream->ready_at;
  while (end < stream->ready_count && stream->ready[end].tick <= tick)
    end++;
  return end - stream->ready_at;
}

/* Sets merge->stretches to the events of each gathered stream at `tick`. Returns their number. */
static int describe_stretches(struct hwi_merge *merge, struct hwi_source *source, int group_count, uint64_t tick)
{
  int total = 0;
  for (int i = 0; i < group_count; i++) {
    struct hwi_stream *stream = merge->group[i].stream;
    int count = stretch_length(stream, tick);
    if (stream->ready_at + count == stream->ready_count) {
      hwi_stream_top_up(stream, source);
      lower_until(merge, stream);
      count = stretch_length(stream, tick);
    }
    merge->stretches[i] = (struct hwi_tick_order_stretch){&stream->ready[stream->ready_at], count};
    total += count;
  }
  return total;
}

static int emit_stretches(struct hwi_merge *merge, int group_count, struct hwi_event *events)
{
  int total = 0;
  for (int i = 0; i < group_count; i++) {
    memcpy(events + total, merge->stretches[i].events, (size_t)merge->stretches[i].count * sizeof *events);
    total += merge->stretches[i].count;
  }
  return total;
}

/* How the events at one tick are returned. */
enum tie_way { TIE_ANY_ORDER, TIE_PART_OF_ONE, TIE_SEARCH, TIE_ONE_BY_ONE, TIE_LATER };

static enum tie_way choose_way(const struct hwi_merge *merge, int group_count, int event_count,
                               const struct output *out)
{
  bool small = event_count <= HWI_TICK_ORDER_MAX_EVENTS;
  int room = out->max - out->count;
  if (group_count == 1)
    return event_count <= room ? TIE_ANY_ORDER : TIE_PART_OF_ONE;
  if (small && !hwi_tick_order_matters(merge->stretches, group_count))
    return event_count <= room ? TIE_ANY_ORDER : TIE_LATER;
  if (out->count > 0) /* the order depends on the live blocks, and the caller has not applied these events yet */
    return TIE_LATER;
  return small ? TIE_SEARCH : TIE_ONE_BY_ONE;
}

/* Returns the events at `tick`, or the first of them, to the caller, or leaves them to the next call. */
static void emit_tie(struct hwi_merge *merge, struct hwi_source *source, uint64_t tick, struct output *out)
{
  int group_count = gather(merge, source, tick);
  int event_count = describe_stretches(merge, source, group_count, tick);
  struct hwi_event *to = out->events + out->count;
  int picked = 0;
  bool is_certain = tick < merge->until; /* otherwise more events may come at this tick */
  switch (!is_certain ? TIE_LATER : group_count ? choose_way(merge, group_count, event_count, out) : TIE_ANY_ORDER) {
  case TIE_PART_OF_ONE:
    merge->stretches[0].count = out->max - out->count;
    __attribute__((fallthrough));
  case TIE_ANY_ORDER:
    out->count += emit_stretches(merge, group_count, to);
    break;
  case TIE_SEARCH:
    out->count += hwi_tick_order_sort(merge->stretches, group_count, &merge->liveness, to);
    break;
  case TIE_ONE_BY_ONE:
    picked = hwi_tick_order_pick(merge->stretches, group_count, &merge->liveness);
    *to = merge->stretches[picked].events[0];
    out->count++;
    out->must_return = true;
    for (int i = 0; i < group_count; i++)
      merge->stretches[i].count = i == picked;
    break;
  case TIE_LATER:
    out->must_return = true;
    for (int i = 0; i < group_count; i++)
      merge->stretches[i].count = 0;
    break;
  }
  for (int i = 0; i < group_count; i++) {
    merge->group[i].stream->ready_at += merge->stretches[i].count;
    push(merge, merge->group[i].stream);
  }
}

/* --- stretches --- */

/* Returns events of the first stream to the caller, those that are older than `limit`. */
static void emit_stretch(struct hwi_merge *merge, uint64_t limit, struct output *out)
{
  struct hwi_stream *stream = merge->heap[0].stream;
  int count = 0, left = stream->ready_count - stream->ready_at, room = out->max - out->count;
  const struct hwi_event *from = &stream->ready[stream->ready_at];
  while (count < left && count < room && from[count].tick < limit)
    count++;
  memcpy(out->events + out->count, from, (size_t)count * sizeof *from);
  out->count += count;
  stream->ready_at += count;
  update_first(merge);
}

/* Returns events of the last stream in the heap to the caller. */
static void emit_last(struct hwi_merge *merge, struct hwi_source *source, struct output *out)
{
  struct hwi_stream *stream = merge->heap[0].stream;
  if (stream->ready_at < stream->ready_count) {
    emit_stretch(merge, UINT64_MAX, out);
    return;
  }
  int count = hwi_stream_next(stream, source, out->events + out->count, out->max - out->count);
  out->count += count;
  if (!count)
    drop(pop(merge));
}

/* Returns the tick from which ready events of the stream are held back, or UINT64_MAX. These are the events at the tick
 * of the last ready event: others at that tick may not be decoded yet, and the order of the events at one tick is
 * chosen for all of them together. */
static uint64_t ready_limit(struct hwi_merge *merge, struct hwi_source *source, struct hwi_stream *stream)
{
  if (!stream->followed || stream->cursor.at == stream->cursor.end)
    return UINT64_MAX;
  if (stream->ready[stream->ready_at].tick == stream->ready[stream->ready_count - 1].tick) {
    hwi_stream_top_up(stream, source);
    lower_until(merge, stream);
  }
  uint64_t first = stream->ready[stream->ready_at].tick, last = stream->ready[stream->ready_count - 1].tick;
  return stream->cursor.at == stream->cursor.end || first == last ? UINT64_MAX : last;
}

static void emit_first(struct hwi_merge *merge, struct hwi_source *source, struct output *out)
{
  struct hwi_stream *first = merge->heap[0].stream;
  bool has_event = hwi_stream_fill(first, source);
  lower_until(merge, first);
  if (!has_event) {
    drop(pop(merge));
    return;
  }
  uint64_t own_limit = ready_limit(merge, source, first), limit = stretch_limit(merge);
  uint64_t tick = first->ready[first->ready_at].tick;
  if (own_limit < limit)
    limit = own_limit;
  if (tick < limit)
    emit_stretch(merge, limit, out);
  else if (tick > merge->heap[0].key) /* the key was only a lower bound */
    update_first(merge);
  else if (tick < merge->until)
    emit_tie(merge, source, tick, out);
}

int hwi_merge_next(struct hwi_merge *merge, struct hwi_source *source, struct hwi_event *events, int max)
{
  struct output out = {.events = events, .max = max};
  while (merge->heap_count && merge->heap[0].key < merge->until && !source->status && !out.must_return &&
         max - out.count >= HWI_DECODE_MIN_ROOM) {
    if (merge->heap_count == 1 && !merge->heap[0].stream->followed && !merge->heap[0].stream->grows)
      emit_last(merge, source, &out);
    else
      emit_first(merge, source, &out);
  }
  return out.count;
}
