/* os_inline_linux.h - the parts of the interface to Linux that are compiled into their callers */
#ifndef HWI_PLATFORM_OS_INLINE_LINUX_H
#define HWI_PLATFORM_OS_INLINE_LINUX_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "platform/arch.h"

extern char __libc_single_threaded __attribute__((weak)); /* glibc 2.32 */

/* Returns the address of libc's flag. The flag is not 0 only while no other thread exists, so that no ordering against
 * other threads is needed. */
static inline const char *hwi_os_single_threaded_flag(void)
{
  static const char never = 0;
  return &__libc_single_threaded ? &__libc_single_threaded : &never;
}

/* Returns a number that no other living thread has. */
static inline uintptr_t hwi_os_thread_word(void)
{
  return (uintptr_t)__builtin_thread_pointer();
}

/* Defines a function with the parameters of libc's `syscall`. It jumps to `other` for the system calls that may restrict
 * the thread (hwi_os_syscall_restriction), and otherwise to *next. See HWI_ARCH_PASS_ON. */
#define HWI_OS_PASS_SYSCALL_ON(name, next, other) HWI_ARCH_PASS_ON(name, next, other, SYS_seccomp, SYS_prctl)

#endif
