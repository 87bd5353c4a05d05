/* modules.h - the loaded modules that stacks have touched, each with its ID in the trace */
#ifndef HWI_RECORD_UNWIND_MODULES_H
#define HWI_RECORD_UNWIND_MODULES_H

#include <stdbool.h>
#include <stdint.h>

#include "platform/os.h"
#include "record/lane.h"

/* Allocates the list, once per image. Returns false if there is no memory. */
bool hwi_modules_init(void);

/* Returns the ID of the module that covers `address` now, and fills *module from the loader. A new module is written to
 * the lane. Returns 0 if no module covers the address (*module is then all zeros), or if the list is full.
 * Lock-free. */
uint32_t hwi_modules_find(struct hwi_lane *lane, uintptr_t address, struct hwi_os_module *module);

/* Returns the number of IDs assigned so far; a forked child inherits them. */
uint32_t hwi_modules_count(void);

#endif
