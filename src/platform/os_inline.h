/* os_inline.h - the few questions to the libc that the recorder asks at every event */
#ifndef HWI_PLATFORM_OS_INLINE_H
#define HWI_PLATFORM_OS_INLINE_H

#include <stdbool.h>

extern char __libc_single_threaded __attribute__((weak)); /* glibc 2.32 */

/* True only while no other thread exists, so that nothing needs to be ordered against one. */
static inline bool hwi_os_is_single_threaded(void)
{
  return &__libc_single_threaded && __libc_single_threaded;
}

#endif
