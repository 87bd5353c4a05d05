/* itt_objects.h - the domains and strings that programs with ITT create: one for each name
 *
 * All functions are async-signal-safe, and no thread waits for another one. Objects are never freed.
 */
#ifndef HWI_RECORD_COLLECTORS_ITT_OBJECTS_H
#define HWI_RECORD_COLLECTORS_ITT_OBJECTS_H

#include "record/collectors/itt_abi.h"
#include "record/growing_table.h"

/* Returns the item of `bytes` (zeros at first) for the name with this number, or NULL if there is no memory. */
void *hwi_itt_item(struct hwi_growing_table *table, uint32_t number, size_t bytes);

/* Return the object with this name, or NULL if there is no memory. Equal names have the same object. */
struct hwi_itt_domain *hwi_itt_domain_of(const char *name);
struct hwi_itt_string *hwi_itt_string_of(const char *text);

/* Return the number of the name (scope_names.h) of an object that these functions or the static part made. */
uint32_t hwi_itt_domain_name(struct hwi_itt_domain *domain);
uint32_t hwi_itt_string_name(struct hwi_itt_string *string);

#endif
