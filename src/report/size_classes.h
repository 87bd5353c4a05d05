/* size_classes.h - block sizes by classes, with their live bytes along time
 *
 * class      block sizes up to a power of two and above the previous power: see hwi_size_class.
 */
#ifndef HWI_REPORT_SIZE_CLASSES_H
#define HWI_REPORT_SIZE_CLASSES_H

#include "report/json/json.h"
#include "report/selection.h"

struct hwi_size_classes {
  struct hwi_amount items[HWI_SIZE_CLASSES]; /* of the whole run */
};

void hwi_size_classes_of(struct hwi_size_classes *classes, const struct hwi_profile *profile);

/* The smallest and the largest size that a class can have. */
uint64_t hwi_size_class_least(unsigned class);
uint64_t hwi_size_class_most(unsigned class);

/* Writes "size_classes": {...} into the object begun last: the moments once, and the classes that ever held
 * something. */
void hwi_json_size_classes(struct hwi_json *json, const struct hwi_profile *profile);

#endif
