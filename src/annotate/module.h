/* module.h - the module that an address is in */
#ifndef HWI_ANNOTATE_MODULE_H
#define HWI_ANNOTATE_MODULE_H

#include "platform/os.h"

/* Finds the module. Returns false if there is none. A static program is one module, which is known before libc is ready. */
bool hwi_module_find(uintptr_t address, struct hwi_os_module *module);

#endif
