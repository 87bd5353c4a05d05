/* arch_riscv64.h - time stamps, registers, calls and hints on 64-bit RISC-V
 *
 * A call leaves the return address in ra. A function that makes calls itself stores it in its frame; with a frame pointer, s0 is the end
 * of the frame (the CFA), and the pair of the caller's s0 and the return address ends there.
 */
#ifndef HWI_PLATFORM_ARCH_RISCV64_H
#define HWI_PLATFORM_ARCH_RISCV64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
  HWI_ARCH_ELF_MACHINE = 243,
  HWI_ARCH_ADDRESS_BITS = 47, /* of user space; more only for programs that ask for it in each mmap */
};

#define HWI_ARCH_UNWIND_SEGMENT PT_GNU_EH_FRAME     /* type of the segment with the tables for unwinding */
#define HWI_ARCH_CLOCK_SOURCE "riscv_clocksource\n" /* the kernel's name for the clock that hwi_arch_clock reads */
#define HWI_ARCH_VDSO_CLOCK_GETTIME "__vdso_clock_gettime"

/* --- registers and frames --- */

/* DWARF's numbers of the registers: x0 to x31, among them ra, sp and s0. The pc has none; it gets the next one here. */
enum { HWI_REG_LINK = 1, HWI_REG_SP = 2, HWI_REG_BP = 8, HWI_REG_RA = 32, HWI_REG_COUNT = 33 };

enum {
  HWI_ARCH_RECORD_OFF = -16,          /* from the frame pointer to the pair of the caller's and the return address */
  HWI_ARCH_HAS_RECORDS = true,        /* such pairs lead from frame to frame */
  HWI_ARCH_RECORDS_END_FRAMES = true, /* a frame with a frame pointer ends with that pair */
  HWI_ARCH_HAS_LINK = true,           /* the return address of a frame may be in a register */
  HWI_ARCH_SIGNS_RETURNS = false,     /* and is an address */
  HWI_ARCH_SIGNAL_REGISTERS_OFF =
      304, /* from the sp of a signal frame: siginfo_t, then pc and x1 to x31 of the ucontext_t */
  HWI_ARCH_SIGNAL_RETURN_BYTES = 8, /* of the code to which handlers of signals return */
  HWI_ARCH_SIGNAL_PC = 0,           /* offsets in these registers */
  HWI_ARCH_SIGNAL_LINK = 8 * HWI_REG_LINK,
  HWI_ARCH_SIGNAL_SP = 8 * HWI_REG_SP,
  HWI_ARCH_SIGNAL_BP = 8 * HWI_REG_BP,
};

/* Returns the address in a word that may be a return address. */
static inline uintptr_t hwi_arch_code_address(uintptr_t word)
{
  return word;
}

/* Returns the offset from the sp of a signal frame to its registers if this is that code: li a7, SYS_rt_sigreturn; ecall. Else 0. The
 * kernel has CFI for it; musl and emulators have none. */
static inline int32_t hwi_arch_signal_off(const void *code)
{
  static const uint32_t expected[] = {0x08b00893, 0x00000073};
  return memcmp(code, expected, sizeof expected) == 0 ? HWI_ARCH_SIGNAL_REGISTERS_OFF : 0;
}

enum { HWI_ARCH_CALL_BYTES = 4 }; /* of the longest call */

/* Returns whether the instruction that ends at `code` is a call: jal or jalr to ra, or c.jalr. */
static inline bool hwi_arch_is_after_call(const void *code)
{
  uint32_t word;
  memcpy(&word, (const uint8_t *)code - sizeof word, sizeof word);
  return (word & 0xfff) == 0x0ef || (word & 0x7fff) == 0x00e7 ||
         ((word & 0xf07f0000) == 0x90020000 && (word & 0x0f800000) != 0);
}

/* The return address of the function in which this is used. */
#define HWI_ARCH_CALLER_PC() ((uintptr_t)__builtin_return_address(0))

/* s0 of the caller of the function in which this is used. A function that only jumps would not store ra, and have s0 in its place. */
#define HWI_ARCH_CALLER_BP()                             \
  (__extension__({                                       \
    __asm__ volatile("" : : : "ra");                     \
    ((const uintptr_t *)__builtin_frame_address(0))[-2]; \
  }))

/* Reads the callee-saved registers of the calling function, indexed by their DWARF numbers: sp, s0, s1, s2 to s11, and the pc. */
static inline __attribute__((always_inline)) void hwi_arch_capture(uintptr_t *value, uint64_t *known)
{
  uintptr_t pc;
  __asm__ volatile("sd sp, 2*8(%1)\n\tsd s0, 8*8(%1)\n\tsd s1, 9*8(%1)\n\t"
                   "sd s2, 18*8(%1)\n\tsd s3, 19*8(%1)\n\tsd s4, 20*8(%1)\n\tsd s5, 21*8(%1)\n\tsd s6, 22*8(%1)\n\t"
                   "sd s7, 23*8(%1)\n\tsd s8, 24*8(%1)\n\tsd s9, 25*8(%1)\n\tsd s10, 26*8(%1)\n\tsd s11, 27*8(%1)\n\t"
                   "auipc %0, 0\n\tsd %0, 32*8(%1)"
                   : "=&r"(pc)
                   : "r"(value)
                   : "memory");
  *known = UINT64_C(1) << HWI_REG_SP | UINT64_C(3) << HWI_REG_BP | UINT64_C(0x3ff) << 18 | UINT64_C(1) << HWI_REG_RA;
}

/* --- guarded code --- */

/* Pages have no right for it here. */
enum { HWI_ARCH_GUARD_RIGHT = 0, HWI_ARCH_GUARD_CAPABILITY = 0 };
#define HWI_ARCH_GUARD_PROPERTY UINT32_C(0)

/* --- time --- */

/* The timer counts at 1 to 100 MHz, slowly for a CPU's clock. A unit of the clock is a 32nd of a count, so that parts of ticks have
 * room, and a tick is one count. */
enum { HWI_ARCH_CLOCK_SHIFT = 5, HWI_ARCH_TICK_SHIFT = HWI_ARCH_CLOCK_SHIFT };

/* Returns a time stamp without any order: earlier and later instructions may be executed on either side of it. */
static inline uint64_t hwi_arch_clock(void)
{
  uint64_t count;
  __asm__ volatile("rdtime %0" : "=r"(count));
  return count << HWI_ARCH_CLOCK_SHIFT;
}

/* Returns a time stamp that is taken after every earlier load. For fences, reading the timer is input from a device. */
static inline uint64_t hwi_arch_clock_after_loads(void)
{
  uint64_t count;
  __asm__ volatile("fence r, i\n\trdtime %0" : "=r"(count) : : "memory");
  return count << HWI_ARCH_CLOCK_SHIFT;
}

/* Returns a time stamp that is taken after all earlier and before all later accesses to memory. */
static inline uint64_t hwi_arch_clock_in_order(void)
{
  uint64_t count;
  __asm__ volatile("fence rw, i\n\trdtime %0\n\tfence i, rw" : "=r"(count) : : "memory");
  return count << HWI_ARCH_CLOCK_SHIFT;
}

/* Returns the time stamp's units per second as the CPU states them, or 0 if it does not: only the kernel knows them here. */
static inline uint64_t hwi_arch_clock_hz_hint(void)
{
  return 0;
}

/* Returns about a quarter of a second in these units, at the usual 10 MHz. */
static inline uint64_t hwi_arch_clock_quarter_second(void)
{
  return UINT64_C(2500000) << HWI_ARCH_CLOCK_SHIFT;
}

/* --- single instructions --- */

/* Adds to a number in one instruction, so that a signal handler on this thread that does the same loses nothing. Other threads may
 * only read it. */
static inline void hwi_arch_add(uint64_t *to, uint64_t number)
{
  __asm__ volatile("amoadd.d zero, %1, %0" : "+A"(*to) : "r"(number));
}

/* Tells the processor that the thread waits in a loop: a pause, which older CPUs take for a fence of nothing. */
static inline void hwi_arch_pause(void)
{
  __asm__ volatile(".4byte 0x0100000f");
}

/* --- system calls --- */

/* Makes a system call of Linux. Returns its result, or a negative errno value. errno is not changed. */
static inline long hwi_arch_syscall(long number, long a, long b, long c, long d, long e, long f)
{
  register long a7 __asm__("a7") = number;
  register long a0 __asm__("a0") = a;
  register long a1 __asm__("a1") = b;
  register long a2 __asm__("a2") = c;
  register long a3 __asm__("a3") = d;
  register long a4 __asm__("a4") = e;
  register long a5 __asm__("a5") = f;
  __asm__ volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5) : "memory");
  return a0;
}

/* Makes a child that shares this address space, and runs function(argument) there on the stack that ends at `stack_end`,
 * a multiple of 16. The function must not return. Returns as a system call. */
static inline long hwi_arch_clone(long number, long flags, void *stack_end, void (*function)(void *), void *argument)
{
  register long a7 __asm__("a7") = number;
  register long a0 __asm__("a0") = flags;
  register void *a1 __asm__("a1") = stack_end;
  register void *a2 __asm__("a2") = NULL;
  register void *a3 __asm__("a3") = NULL;
  register void (*t1)(void *) __asm__("t1") = function;
  register void *t2 __asm__("t2") = argument;
  __asm__ volatile("ecall\n\t"
                   "bnez a0, 1f\n\t"
                   "mv s0, zero\n\t"
                   "mv a0, t2\n\t"
                   "jalr t1\n\t"
                   "ebreak\n"
                   "1:"
                   : "+r"(a0)
                   : "r"(a7), "r"(a1), "r"(a2), "r"(a3), "r"(t1), "r"(t2)
                   : "memory");
  return a0;
}

#endif
