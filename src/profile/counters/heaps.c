/* heaps.c - the sums of the heaps that the program gives out itself, by name */
#include "profile/counters/heaps.h"

#include <stdlib.h>
#include <string.h>

#include "trace/grow.h"
#include "trace/numbering.h"

struct heap {
  struct hwi_heap shown;
  uint64_t live_blocks, live_bytes;   /* now, of images that go on */
  uint64_t ended_blocks, ended_bytes; /* live when their image ended, before the run did */
};

struct hwi_heap_tally {
  struct hwi_numbering numbers; /* of (name, 0) */
  struct heap *heaps;           /* [1, numbers.count] */
  size_t capacity;
  struct hwi_heap *published;
};

static struct heap *find(struct hwi_heap_tally *tally, uint32_t name)
{
  const uint32_t number = hwi_numbering_of(&tally->numbers, name, 0);
  if (!number || !hwi_grow((void **)&tally->heaps, &tally->capacity, (size_t)number + 1, sizeof *tally->heaps))
    return NULL;
  return &tally->heaps[number];
}

static void end_blocks(struct heap *heap, const struct hwi_resolved *event)
{
  heap->live_blocks -= event->block;
  heap->live_bytes -= event->usable;
}

static void note_peak(struct heap *heap, uint64_t ns)
{
  if (heap->live_bytes <= heap->shown.peak_bytes)
    return;
  heap->shown.peak_bytes = heap->live_bytes;
  heap->shown.peak_blocks = heap->live_blocks;
  heap->shown.peak_ns = ns;
}

static void begin_block(struct heap *heap, const struct hwi_resolved *event, uint64_t ns)
{
  heap->shown.allocation_calls++;
  heap->shown.allocated_bytes += event->size;
  heap->live_blocks++;
  heap->live_bytes += event->size;
  note_peak(heap, ns);
}

bool hwi_heap_tally_take(struct hwi_heap_tally **heaps, const struct hwi_replay_image *image,
                         const struct hwi_resolved *event, uint64_t ns)
{
  if (!*heaps && !(*heaps = calloc(1, sizeof **heaps)))
    return false;
  struct heap *heap = find(*heaps, (uint32_t)event->address);
  if (!heap)
    return false;
  struct hwi_heap *shown = &heap->shown;
  end_blocks(heap, event);
  switch (event->entry) {
  case HW_HEAP_CREATE:
    shown->created++;
    break;
  case HW_HEAP_ALLOC:
    shown->missed_frees += event->block;
    begin_block(heap, event, ns);
    break;
  case HW_HEAP_FREE:
    shown->free_calls++;
    shown->unmatched_frees += !event->block && !image->forked && !hwi_replay_image_was_paused(image, ns);
    break;
  case HW_HEAP_FAILED:
    shown->failed_calls++;
    break;
  default:
    shown->resets += event->entry == HW_HEAP_RESET;
    shown->destroyed += event->entry == HW_HEAP_DESTROY;
    shown->reset_blocks += event->block;
  }
  return true;
}

void hwi_heap_tally_end_image(struct hwi_heap_tally *tally, const struct hwi_replay_image *image)
{
  const struct hwi_heap_blocks *blocks = &image->heap_blocks;
  for (uint32_t i = 1; i <= blocks->heap_count; i++) {
    const struct hwi_block_heap *of = &blocks->heaps[i];
    const uint32_t number = hwi_numbering_find(&tally->numbers, of->name, 0);
    if (!number)
      continue;
    struct heap *heap = &tally->heaps[number];
    heap->live_blocks -= of->live_blocks;
    heap->live_bytes -= of->live_bytes;
    heap->ended_blocks += of->live_blocks;
    heap->ended_bytes += of->live_bytes;
  }
}

void hwi_heap_tally_restart(struct hwi_heap_tally *tally, uint64_t ns)
{
  for (uint32_t i = 1; i <= tally->numbers.count; i++) {
    struct heap *heap = &tally->heaps[i];
    heap->shown = (struct hwi_heap){0};
    note_peak(heap, ns);
  }
}

void hwi_heap_tally_destroy(struct hwi_heap_tally *tally)
{
  if (!tally)
    return;
  hwi_numbering_release(&tally->numbers);
  free(tally->heaps);
  free(tally->published);
  free(tally);
}

/* The largest peak first; of equal ones the earliest. */
static int compare_peaks(const void *left, const void *right)
{
  const struct hwi_heap *a = left, *b = right;
  if (a->peak_bytes != b->peak_bytes)
    return a->peak_bytes > b->peak_bytes ? -1 : 1;
  if (a->peak_ns != b->peak_ns)
    return a->peak_ns < b->peak_ns ? -1 : 1;
  return strcmp(a->name, b->name);
}

bool hwi_heap_tally_publish(struct hwi_heap_tally *tally, const struct hwi_store *names, struct hwi_profile *profile)
{
  tally->published = calloc((size_t)tally->numbers.count + 1, sizeof *tally->published);
  for (uint32_t i = 0; tally->published && i < tally->numbers.count; i++) {
    const struct heap *heap = &tally->heaps[i + 1];
    struct hwi_heap *shown = &tally->published[i];
    *shown = heap->shown;
    shown->name = names->strings[tally->numbers.pairs[i + 1].a].text;
    shown->live_blocks = heap->live_blocks + heap->ended_blocks;
    shown->live_bytes = heap->live_bytes + heap->ended_bytes;
  }
  if (tally->published)
    qsort(tally->published, tally->numbers.count, sizeof *tally->published, compare_peaks);
  profile->heaps = tally->published;
  profile->heap_count = tally->published ? tally->numbers.count : 0;
  return tally->published;
}
