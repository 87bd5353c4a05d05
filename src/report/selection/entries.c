/* entries.c - allocations by the entry point of malloc or new that was called */
#include "report/selection/entries.h"

#include <string.h>

static const char *const names[] = {
#define ENTRY_NAME(id, name) name,
    HW_ENTRY_LIST(ENTRY_NAME)
#undef ENTRY_NAME
};

const char *hwi_entry_name(uint32_t entry)
{
  return entry < HW_ENTRY_COUNT ? names[entry] : "";
}

const char *hwi_entry_shown(uint32_t entry)
{
  return entry != HW_ENTRY_NONE ? hwi_entry_name(entry) : "unknown";
}

uint8_t hwi_entry_of_name(const char *name)
{
  for (uint8_t entry = HW_ENTRY_NONE + 1; name && entry < HW_ENTRY_COUNT; entry++) {
    if (strcmp(names[entry], name) == 0)
      return entry;
  }
  return HW_ENTRY_NONE;
}

void hwi_entries_of(struct hwi_entries *entries, const struct hwi_profile *profile,
                    const struct hwi_selection *selection)
{
  memset(entries, 0, sizeof *entries);
  for (uint32_t i = 1; i < profile->stack_count; i++) {
    const struct hwi_stack *stack = &profile->stacks[i];
    uint8_t entry = stack->entry < HW_ENTRY_COUNT ? stack->entry : HW_ENTRY_NONE;
    hwi_amount_add(&entries->amounts[entry], &selection->amounts[i]);
    if (!hwi_narrowing_splits_stacks(&selection->narrowing) && hwi_narrowing_keeps_stack(&selection->narrowing, i))
      entries->failed_calls[entry] += stack->failed_calls;
  }
}
