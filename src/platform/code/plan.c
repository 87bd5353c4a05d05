/* plan.c - plans detours of functions, on each CPU for which there is code for them
 *
 * The room has two parts. The entry, to which the patch jumps, loads the wrapper's argument into the register of the sixth
 * argument, and jumps to the wrapper: the stack is as the caller left it, so that the wrapper's caller is the function's. The
 * original is the copy of the first instructions, with a jump to the rest.
 */
#include "platform/code/plan.h"

#include <string.h>

enum { ORIGINAL_OFF = 48 }; /* of the second part of the room */

void hwi_plan_put(struct hwi_plan *plan, const void *bytes, size_t count)
{
  memcpy(plan->detour->room + plan->used, bytes, count);
  plan->used += count;
}

uintptr_t hwi_plan_place(const struct hwi_plan *plan)
{
  return plan->request->room + plan->used;
}

bool hwi_plan_is_replaced(const struct hwi_plan *plan, uintptr_t target, size_t bytes)
{
  return target > (uintptr_t)plan->request->function && target < (uintptr_t)plan->begin + bytes;
}

const char *hwi_code_plan(struct hwi_code_detour *detour, const struct hwi_code_request *request)
{
  struct hwi_plan plan = {.detour = detour, .request = request};
  const char *why;
  *detour = (struct hwi_code_detour){.original = request->room + ORIGINAL_OFF};
  plan.begin = request->function + hwi_plan_pad_bytes(request);
  hwi_plan_put_entry(&plan);
  plan.used = ORIGINAL_OFF;
  if ((why = hwi_plan_put_original(&plan)) || (why = hwi_plan_check(&plan, request->function, request->bytes)) ||
      (why = hwi_plan_check(&plan, request->cold, request->cold_bytes)))
    return why;
  return hwi_plan_put_patch(&plan);
}
