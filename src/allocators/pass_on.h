/* pass_on.h - passes allocations on to the next malloc in the search order, for libcs on which the heap cannot be used */
#ifndef HWI_ALLOCATORS_PASS_ON_H
#define HWI_ALLOCATORS_PASS_ON_H

#include <stddef.h>

/* To be called once, before the other function. */
void hwi_pass_on_begin(void);

/* Returns a block of the next malloc, or NULL. */
void *hwi_pass_on(size_t bytes, size_t align);

#endif
