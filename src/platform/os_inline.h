/* os_inline.h - the few questions to the libc that the recorder asks at every event */
#ifndef HWI_PLATFORM_OS_INLINE_H
#define HWI_PLATFORM_OS_INLINE_H

#include <stdbool.h>

extern char __libc_single_threaded __attribute__((weak)); /* glibc 2.32 */

/* Where libc says so: not 0 only while no other thread exists, so that nothing needs to be ordered against one. */
static inline const char *hwi_os_single_threaded_flag(void)
{
  static const char never;
  return &__libc_single_threaded ? &__libc_single_threaded : &never;
}

#endif
