/* call.h - Linux's system calls without libc's wrappers
 *
 * Code in the target makes them itself, because the target may have replaced any function of libc, and libc's wrappers
 * write errno. All return what the kernel returns: a result, or a negative errno.
 */
#ifndef HWI_PLATFORM_LINUX_CALL_H
#define HWI_PLATFORM_LINUX_CALL_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>

#include "base/thread_local.h"
#include "platform/arch.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

/* See hwi_os_seal. */
extern HWI_THREAD_LOCAL hwi_thread_flag hwi_call_is_sealed __attribute__((visibility("hidden")));

#define CALL(number, a, b, c, d, e, f)     \
  (__builtin_expect(hwi_call_is_sealed, 0) \
       ? (long)-EPERM                      \
       : hwi_arch_syscall((number), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f)))
#define CALL0(number) CALL(number, 0, 0, 0, 0, 0, 0)
#define CALL1(number, a) CALL(number, a, 0, 0, 0, 0, 0)
#define CALL2(number, a, b) CALL(number, a, b, 0, 0, 0, 0)
#define CALL3(number, a, b, c) CALL(number, a, b, c, 0, 0, 0)
#define CALL4(number, a, b, c, d) CALL(number, a, b, c, d, 0, 0)

static inline bool hwi_call_failed(long result)
{
  return (unsigned long)result > -4096UL;
}

/* What the kernel writes on every CPU, whatever libc's struct timespec is. */
struct hwi_call_time {
  int64_t seconds, ns;
};

struct hwi_call_file {
  uint32_t mode;
  uint64_t links, bytes;
};

/* Calls that are not the same everywhere: mmap, pwrite, ftruncate, clock_gettime, statfs, fstatat. */
#if __SIZEOF_LONG__ == 8
#include "call_64.h"
#else
#include "call_32.h"
#endif

#endif
