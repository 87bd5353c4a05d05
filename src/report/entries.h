/* entries.h - which of malloc's and new's entry points were called: allocations by the function of theirs that made them */
#ifndef HWI_REPORT_ENTRIES_H
#define HWI_REPORT_ENTRIES_H

#include "report/json/json.h"
#include "report/selection.h"

/* "malloc", "operator new[]", ...; "" for none and for numbers that are none. By enum hw_entry. */
const char *hwi_entry_name(uint32_t entry);
const char *hwi_entry_shown(uint32_t entry); /* to people: "unknown" for none */

/* The number of such a name; HW_ENTRY_NONE where there is none, and of NULL. */
uint8_t hwi_entry_of_name(const char *name);

struct hwi_entries {
  struct hwi_amount amounts[HW_ENTRY_COUNT]; /* as far as a selection's filters keep them; NONE: of unknown stacks */
  uint64_t failed_calls[HW_ENTRY_COUNT];     /* not of parts of stacks */
};

/* Sums up what the selection keeps, by the entry point of each stack's innermost frame. */
void hwi_entries_of(struct hwi_entries *entries, const struct hwi_profile *profile,
                    const struct hwi_selection *selection);

/* The array `by_entry` of those that were called. */
void hwi_json_entries(struct hwi_json *json, const struct hwi_profile *profile, const struct hwi_selection *selection);

#endif
