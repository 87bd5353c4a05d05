/* os_inline.h - the libc state that the recorder reads at every event */
#ifndef HWI_PLATFORM_OS_INLINE_H
#define HWI_PLATFORM_OS_INLINE_H

#include <stdbool.h>

extern char __libc_single_threaded __attribute__((weak)); /* glibc 2.32 */

/* Returns the address of libc's flag. The flag is not 0 only while no other thread exists, so that no ordering against
 * other threads is needed. */
static inline const char *hwi_os_single_threaded_flag(void)
{
  static const char never;
  return &__libc_single_threaded ? &__libc_single_threaded : &never;
}

#endif
