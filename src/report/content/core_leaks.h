/* core_leaks.h - the leaks in a core dump, by stack or type, and by kind */
#ifndef HWI_REPORT_CONTENT_CORE_LEAKS_H
#define HWI_REPORT_CONTENT_CORE_LEAKS_H

#include "memory/graph/graph.h"
#include "report/report.h"

/* Leaks with the same stack (or type) and of the same kind; of an unknown one, also of the same size. */
struct hwi_core_leak {
  uint32_t stack; /* of the profile */
  enum hwi_leak_kind kind;
  uint64_t block_bytes; /* of each; 0: they differ */
  uint64_t blocks, bytes;
  uint64_t address; /* of the first of them */
};

/* The most bytes first, in the sizes that the list has: those asked for, if they are known. All zero: none. */
struct hwi_core_leaks {
  struct hwi_core_leak *list;
  struct hwi_core_heap_sum sums[HWI_LEAK_KINDS], all;
  size_t count, capacity;
};

extern const char *const hwi_leak_kind_names[HWI_LEAK_KINDS];

/* The report's profile is of the leaks alone. Returns 0 or a negative status. */
int hwi_core_leaks_group(struct hwi_core_leaks *leaks, const struct hwi_report *report, struct hwi_error *error);
void hwi_core_leaks_release(struct hwi_core_leaks *leaks);

#endif
