/* durations_along.c - how long calls took over time */
#include "profile/counters/durations_along.h"

#include <stdlib.h>

void hwi_durations_along_init(struct hwi_durations_along *along, uint64_t from_ns, uint64_t to_ns)
{
  *along = (struct hwi_durations_along){.from_ns = from_ns};
  along->slice_ns = to_ns > from_ns ? (to_ns - from_ns) / HWI_ALONG_SLICES + 1 : 1;
}

void hwi_durations_along_release(struct hwi_durations_along *along)
{
  for (int entry = 0; entry < HW_ENTRY_COUNT; entry++)
    free(along->entries[entry]);
  *along = (struct hwi_durations_along){0};
}

bool hwi_durations_along_add(struct hwi_durations_along *along, uint8_t entry, uint64_t ns, uint64_t took_ns)
{
  uint64_t **cells = &along->entries[entry];
  if (!*cells)
    *cells = calloc((size_t)HWI_ALONG_SLICES * HWI_ALONG_BANDS, sizeof **cells);
  if (!*cells)
    return false;
  uint64_t slice = ns > along->from_ns ? (ns - along->from_ns) / along->slice_ns : 0;
  slice = slice < HWI_ALONG_SLICES ? slice : HWI_ALONG_SLICES - 1;
  (*cells)[slice * HWI_ALONG_BANDS + hwi_log_bucket_of(took_ns, HWI_ALONG_BAND_BITS)]++;
  return true;
}

uint64_t hwi_durations_along_cell(const struct hwi_durations_along *along, uint8_t entry, uint32_t slice, uint32_t band)
{
  const uint64_t *cells = along->entries[entry];
  return cells ? cells[(size_t)slice * HWI_ALONG_BANDS + band] : 0;
}
