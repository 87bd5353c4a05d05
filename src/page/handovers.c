/* handovers.c - blocks that one thread allocates and another one frees, by rows of threads */
#include "page/handovers.h"

#include <stdlib.h>
#include <string.h>

#include "trace/radix_sort.h"

enum { FOLLOWED_MAX = 256 };

static int compare(const void *left, const void *right)
{
  const struct hwi_page_handover *a = left, *b = right;
  if (a->owner != b->owner)
    return a->owner < b->owner ? -1 : 1;
  return a->freer < b->freer ? -1 : a->freer > b->freer;
}

/* Sorts the items and sums up those with the same rows. Returns how many are left. */
static uint32_t join(struct hwi_page_handover *items, uint32_t count)
{
  uint32_t kept = 0;
  if (count > 1)
    qsort(items, count, sizeof *items, compare);
  for (uint32_t i = 0; i < count; i++) {
    if (kept == 0 || compare(&items[kept - 1], &items[i]) != 0) {
      items[kept++] = items[i];
      continue;
    }
    items[kept - 1].blocks += items[i].blocks;
    items[kept - 1].bytes += items[i].bytes;
  }
  return kept;
}

static bool follow(struct hwi_page_handovers *handovers)
{
  struct hwi_sort_item *ranked = calloc((size_t)handovers->count + 1, sizeof *ranked);
  for (uint32_t i = 0; i < handovers->count && ranked; i++)
    ranked[i] = (struct hwi_sort_item){.key = handovers->items[i].blocks, .item = i};
  bool done = ranked && hwi_radix_sort(ranked, handovers->count);
  for (uint32_t i = 0; i < handovers->count && i < FOLLOWED_MAX && done; i++) {
    const struct hwi_page_handover *item = &handovers->items[ranked[i].item];
    handovers->row_of[item->owner * handovers->thread_rows + item->freer] = ranked[i].item;
  }
  free(ranked);
  return done;
}

bool hwi_page_handovers_init(struct hwi_page_handovers *handovers, const struct hwi_page_threads *threads)
{
  const struct hwi_profile *profile = threads->profile;
  size_t places = (size_t)threads->row_count * threads->row_count;
  *handovers = (struct hwi_page_handovers){.thread_rows = threads->row_count};
  handovers->items = calloc((size_t)profile->handover_count + 1, sizeof *handovers->items);
  handovers->row_of = malloc((places + 1) * sizeof *handovers->row_of);
  if (!handovers->items || !handovers->row_of)
    return false;
  memset(handovers->row_of, 0xFF, places * sizeof *handovers->row_of);
  for (uint32_t i = 0; i < profile->handover_count; i++) {
    const struct hwi_handover *handover = &profile->handovers[i];
    handovers->items[i] = (struct hwi_page_handover){.owner = threads->row_of[handover->owner],
                                                     .freer = threads->row_of[handover->freer],
                                                     .blocks = handover->blocks,
                                                     .bytes = handover->bytes};
  }
  handovers->count = join(handovers->items, profile->handover_count);
  return follow(handovers);
}

void hwi_page_handovers_release(struct hwi_page_handovers *handovers)
{
  free(handovers->items);
  free(handovers->row_of);
  *handovers = (struct hwi_page_handovers){0};
}

void hwi_json_page_handovers(struct hwi_json *json, const struct hwi_page_handovers *handovers,
                             const struct hwi_page_series *series)
{
  static const struct hwi_column columns[] = {HWI_COLUMN(struct hwi_page_handover, owner),
                                              HWI_COLUMN(struct hwi_page_handover, freer),
                                              HWI_COLUMN(struct hwi_page_handover, blocks),
                                              HWI_COLUMN(struct hwi_page_handover, bytes),
                                              {NULL, 0}};
  const struct hwi_table_rows rows = {handovers->items, handovers->count, sizeof *handovers->items};
  hwi_json_begin_object(json, "handovers");
  hwi_json_plain_columns(json, &rows, columns);
  if (series)
    hwi_json_page_series(json, series, handovers->count, NULL);
  hwi_json_end_object(json);
}
