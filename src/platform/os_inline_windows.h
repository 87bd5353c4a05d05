/* os_inline_windows.h - the parts of the interface to Windows that are compiled into their callers */
#ifndef HWI_PLATFORM_OS_INLINE_WINDOWS_H
#define HWI_PLATFORM_OS_INLINE_WINDOWS_H

#include <stdint.h>

/* Windows does not tell whether a process has one thread. */
static inline const char *hwi_os_single_threaded_flag(void)
{
  static const char never = 0;
  return &never;
}

/* Returns a number that no other living thread has: the address of its TEB. */
static inline uintptr_t hwi_os_thread_word(void)
{
  enum { SELF_OFF = 0x30 };
  uintptr_t word;
  __asm__("movq %%gs:%c1, %0" : "=r"(word) : "i"(SELF_OFF));
  return word;
}

#endif
