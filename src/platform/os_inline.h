/* os_inline.h - the parts of the interface to the kernel and the libc that are compiled into their callers. A port is a new
 * os_inline_NAME.h */
#ifndef HWI_PLATFORM_OS_INLINE_H
#define HWI_PLATFORM_OS_INLINE_H

#if defined _WIN32
#include "platform/os_inline_windows.h"
#else
#include "platform/os_inline_linux.h"
#endif

#endif
