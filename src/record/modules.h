/* modules.h - the loaded modules that stacks have met, each with the number that the trace knows it by */
#ifndef HWI_RECORD_MODULES_H
#define HWI_RECORD_MODULES_H

#include <stdbool.h>
#include <stdint.h>

#include "platform/os.h"
#include "record/lane.h"

/* Takes the memory for the list; once an image. False: there is none. */
bool hwi_modules_init(void);

/* The number of the module that covers `address` now, and in *module what the loader says of it; new ones are written to the
 * lane. 0: no module covers it (and *module is zeros), or the list is full. Lock-free. */
uint32_t hwi_modules_find(struct hwi_lane *lane, uintptr_t address, struct hwi_os_module *module);

/* How many numbers were given so far: what a forked child inherits. */
uint32_t hwi_modules_count(void);

#endif
