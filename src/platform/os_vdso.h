/* os_vdso.h - what the kernel maps into every program to be called without a system call; inside this folder */
#ifndef HWI_PLATFORM_OS_VDSO_H
#define HWI_PLATFORM_OS_VDSO_H

#include <time.h>

typedef int hwi_os_clock_fn(clockid_t clock, struct timespec *now);

/* Reads a clock, and returns 0 or a negative errno value; NULL where the kernel has none (as under some emulators).
 * Async-signal-safe; asks the kernel nothing. */
hwi_os_clock_fn *hwi_os_vdso_clock(void);

#endif
