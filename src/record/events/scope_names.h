/* scope_names.h - the names of scopes: equal texts have equal numbers
 *
 * A name is defined in the trace before the first event that uses it, once for each image.
 */
#ifndef HWI_RECORD_EVENTS_SCOPE_NAMES_H
#define HWI_RECORD_EVENTS_SCOPE_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "record/lane.h"

/* The name of all scopes whose own name could not be kept. */
enum { HWI_NAME_OTHER = 1 };

/* Returns the number of the name. Async-signal-safe; no thread waits for another one. */
uint32_t hwi_names_number(const char *text);

/* Makes sure that the trace defines the name. The caller has entered the lane. Returns false if there is no room. */
bool hwi_names_define(struct hwi_lane *lane, uint32_t number);

#endif
