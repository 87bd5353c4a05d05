/* core_sums.h - the figures of the heap of a core dump */
#ifndef HWI_REPORT_CONTENT_CORE_SUMS_H
#define HWI_REPORT_CONTENT_CORE_SUMS_H

#include "memory/core.h"
#include "memory/heaps/heap.h"

/* Of one part, or of all. */
struct hwi_core_sums {
  struct hwi_core_heap_sum live, own, cached, free, top;
  uint64_t system_bytes, understood_bytes;
};

struct hwi_core_sums hwi_core_sums_of_part(const struct hwi_core_heap_part *part);
struct hwi_core_sums hwi_core_sums_of(const struct hwi_core *core);

/* Returns which share of the heap's memory is understood, in percent; 100 only if all is. */
double hwi_core_understood_percent(const struct hwi_core_sums *sums);

#endif
