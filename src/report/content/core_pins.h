/* core_pins.h - who allocated the blocks that keep free memory from being returned */
#ifndef HWI_REPORT_CONTENT_CORE_PINS_H
#define HWI_REPORT_CONTENT_CORE_PINS_H

#include "memory/heaps/fragmentation.h"
#include "report/content/core_names.h"

enum { HWI_PIN_OWNERS_MAX = 3 };

/* The blocks of one stack. */
struct hwi_pin_owner {
  const struct hwi_core_block *block; /* one of them */
  uint64_t blocks, bytes;
};

/* Finds the stacks with most of the blocks, the most first. Returns how many there are in `owners`: 0 if no stack is known, or there is
 * no memory. */
size_t hwi_pin_owners_find(const struct hwi_core_names *names, const struct hwi_pin *pin,
                           struct hwi_pin_owner owners[HWI_PIN_OWNERS_MAX]);

#endif
