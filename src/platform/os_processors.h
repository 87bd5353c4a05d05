/* os_processors.h - the seam to how many processors there are, for the tools */
#ifndef HWI_PLATFORM_OS_PROCESSORS_H
#define HWI_PLATFORM_OS_PROCESSORS_H

/* The processors that the calling thread may run on; at least 1. */
unsigned hwi_os_processors(void);

#endif
