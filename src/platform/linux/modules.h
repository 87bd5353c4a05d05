/* modules.h - the loader's list of modules; internal to this folder */
#ifndef HWI_PLATFORM_LINUX_MODULES_H
#define HWI_PLATFORM_LINUX_MODULES_H

#include <link.h>

/* Returns the first module in the order of the search, which is the executable, or NULL if the list is not known. */
const struct link_map *hwi_modules_first(void);

/* Returns the program's name as it was given to the loader, if the loader was executed and the program is its argument; else NULL. */
const char *hwi_modules_program(void);

#endif
