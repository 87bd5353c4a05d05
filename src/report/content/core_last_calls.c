/* core_last_calls.c - the last calls of a recorded process whose trace is lost */
#include "report/content/core_last_calls.h"

void hwi_last_call_stack_of(const struct hwi_last_calls *calls, const struct hwi_last_call *call,
                            struct hwi_last_call_stack *stack)
{
  stack->count = hwi_last_calls_stack(calls, call->node, stack->addresses, HWI_LAST_CALL_FRAMES, &stack->entry);
  if (call->is_free)
    stack->entry = call->entry;
}
