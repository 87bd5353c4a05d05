/* size_classes.c - block sizes by classes, with their live bytes along time */
#include "report/size_classes.h"

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

static void write_class(struct hwi_json *json, const struct hwi_profile *profile, unsigned class,
                        const struct hwi_amount *amount)
{
  hwi_json_begin_object(json, NULL);
  hwi_json_number(json, "from_size", hwi_size_class_least(class));
  hwi_json_number(json, "to_size", hwi_size_class_most(class));
  hwi_json_number(json, "calls", amount->calls);
  hwi_json_number(json, "live_bytes", amount->live_bytes);
  hwi_json_number(json, "peak_bytes", amount->peak_bytes);
  hwi_json_begin_array(json, "live_bytes_along_time");
  for (uint32_t i = 0; i < profile->class_point_count; i++)
    hwi_json_number(json, NULL, profile->class_points[i].live_bytes[class]);
  hwi_json_end_array(json);
  hwi_json_end_object(json);
}

void hwi_json_size_classes(struct hwi_json *json, const struct hwi_profile *profile)
{
  struct hwi_size_classes classes;
  hwi_size_classes_of(&classes, profile);
  hwi_json_begin_object(json, "size_classes");
  hwi_json_begin_array(json, "times_ns");
  for (uint32_t i = 0; i < profile->class_point_count; i++)
    hwi_json_number(json, NULL, profile->class_points[i].ns);
  hwi_json_end_array(json);
  hwi_json_begin_array(json, "classes");
  for (unsigned class = 0; class < HWI_SIZE_CLASSES; class ++) {
    if (!hwi_amount_is_nothing(&classes.items[class]))
      write_class(json, profile, class, &classes.items[class]);
  }
  hwi_json_end_array(json);
  hwi_json_end_object(json);
}
