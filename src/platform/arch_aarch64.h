/* arch_aarch64.h - time stamps, registers, calls and hints on 64-bit Arm
 *
 * A call leaves the return address in x30, the link register. A function that makes calls itself stores it anywhere in its frame,
 * mostly next to the caller's x29; a function that makes none does not store it at all. Code built with -mbranch-protection
 * signs it first (pointer authentication): the upper bits, which are 0 in an address of user space, get a checksum.
 */
#ifndef HWI_PLATFORM_ARCH_AARCH64_H
#define HWI_PLATFORM_ARCH_AARCH64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
  HWI_ARCH_ELF_MACHINE = 183,
  HWI_ARCH_ADDRESS_BITS = 48, /* of user space; more only for programs that ask for it in each mmap */
};

#define HWI_ARCH_UNWIND_SEGMENT PT_GNU_EH_FRAME    /* type of the segment with the tables for unwinding */
#define HWI_ARCH_CLOCK_SOURCE "arch_sys_counter\n" /* the kernel's name for the clock that hwi_arch_clock reads */
#define HWI_ARCH_VDSO_CLOCK_GETTIME "__kernel_clock_gettime"

/* --- registers and frames --- */

/* DWARF's numbers of the registers: x0 to x30, sp, pc. */
enum { HWI_REG_BP = 29, HWI_REG_LINK = 30, HWI_REG_SP = 31, HWI_REG_RA = 32, HWI_REG_COUNT = 33 };

enum {
  HWI_ARCH_RECORD_OFF = 0,             /* from the frame pointer to the pair of the caller's and the return address */
  HWI_ARCH_HAS_RECORDS = true,         /* such pairs lead from frame to frame */
  HWI_ARCH_RECORDS_END_FRAMES = false, /* the pair is anywhere in a frame; gcc puts it below the variables */
  HWI_ARCH_HAS_LINK = true,            /* the return address of a frame may be in a register */
  HWI_ARCH_SIGNS_RETURNS = true,       /* CFI has instructions that state whether it is signed */
  HWI_ARCH_SIGNAL_REGISTERS_OFF =
      312, /* from the sp of a signal frame: siginfo_t, then x0 to x30, sp, pc of the ucontext_t */
  HWI_ARCH_SIGNAL_RETURN_BYTES = 8,    /* of the code to which handlers of signals return */
  HWI_ARCH_SIGNAL_BP = 8 * HWI_REG_BP, /* offsets in these registers */
  HWI_ARCH_SIGNAL_LINK = 8 * HWI_REG_LINK,
  HWI_ARCH_SIGNAL_SP = 8 * HWI_REG_SP,
  HWI_ARCH_SIGNAL_PC = 8 * HWI_REG_RA,
};

/* Returns the address in a word that may be a signed return address. */
static inline uintptr_t hwi_arch_code_address(uintptr_t word)
{
  return word & ((UINT64_C(1) << HWI_ARCH_ADDRESS_BITS) - 1);
}

/* Returns the offset from the sp of a signal frame to its registers if this is that code: mov x8, #SYS_rt_sigreturn; svc #0. Else 0. The
 * kernel has CFI for it; musl and emulators have none. */
static inline int32_t hwi_arch_signal_off(const void *code)
{
  static const uint32_t expected[] = {0xd2801168, 0xd4000001};
  return memcmp(code, expected, sizeof expected) == 0 ? HWI_ARCH_SIGNAL_REGISTERS_OFF : 0;
}

enum { HWI_ARCH_CALL_BYTES = 4 };

/* Returns whether the instruction that ends at `code` is a call: bl, blr, or blr with a signed address. */
static inline bool hwi_arch_is_after_call(const void *code)
{
  uint32_t word;
  memcpy(&word, (const uint8_t *)code - sizeof word, sizeof word);
  return (word & 0xfc000000) == 0x94000000 || (word & 0xfffffc1f) == 0xd63f0000 || (word & 0xfefff800) == 0xd63f0800;
}

/* The return address of the function in which this is used. */
#define HWI_ARCH_CALLER_PC() ((uintptr_t)__builtin_return_address(0))

/* x29 of the caller of the function in which this is used. */
#define HWI_ARCH_CALLER_BP() (*(const uintptr_t *)__builtin_frame_address(0))

/* Reads the callee-saved registers of the calling function, indexed by their DWARF numbers. */
static inline __attribute__((always_inline)) void hwi_arch_capture(uintptr_t *value, uint64_t *known)
{
  uintptr_t scratch;
  __asm__ volatile("stp x19, x20, [%1, 19*8]\n\tstp x21, x22, [%1, 21*8]\n\tstp x23, x24, [%1, 23*8]\n\t"
                   "stp x25, x26, [%1, 25*8]\n\tstp x27, x28, [%1, 27*8]\n\tstr x29, [%1, 29*8]\n\t"
                   "mov %0, sp\n\tstr %0, [%1, 31*8]\n\tadr %0, .\n\tstr %0, [%1, 32*8]"
                   : "=&r"(scratch)
                   : "r"(value)
                   : "memory");
  *known = UINT64_C(0x7ff) << 19 | UINT64_C(1) << HWI_REG_SP | UINT64_C(1) << HWI_REG_RA;
}

/* --- guarded code --- */

/* In pages with this right (PROT_BTI), calls by address go only to landing pads. The loader gives it to the code of a module that has
 * the property GNU_PROPERTY_AARCH64_FEATURE_1_AND with the lowest bit set, if the CPU can do it (a bit of AT_HWCAP2). */
enum { HWI_ARCH_GUARD_RIGHT = 0x10, HWI_ARCH_GUARD_CAPABILITY = 1 << 17 };
#define HWI_ARCH_GUARD_PROPERTY UINT32_C(0xc0000000)

/* --- time --- */

/* The generic timer counts from 19.2 MHz to 1 GHz, slowly for a CPU's clock. A unit of the clock is a 32nd of a count, so that parts of
 * ticks have room, and a tick is one count. */
enum { HWI_ARCH_CLOCK_SHIFT = 5, HWI_ARCH_TICK_SHIFT = HWI_ARCH_CLOCK_SHIFT };

/* Returns a time stamp without any order: earlier and later instructions may be executed on either side of it. */
static inline uint64_t hwi_arch_clock(void)
{
  uint64_t count;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
  return count << HWI_ARCH_CLOCK_SHIFT;
}

/* Returns a time stamp that is taken after every earlier load on which a branch depends; the entry points branch on the block. isb: a
 * counter may be read speculatively, long before its turn, but not before an isb, which waits for the branches before it. */
static inline uint64_t hwi_arch_clock_after_loads(void)
{
  uint64_t count;
  __asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(count) : : "memory");
  return count << HWI_ARCH_CLOCK_SHIFT;
}

/* Returns a time stamp that is taken after all earlier and before all later instructions. */
static inline uint64_t hwi_arch_clock_in_order(void)
{
  uint64_t count;
  __asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(count) : : "memory");
  return count << HWI_ARCH_CLOCK_SHIFT;
}

/* Returns the time stamp's units per second as the CPU states them, or 0 if it does not. */
static inline uint64_t hwi_arch_clock_hz_hint(void)
{
  uint64_t hz;
  __asm__("mrs %0, cntfrq_el0" : "=r"(hz));
  return hz << HWI_ARCH_CLOCK_SHIFT;
}

/* Returns a quarter of a second in these units. */
static inline uint64_t hwi_arch_clock_quarter_second(void)
{
  return hwi_arch_clock_hz_hint() / 4;
}

/* --- single instructions --- */

/* Adds to a number so that a signal handler on this thread that does the same loses nothing: the return from its exception makes the
 * store fail, and the loop begins again. Other threads may only read it. */
static inline void hwi_arch_add(uint64_t *to, uint64_t number)
{
  uint64_t sum;
  uint32_t failed;
  __asm__ volatile("1: ldxr %0, %2\n\tadd %0, %0, %3\n\tstxr %w1, %0, %2\n\tcbnz %w1, 1b"
                   : "=&r"(sum), "=&r"(failed), "+Q"(*to)
                   : "r"(number));
}

/* --- system calls --- */

/* Makes a system call of Linux. Returns its result, or a negative errno value. errno is not changed. */
static inline long hwi_arch_syscall(long number, long a, long b, long c, long d, long e, long f)
{
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory", "cc");
  return x0;
}

/* Tells the processor that the thread waits in a loop. */
static inline void hwi_arch_pause(void)
{
  __asm__ volatile("yield");
}

/* Makes a child that shares this address space, and runs function(argument) there on the stack that ends at `stack_end`,
 * a multiple of 16. The function must not return. Returns as a system call. */
static inline long hwi_arch_clone(long number, long flags, void *stack_end, void (*function)(void *), void *argument)
{
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = flags;
  register void *x1 __asm__("x1") = stack_end;
  register void *x2 __asm__("x2") = NULL;
  register void *x3 __asm__("x3") = NULL;
  register void *x4 __asm__("x4") = NULL;
  register void (*x9)(void *) __asm__("x9") = function;
  register void *x10 __asm__("x10") = argument;
  __asm__ volatile("svc #0\n\t"
                   "cbnz x0, 1f\n\t"
                   "mov x29, xzr\n\t"
                   "mov x0, x10\n\t"
                   "blr x9\n\t"
                   "brk #1\n"
                   "1:"
                   : "+r"(x0)
                   : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x9), "r"(x10)
                   : "memory", "cc");
  return x0;
}

#endif
