/* core_last_calls.h - the last calls of a recorded process whose trace is lost, with the names of their stacks */
#ifndef HWI_REPORT_CONTENT_CORE_LAST_CALLS_H
#define HWI_REPORT_CONTENT_CORE_LAST_CALLS_H

#include "memory/heaps/last_calls.h"
#include "report/content/core_names.h"

enum { HWI_LAST_CALL_FRAMES = 32 };

/* The stack of a call, innermost first. */
struct hwi_last_call_stack {
  uint64_t addresses[HWI_LAST_CALL_FRAMES]; /* to which the functions' calls return */
  size_t count;
  uint8_t entry; /* enum hw_entry: what was called */
};

void hwi_last_call_stack_of(const struct hwi_last_calls *calls, const struct hwi_last_call *call,
                            struct hwi_last_call_stack *stack);

#endif
