/* call_counts.c - how many calls there were, of a sample: the COUNTS records of its chunks */
#include "trace/read/call_counts.h"

#include <stdlib.h>
#include <string.h>

#include "trace/grow.h"

static const uint64_t sums_key = UINT64_C(1) << 32; /* added to the stream */

void hwi_call_counts_release(struct hwi_call_count_list *list)
{
  hwi_numbering_release(&list->chunks);
  hwi_numbering_release(&list->summed);
  free(list->items);
  free(list->summed_until);
  *list = (struct hwi_call_count_list){0};
}

static uint32_t number_at(const uint8_t *payload, size_t off)
{
  uint32_t number;
  memcpy(&number, payload + off, sizeof number);
  return number;
}

static struct hwi_chunk_counts *find_item(struct hwi_call_count_list *list, const struct hwi_chunk_counts *taken)
{
  const uint32_t number = taken->is_sum ? hwi_numbering_of(&list->chunks, sums_key + taken->stream, taken->thread)
                                        : hwi_numbering_of(&list->chunks, taken->stream, taken->sequence);
  const bool done = number && hwi_grow((void **)&list->items, &list->capacity, number, sizeof *list->items);
  return done ? &list->items[number - 1] : NULL;
}

static bool note_sum(struct hwi_call_count_list *list, const struct hwi_chunk_counts *sum)
{
  const uint32_t number = hwi_numbering_of(&list->summed, sum->stream, 0);
  if (!number || !hwi_grow((void **)&list->summed_until, &list->summed_capacity, number, sizeof *list->summed_until))
    return false;
  uint32_t *until = &list->summed_until[number - 1];
  *until = sum->sequence > *until ? sum->sequence : *until;
  return true;
}

bool hwi_call_counts_take(struct hwi_call_count_list *list, const uint8_t *payload, size_t bytes,
                          struct hwi_chunk_counts *more)
{
  *more = (struct hwi_chunk_counts){0};
  if (bytes != HW_COUNTS_BYTES || payload[0] > HW_COUNTS_OF_CHUNKS)
    return true;
  struct hwi_chunk_counts taken = {.thread = number_at(payload, HW_COUNTS_THREAD_OFF),
                                   .stream = number_at(payload, HW_COUNTS_STREAM_OFF),
                                   .sequence = number_at(payload, HW_COUNTS_SEQUENCE_OFF),
                                   .is_sum = payload[0] == HW_COUNTS_OF_CHUNKS};
  memcpy(taken.counts, payload + HW_COUNTS_PADDING, sizeof taken.counts);
  struct hwi_chunk_counts *item = find_item(list, &taken);
  if (!item || (taken.is_sum && !note_sum(list, &taken)))
    return false;
  *more = taken;
  for (int i = 0; i < HW_COUNTS; i++)
    more->counts[i] -= item->counts[i];
  *item = taken;
  return true;
}

size_t hwi_call_counts_settle(struct hwi_call_count_list *list)
{
  for (uint32_t i = 0; i < list->chunks.count && list->summed.count; i++) {
    struct hwi_chunk_counts *item = &list->items[i];
    const uint32_t number = item->is_sum ? 0 : hwi_numbering_find(&list->summed, item->stream, 0);
    if (number && item->sequence <= list->summed_until[number - 1])
      memset(item->counts, 0, sizeof item->counts);
  }
  return list->chunks.count;
}
