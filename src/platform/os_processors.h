/* os_processors.h - the number of processors, for the tools */
#ifndef HWI_PLATFORM_OS_PROCESSORS_H
#define HWI_PLATFORM_OS_PROCESSORS_H

/* Returns the number of processors that the calling thread may run on; at least 1. */
unsigned hwi_os_processors(void);

#endif
