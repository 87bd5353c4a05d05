/* pass_on.h - passes allocations on to the next malloc in the search order, where the heap cannot be used or is not wanted */
#ifndef HWI_ALLOCATORS_PASS_ON_H
#define HWI_ALLOCATORS_PASS_ON_H

#include <stdbool.h>
#include <stddef.h>

/* To be called once, before the other function. Returns false if there is no next malloc, as in a static program. */
bool hwi_pass_on_begin(void);

/* Returns a block of the next malloc, or NULL. */
void *hwi_pass_on(size_t bytes, size_t align);

#endif
