/* keyed.h - items in the order of a number that each has */
#ifndef HWI_REPORT_KEYED_H
#define HWI_REPORT_KEYED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hwi_keyed {
  uint64_t key;
  uint32_t item;
};

/* Puts the largest keys first; those of one key stay as they stood. In a time that grows with their number and no faster. False: no
 * memory. */
bool hwi_keyed_sort(struct hwi_keyed *items, size_t count);

#endif
