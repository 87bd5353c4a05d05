/* heaps.c - the heaps that the program gives out itself, as a member of a JSON object */
#include "report/json/members.h"

void hwi_json_heaps(struct hwi_json *json, const struct hwi_profile *profile, uint32_t most)
{
  if (profile->heap)
    hwi_json_text(json, "heap", profile->heap);
  if (profile->heap_count == 0)
    return;
  hwi_json_begin_array(json, "heaps");
  for (uint32_t i = 0; i < profile->heap_count && i < most; i++) {
    hwi_json_begin_object(json, NULL);
    hwi_json_text(json, "name", profile->heaps[i].name);
    hwi_json_figures(json, hwi_heap_figures, &profile->heaps[i]);
    hwi_json_end_object(json);
  }
  hwi_json_end_array(json);
}
