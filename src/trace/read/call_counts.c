/* call_counts.c - how many calls there were, of a sample: the COUNTS records of its chunks */
#include "trace/read/call_counts.h"

#include <stdlib.h>
#include <string.h>

#include "trace/grow.h"

void hwi_call_counts_release(struct hwi_call_count_list *list)
{
  hwi_numbering_release(&list->chunks);
  free(list->items);
  *list = (struct hwi_call_count_list){0};
}

static uint32_t number_at(const uint8_t *payload, size_t off)
{
  uint32_t number;
  memcpy(&number, payload + off, sizeof number);
  return number;
}

bool hwi_call_counts_take(struct hwi_call_count_list *list, const uint8_t *payload, size_t bytes,
                          struct hwi_chunk_counts *more)
{
  *more = (struct hwi_chunk_counts){0};
  if (bytes != HW_COUNTS_BYTES)
    return true;
  const uint32_t number = hwi_numbering_of(&list->chunks, number_at(payload, HW_COUNTS_STREAM_OFF),
                                           number_at(payload, HW_COUNTS_SEQUENCE_OFF));
  if (!number || !hwi_grow((void **)&list->items, &list->capacity, number, sizeof *list->items))
    return false;
  struct hwi_chunk_counts *item = &list->items[number - 1],
                          taken = {.thread = number_at(payload, HW_COUNTS_THREAD_OFF)};
  memcpy(taken.counts, payload + HW_COUNTS_PADDING, sizeof taken.counts);
  more->thread = taken.thread;
  for (int i = 0; i < HW_COUNTS; i++)
    more->counts[i] = taken.counts[i] - item->counts[i];
  *item = taken;
  return true;
}
