/* scope_names.h - the names of scopes: equal texts have equal numbers
 *
 * A name is defined in the trace before the first event that uses it, once for each image.
 */
#ifndef HWI_RECORD_EVENTS_SCOPE_NAMES_H
#define HWI_RECORD_EVENTS_SCOPE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/lane.h"

/* The name of all scopes whose own name could not be kept. */
enum { HWI_NAME_OTHER = 1 };

enum { HWI_NAME_LIMIT = 1 << 16 }; /* numbers are below it, and not 0 */

/* Returns the number of the name. Async-signal-safe; no thread waits for another one. */
uint32_t hwi_names_number(const char *text);

/* The same for a text that has at most `max_bytes`, and ends there or at a NUL. */
uint32_t hwi_names_number_of(const char *text, size_t max_bytes);

/* Returns whether there is a name with this number. */
bool hwi_names_have(uint32_t number);

/* Returns the text of a name that one of these functions returned: the process's own copy, which stays valid. */
const char *hwi_names_text(uint32_t number);

/* Makes sure that the trace defines the name. The caller has entered the lane. Returns false if there is no room, or no such
 * name. */
bool hwi_names_define(struct hwi_lane *lane, uint32_t number);

#endif
