/* handovers.c - blocks that one thread allocates and another one frees */
#include "profile/counters/handovers.h"

#include <stdlib.h>

#include "trace/grow.h"

void hwi_handovers_release(struct hwi_handover_tally *tally)
{
  hwi_numbering_release(&tally->pairs);
  free(tally->items);
  *tally = (struct hwi_handover_tally){0};
}

bool hwi_handovers_add(struct hwi_handover_tally *tally, const struct hwi_handover *counted)
{
  uint32_t number = hwi_numbering_of(&tally->pairs, counted->owner, counted->freer);
  if (!number || !hwi_grow((void **)&tally->items, &tally->capacity, number, sizeof *tally->items))
    return false;
  struct hwi_handover *item = &tally->items[number - 1];
  item->owner = counted->owner;
  item->freer = counted->freer;
  item->blocks += counted->blocks;
  item->bytes += counted->bytes;
  return true;
}

void hwi_handovers_restart(struct hwi_handover_tally *tally)
{
  for (size_t i = 0; i < tally->pairs.count; i++)
    tally->items[i].blocks = tally->items[i].bytes = 0;
}
