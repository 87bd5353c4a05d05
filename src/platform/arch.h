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

#endif
