/* link_register.h - what the CPUs have in common whose calls leave the return address in a register, the link register
 *
 * arch.h includes it after their arch_NAME.h, which has HWI_ARCH_CALLER_PC, HWI_ARCH_CALLER_BP and hwi_arch_syscall.
 */
#ifndef HWI_PLATFORM_LINK_REGISTER_H
#define HWI_PLATFORM_LINK_REGISTER_H

#include <stdint.h>
#include <sys/syscall.h>

/* --- frames --- */

/* Where a frame stored its return address: the word that ends this many words above the CFA, which is 0 or negative. */
struct hwi_arch_return_slot {
  int32_t words;
};

static inline struct hwi_arch_return_slot hwi_arch_return_slot_at(int32_t words)
{
  return (struct hwi_arch_return_slot){words};
}

/* Returns the address after the word with the return address. */
static inline uintptr_t hwi_arch_return_end(uintptr_t cfa, struct hwi_arch_return_slot slot)
{
  return cfa + (uintptr_t)((intptr_t)slot.words * (intptr_t)sizeof(uintptr_t));
}

/* The sp, after the return, of the frame that called the function in which this is used. */
#ifdef __clang__ /* its __builtin_dwarf_cfa is wrong on 64-bit Arm, and does not exist on RISC-V */
uintptr_t hwi_arch_caller_sp(void) __attribute__((error("the recorder for this CPU must be compiled by gcc")));
#define HWI_ARCH_CALLER_SP() hwi_arch_caller_sp()
#else
#define HWI_ARCH_CALLER_SP() ((uintptr_t)__builtin_dwarf_cfa())
#endif

/* The caller of a function that is about to jump to another one, and so to give up its frame: all of it is passed on. */
struct hwi_arch_left_frame {
  uintptr_t pc, sp, bp;
};

static inline __attribute__((always_inline)) struct hwi_arch_left_frame hwi_arch_leaving_frame(void)
{
  return (struct hwi_arch_left_frame){HWI_ARCH_CALLER_PC(), HWI_ARCH_CALLER_SP(), HWI_ARCH_CALLER_BP()};
}

static inline uintptr_t hwi_arch_left_pc(struct hwi_arch_left_frame frame)
{
  return frame.pc;
}

static inline uintptr_t hwi_arch_left_sp(struct hwi_arch_left_frame frame)
{
  return frame.sp;
}

/* --- calls --- */

/* Stops the thread at this place: it gets SIGTRAP, and may continue. After an instruction that traps, it would be at that one again. */
static inline void hwi_arch_trap(void)
{
  enum { TRAP = 5 };
  hwi_arch_syscall(SYS_tgkill, hwi_arch_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0),
                   hwi_arch_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0), TRAP, 0, 0, 0);
}

/* Defines a function whose parameters are a number and then up to six words. It jumps to the function that the pointer `next` holds.
 * If that is NULL, or the number is one of the two, it jumps to `other`. All arguments are in registers. */
#define HWI_ARCH_PASS_ON(name, next, other, number, number2)                                       \
  long name(long which, long a, long b, long c, long d, long e, long f);                           \
  long name(long which, long a, long b, long c, long d, long e, long f)                            \
  {                                                                                                \
    long (*to)(long, ...) = which == (number) || which == (number2) || !(next) ? (other) : (next); \
    return to(which, a, b, c, d, e, f);                                                            \
  }

#endif
