/* entries.h - allocations by the entry point of malloc or new that was called */
#ifndef HWI_REPORT_SELECTION_ENTRIES_H
#define HWI_REPORT_SELECTION_ENTRIES_H

#include "report/selection/selection.h"

/* Returns the name of an enum hw_entry: "malloc", "operator new[]", ...; "" for none and for an invalid number. */
const char *hwi_entry_name(uint32_t entry);
const char *hwi_entry_shown(uint32_t entry); /* for display: "unknown" for none */

/* Returns the enum hw_entry of such a name; HW_ENTRY_NONE if there is none, or for NULL. */
uint8_t hwi_entry_of_name(const char *name);

struct hwi_entries {
  struct hwi_amount amounts[HW_ENTRY_COUNT]; /* that the selection's filters keep; [HW_ENTRY_NONE]: of unknown stacks */
  uint64_t failed_calls[HW_ENTRY_COUNT];     /* 0 if the filters split stacks */
};

/* Sums up the selection's amounts by the entry point of each stack's innermost frame. */
void hwi_entries_of(struct hwi_entries *entries, const struct hwi_profile *profile,
                    const struct hwi_selection *selection);

#endif
