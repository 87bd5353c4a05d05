/* steps.c - how a stack's blocks grow (realloc) and are freed together, as members of its JSON object */
#include "report/json/steps.h"

#include <stdlib.h>

static int compare_resizes(const void *key, const void *item)
{
  uint32_t stack = *(const uint32_t *)key, other = ((const struct hwi_stack_resizes *)item)->stack;
  return stack < other ? -1 : stack > other;
}

static int compare_together(const void *key, const void *item)
{
  uint32_t stack = *(const uint32_t *)key, other = ((const struct hwi_together *)item)->stack;
  return stack < other ? -1 : stack > other;
}

static const struct hwi_stack_resizes *resizes_of(const struct hwi_profile *profile, uint32_t stack)
{
  if (profile->resize_count == 0)
    return NULL;
  return bsearch(&stack, profile->resizes, profile->resize_count, sizeof *profile->resizes, compare_resizes);
}

static const struct hwi_together *together_of(const struct hwi_profile *profile, uint32_t stack)
{
  if (profile->together_count == 0)
    return NULL;
  return bsearch(&stack, profile->together, profile->together_count, sizeof *profile->together, compare_together);
}

void hwi_json_steps(struct hwi_json *json, const struct hwi_profile *profile, uint32_t stack)
{
  const struct hwi_stack_resizes *resizes = resizes_of(profile, stack);
  if (resizes) {
    hwi_json_begin_object(json, "resizes");
    hwi_json_bool(json, "estimated", resizes->estimated);
    hwi_json_number(json, "steps", resizes->steps.steps);
    hwi_json_number(json, "moved", resizes->steps.moved);
    hwi_json_number(json, "copied_bytes", resizes->steps.copied_bytes);
    hwi_json_number(json, "grown", resizes->steps.grown);
    hwi_json_number(json, "grown_copied_bytes", resizes->steps.grown_copied_bytes);
    hwi_json_number(json, "final_blocks", resizes->final_blocks);
    hwi_json_number(json, "final_median", resizes->final_median);
    hwi_json_number(json, "final_largest", resizes->final_largest);
    hwi_json_end_object(json);
  }
  const struct hwi_together *together = together_of(profile, stack);
  if (together) {
    hwi_json_begin_object(json, "together");
    hwi_json_number(json, "blocks", together->blocks);
    hwi_json_number(json, "generations", together->generations);
    hwi_json_number(json, "largest_bytes", together->largest_bytes);
    hwi_json_end_object(json);
  }
}
