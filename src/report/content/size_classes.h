/* size_classes.h - block sizes by classes, with their live bytes along time
 *
 * class      block sizes up to a power of two and above the previous power: see hwi_size_class.
 */
#ifndef HWI_REPORT_CONTENT_SIZE_CLASSES_H
#define HWI_REPORT_CONTENT_SIZE_CLASSES_H

#include "report/selection/selection.h"

struct hwi_size_classes {
  struct hwi_amount items[HWI_SIZE_CLASSES]; /* of the whole run */
};

void hwi_size_classes_of(struct hwi_size_classes *classes, const struct hwi_profile *profile);

/* The smallest and the largest size that a class can have. */
uint64_t hwi_size_class_least(unsigned class);
uint64_t hwi_size_class_most(unsigned class);

#endif
