/* arch.h - the interface to the CPU: registers, frames, time stamps, hints. A port is a new arch_NAME.h */
#ifndef HWI_PLATFORM_ARCH_H
#define HWI_PLATFORM_ARCH_H

#include <stdint.h>

#if defined __x86_64__
#include "arch_x86_64.h"
#elif defined __aarch64__
#include "arch_aarch64.h"
#elif defined __riscv && __riscv_xlen == 64
#include "arch_riscv64.h"
#elif defined __arm__
#include "arch_arm.h"
#else
#error "heapwright has no port to this CPU yet: add src/platform/arch_NAME.h"
#endif

#if defined __aarch64__ || defined __riscv || defined __arm__
#include "link_register.h"
#endif

/* Asks for the line of the cache at this address, to write to it. */
static inline void hwi_arch_prefetch_to_write(const void *address)
{
#ifdef __x86_64__ /* the compiler would ask for it to read only; a CPU without this instruction does nothing */
  __asm__ volatile("prefetchw %0" : : "m"(*(const char *)address));
#else
  __builtin_prefetch(address, 1);
#endif
}

#endif
