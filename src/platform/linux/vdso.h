/* vdso.h - the kernel's clock function that needs no system call; internal to this folder */
#ifndef HWI_PLATFORM_LINUX_VDSO_H
#define HWI_PLATFORM_LINUX_VDSO_H

#include <time.h>

#include "platform/linux/call.h"

typedef int hwi_os_clock_fn(clockid_t clock, struct hwi_call_time *now);

/* Returns the function that reads a clock, or NULL if the kernel has none (as under some emulators). That function
 * returns 0 or a negative errno value. Async-signal-safe; makes no system call. */
hwi_os_clock_fn *hwi_os_vdso_clock(void);

#endif
