/* size_classes.c - block sizes by classes, with their live bytes along time */
#include "report/content/size_classes.h"

#include <string.h>

void hwi_size_classes_of(struct hwi_size_classes *classes, const struct hwi_profile *profile)
{
  memset(classes, 0, sizeof *classes);
  for (uint32_t i = 0; i < profile->size_count; i++) {
    const struct hwi_size *size = &profile->sizes[i];
    const struct hwi_amount amount = {.calls = size->calls,
                                      .bytes = size->calls * size->size,
                                      .temporary_calls = size->temporary_calls,
                                      .live_blocks = size->live_blocks,
                                      .live_bytes = size->live_blocks * size->size,
                                      .peak_blocks = size->peak_blocks,
                                      .peak_bytes = size->peak_blocks * size->size,
                                      .peak_usable = size->peak_usable};
    hwi_amount_add(&classes->items[hwi_size_class(size->size)], &amount);
  }
}

uint64_t hwi_size_class_most(unsigned class)
{
  return class + 1 < HWI_SIZE_CLASSES ? UINT64_C(1) << (class + HWI_SMALLEST_CLASS_BITS) : UINT64_MAX;
}

uint64_t hwi_size_class_least(unsigned class)
{
  return class > 0 ? hwi_size_class_most(class - 1) + 1 : 0;
}
