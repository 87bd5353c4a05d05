/* x86_registers.h - general registers of x86-64 and i386, in the order in which core dumps and ptrace have them */
#ifndef HWI_PLATFORM_X86_REGISTERS_H
#define HWI_PLATFORM_X86_REGISTERS_H

#include <stddef.h>
#include <stdint.h>

enum {
  HWI_X86_64_ORIG_RAX = 15,
  HWI_X86_64_RIP = 16,
  HWI_X86_64_RSP = 19,
  HWI_X86_64_FS_BASE = 21,
  HWI_X86_64_REGISTERS = 27,
};

enum {
  HWI_I386_GS = 10,
  HWI_I386_ORIG_EAX = 11,
  HWI_I386_EIP = 12,
  HWI_I386_ESP = 15,
  HWI_I386_REGISTERS = 17,
};

/* A thread of i386 has its thread pointer in a segment that gs selects. NT_386_TLS describes the thread's segments. */
enum { HWI_I386_SEGMENT_BYTES = 16, HWI_I386_SEGMENT_BASE_OFF = 4, HWI_I386_SELECTOR_FLAG_BITS = 3 };

/* Returns the number of the segment, as NT_386_TLS has it. */
static inline uint32_t hwi_i386_segment_of(uint64_t selector)
{
  return (uint32_t)(selector & UINT16_MAX) >> HWI_I386_SELECTOR_FLAG_BITS;
}

/* Returns the number of the system call in which a thread is; negative: it is in none. `count` says which registers these are. */
static inline int64_t hwi_x86_system_call(const uint64_t *registers, size_t count)
{
  return count == HWI_I386_REGISTERS     ? (int32_t)registers[HWI_I386_ORIG_EAX]
         : count == HWI_X86_64_REGISTERS ? (int64_t)registers[HWI_X86_64_ORIG_RAX]
                                         : -1;
}

#endif
