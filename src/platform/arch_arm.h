/* arch_arm.h - time stamps, registers, calls and hints on 32-bit Arm (ARMv7-A, hard float)
 *
 * A call leaves the return address in r14, the link register, with bit 0 set if the caller is Thumb code. Nearly all code is Thumb-2;
 * its frame pointer, where a function has one, is r7. gcc puts it below the variables of a frame, at no fixed distance from the saved
 * registers, so that there is no chain of frame pointers. The tables for unwinding are .ARM.exidx and .ARM.extab (cfi_exidx.c).
 *
 * What runs in the target is compiled as Arm code that never uses r7 (cmake/Recorder.cmake), so that r7 is that of the caller.
 */
#ifndef HWI_PLATFORM_ARCH_ARM_H
#define HWI_PLATFORM_ARCH_ARM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
  HWI_ARCH_ELF_MACHINE = 40,
  HWI_ARCH_ADDRESS_BITS = 32, /* of user space */
};

#define HWI_ARCH_UNWIND_SEGMENT PT_ARM_EXIDX /* type of the segment with the tables for unwinding */

/* The generic timer may be missing or closed to programs: no clock of the kernel has this name, so that events have the kernel's time. */
#define HWI_ARCH_CLOCK_SOURCE "none of 32-bit Arm\n"
#define HWI_ARCH_VDSO_CLOCK_GETTIME "__vdso_clock_gettime64" /* Linux 5.5 */

/* --- registers and frames --- */

/* DWARF's numbers of the registers: r0 to r15. */
enum { HWI_REG_BP = 7, HWI_REG_SP = 13, HWI_REG_LINK = 14, HWI_REG_RA = 15, HWI_REG_COUNT = 16 };

enum {
  HWI_ARCH_RECORD_OFF = 0,             /* not used */
  HWI_ARCH_HAS_RECORDS = false,        /* frame pointers do not lead from frame to frame */
  HWI_ARCH_RECORDS_END_FRAMES = false, /* not used */
  HWI_ARCH_HAS_LINK = true,            /* the return address of a frame may be in a register */
  HWI_ARCH_SIGNS_RETURNS = false,      /* and is an address */
  HWI_ARCH_SIGNAL_REGISTERS_OFF = 0,   /* differs: see hwi_arch_signal_off */
  HWI_ARCH_SIGNAL_RETURN_BYTES = 8,    /* of the code to which handlers of signals return */
  HWI_ARCH_SIGNAL_BP = 4 * HWI_REG_BP, /* offsets in the registers of a signal frame: r0 to r15 */
  HWI_ARCH_SIGNAL_LINK = 4 * HWI_REG_LINK,
  HWI_ARCH_SIGNAL_SP = 4 * HWI_REG_SP,
  HWI_ARCH_SIGNAL_PC = 4 * HWI_REG_RA,
  HWI_ARCH_THREAD_END_BYTES = 8, /* of code that ends a thread */
};

/* Returns the address in a word that may be a return address. */
static inline uintptr_t hwi_arch_code_address(uintptr_t word)
{
  return word & ~(uintptr_t)1;
}

/* Returns whether the code is "mov r7, #number; svc #0", as Arm code or in one of the two forms of Thumb code. */
static inline bool hwi_arch_is_call_of(const void *code, uint32_t number)
{
  enum {
    ARM_MOV = 0xe3a07000,
    ARM_SVC = 0xef000000,
    ARM_OLD_SVC = 0xef900000,
    T_MOV = 0x2700,
    T_SVC = 0xdf00,
    WIDE_1 = 0xf04f,
    WIDE_2 = 0x0700
  };
  uint32_t words[2];
  uint16_t halves[4];
  memcpy(words, code, sizeof words);
  memcpy(halves, code, sizeof halves);
  return (words[0] == ((uint32_t)ARM_MOV | number) &&
          (words[1] == (uint32_t)ARM_SVC || words[1] == ((uint32_t)ARM_OLD_SVC | number))) ||
         (halves[0] == (T_MOV | number) && halves[1] == T_SVC) ||
         (halves[0] == WIDE_1 && halves[1] == (WIDE_2 | number) && halves[2] == T_SVC);
}

/* Returns the offset from the sp of a signal frame to its registers if this is the code to which handlers return, else 0. With
 * SA_SIGINFO, a siginfo_t is before the ucontext_t. glibc has tables for this code; musl and the kernel have none. */
static inline int32_t hwi_arch_signal_off(const void *code)
{
  enum { SIGRETURN = 119, RT_SIGRETURN = 173, CONTEXT_OFF = 32, SIGINFO_BYTES = 128 };
  return hwi_arch_is_call_of(code, RT_SIGRETURN) ? SIGINFO_BYTES + CONTEXT_OFF
         : hwi_arch_is_call_of(code, SIGRETURN)  ? CONTEXT_OFF
                                                 : 0;
}

enum { HWI_ARCH_CALL_BYTES = 4 };

static inline bool hwi_arch_is_after_call(const void *code)
{
  (void)code;
  return true; /* not used: frame pointers do not lead from frame to frame */
}

/* Returns whether this code, to which a function returns, ends the thread: the function was the thread's first one. */
static inline bool hwi_arch_ends_thread(const void *code)
{
  enum { EXIT = 1 };
  return hwi_arch_is_call_of(code, EXIT);
}

#define HWI_ARCH_CALLER_PC() hwi_arch_code_address((uintptr_t)__builtin_return_address(0))

/* r7 of the caller of the function in which this is used. */
#define HWI_ARCH_CALLER_BP()                   \
  (__extension__({                             \
    uintptr_t r7;                              \
    __asm__ volatile("mov %0, r7" : "=r"(r7)); \
    r7;                                        \
  }))

/* Reads the callee-saved registers of the calling function, indexed by their DWARF numbers: r4 to r11, sp, and the pc. */
static inline __attribute__((always_inline)) void hwi_arch_capture(uintptr_t *value, uint64_t *known)
{
  uintptr_t scratch;
  __asm__ volatile("str r4, [%1, #4*4]\n\tstr r5, [%1, #5*4]\n\tstr r6, [%1, #6*4]\n\tstr r7, [%1, #7*4]\n\t"
                   "str r8, [%1, #8*4]\n\tstr r9, [%1, #9*4]\n\tstr r10, [%1, #10*4]\n\tstr r11, [%1, #11*4]\n\t"
                   "mov %0, sp\n\tstr %0, [%1, #13*4]\n\tmov %0, pc\n\tstr %0, [%1, #15*4]"
                   : "=&r"(scratch)
                   : "r"(value)
                   : "memory");
  *known = UINT64_C(0xff) << 4 | UINT64_C(1) << HWI_REG_SP | UINT64_C(1) << HWI_REG_RA;
}

/* Pages have no right for it here. */
enum { HWI_ARCH_GUARD_RIGHT = 0, HWI_ARCH_GUARD_CAPABILITY = 0 };
#define HWI_ARCH_GUARD_PROPERTY UINT32_C(0)

/* --- time: the kernel's, see above --- */

enum { HWI_ARCH_TICK_SHIFT = 6 };

static inline uint64_t hwi_arch_clock(void)
{
  return 0;
}

static inline uint64_t hwi_arch_clock_after_loads(void)
{
  return 0;
}

static inline uint64_t hwi_arch_clock_in_order(void)
{
  return 0;
}

static inline uint64_t hwi_arch_clock_hz_hint(void)
{
  return 0;
}

static inline uint64_t hwi_arch_clock_quarter_second(void)
{
  return 250000000;
}

/* --- single instructions --- */

/* Adds to a number so that a signal handler on this thread that does the same loses nothing: the return from its exception makes the
 * store fail, and the loop begins again. Other threads may only read it, with an instruction for 64 bits. */
static inline void hwi_arch_add(uint64_t *to, uint64_t number)
{
  uint64_t sum;
  uint32_t failed;
  __asm__ volatile("1: ldrexd %Q0, %R0, [%3]\n\tadds %Q0, %Q0, %Q4\n\tadc %R0, %R0, %R4\n\t"
                   "strexd %1, %Q0, %R0, [%3]\n\tcmp %1, #0\n\tbne 1b"
                   : "=&r"(sum), "=&r"(failed), "+m"(*to)
                   : "r"(to), "r"(number)
                   : "cc");
}

/* Tells the processor that the thread waits in a loop. */
static inline void hwi_arch_pause(void)
{
  __asm__ volatile("yield");
}

/* --- system calls --- */

/* Makes a system call of Linux. Returns its result, or a negative errno value. errno is not changed. The number must be in r7, which
 * may be the frame pointer, so that the compiler cannot put it there. */
static inline long hwi_arch_syscall(long number, long a, long b, long c, long d, long e, long f)
{
  register long r12 __asm__("r12") = number;
  register long r0 __asm__("r0") = a;
  register long r1 __asm__("r1") = b;
  register long r2 __asm__("r2") = c;
  register long r3 __asm__("r3") = d;
  register long r4 __asm__("r4") = e;
  register long r5 __asm__("r5") = f;
  __asm__ volatile("mov r6, r7\n\tmov r7, r12\n\tsvc #0\n\tmov r7, r6"
                   : "+r"(r0)
                   : "r"(r12), "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5)
                   : "r6", "memory", "cc");
  return r0;
}

/* Makes a child that shares this address space, and runs function(argument) there on the stack that ends at `stack_end`,
 * a multiple of 16. The function must not return. Returns as a system call. */
static inline long hwi_arch_clone(long number, long flags, void *stack_end, void (*function)(void *), void *argument)
{
  register long r12 __asm__("r12") = number;
  register long r0 __asm__("r0") = flags;
  register void *r1 __asm__("r1") = stack_end;
  register void *r2 __asm__("r2") = NULL;
  register void *r3 __asm__("r3") = NULL;
  register void *r4 __asm__("r4") = NULL;
  register void (*r5)(void *) __asm__("r5") = function;
  register void *r8 __asm__("r8") = argument;
  __asm__ volatile("mov r6, r7\n\tmov r7, r12\n\tsvc #0\n\tmov r7, r6\n\t"
                   "cmp r0, #0\n\t"
                   "bne 1f\n\t"
                   "mov r0, r8\n\t"
                   "blx r5\n\t"
                   "udf #0\n"
                   "1:"
                   : "+r"(r0)
                   : "r"(r12), "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5), "r"(r8)
                   : "r6", "memory", "cc");
  return r0;
}

#endif
