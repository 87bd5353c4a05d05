/* durations.c - durations of calls in each slice of time, as JSON */
#include "page/durations.h"

static void pack_part(struct hwi_packed *packed, const struct hwi_duration_part *part, uint32_t slice_before)
{
  uint64_t filled = 0;
  for (uint32_t band = 0; band < HWI_PART_BANDS; band++)
    filled += part->bands[band] > 0;
  hwi_packed_add(packed, part->slice - slice_before);
  hwi_packed_add(packed, part->untimed);
  hwi_packed_add(packed, part->sum_ns);
  hwi_packed_add(packed, part->max_ns);
  hwi_packed_add(packed, filled);
  for (uint32_t band = 0, before = 0; band < HWI_PART_BANDS; band++) {
    if (part->bands[band] == 0)
      continue;
    hwi_packed_add(packed, band - before);
    hwi_packed_add(packed, part->bands[band]);
    before = band;
  }
}

static void pack_entry(struct hwi_packed *packed, const struct hwi_sliced_durations *durations, uint8_t entry)
{
  uint64_t count = 0;
  uint32_t before = 0;
  for (size_t i = 0; i < durations->count; i++)
    count += durations->parts[i].entry == entry;
  hwi_packed_add(packed, count);
  for (size_t i = 0; i < durations->count; i++) {
    const struct hwi_duration_part *part = &durations->parts[i];
    if (part->entry != entry)
      continue;
    pack_part(packed, part, before);
    before = part->slice;
  }
}

void hwi_json_page_durations(struct hwi_json *json, const struct hwi_sliced_durations *durations,
                             const struct hwi_report_durations *found)
{
  struct hwi_packed packed = {0};
  for (uint32_t i = 0; i < found->entry_count; i++)
    pack_entry(&packed, durations, found->entries[i]);
  hwi_json_packed(json, "durations_series", &packed);
}
