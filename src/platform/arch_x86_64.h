/* arch_x86_64.h - time stamps, registers, calls and hints on x86-64 */
#ifndef HWI_PLATFORM_ARCH_X86_64_H
#define HWI_PLATFORM_ARCH_X86_64_H

#include <cpuid.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <x86intrin.h>

enum {
  HWI_ARCH_ELF_MACHINE = 62,
  HWI_ARCH_ADDRESS_BITS = 47, /* of user space */
};

#define HWI_ARCH_UNWIND_SEGMENT PT_GNU_EH_FRAME /* type of the segment with the tables for unwinding */
#define HWI_ARCH_CLOCK_SOURCE "tsc\n"           /* the kernel's name for the clock that hwi_arch_clock reads */
#define HWI_ARCH_VDSO_CLOCK_GETTIME "__vdso_clock_gettime"

/* --- registers and frames --- */

/* DWARF's numbers of the registers: rax rdx rcx rbx rsi rdi rbp rsp r8 to r15, return address. */
enum { HWI_REG_BP = 6, HWI_REG_SP = 7, HWI_REG_RA = 16, HWI_REG_COUNT = 17, HWI_REG_LINK = HWI_REG_RA };

enum {
  HWI_ARCH_RECORD_OFF = 0,            /* from the frame pointer to the pair of the caller's and the return address */
  HWI_ARCH_HAS_RECORDS = true,        /* such pairs lead from frame to frame */
  HWI_ARCH_RECORDS_END_FRAMES = true, /* a frame with a frame pointer ends with that pair */
  HWI_ARCH_HAS_LINK = false,          /* the return address of a frame is always on the stack */
  HWI_ARCH_SIGNS_RETURNS = false,     /* and is an address */
  HWI_ARCH_SIGNAL_REGISTERS_OFF = 0,  /* the CFI of signal frames states where registers are */
  HWI_ARCH_SIGNAL_RETURN_BYTES = 9,   /* of the code to which handlers of signals return */
  HWI_ARCH_SIGNAL_PC = 8 * 16,        /* offsets in the general registers of a signal frame's context */
  HWI_ARCH_SIGNAL_SP = 8 * 15,
  HWI_ARCH_SIGNAL_BP = 8 * 10,
  HWI_ARCH_SIGNAL_LINK = HWI_ARCH_SIGNAL_PC, /* not used */
};

/* Where a frame has its return address: always in the word that ends at the CFA, so that there is nothing to store. */
__extension__ struct hwi_arch_return_slot {};

static inline struct hwi_arch_return_slot hwi_arch_return_slot_at(int32_t words)
{
  (void)words;
  return (struct hwi_arch_return_slot){};
}

/* Returns the address after the word with the return address. */
static inline uintptr_t hwi_arch_return_end(uintptr_t cfa, struct hwi_arch_return_slot slot)
{
  (void)slot;
  return cfa;
}

/* Returns the address in a word that may be a return address. */
static inline uintptr_t hwi_arch_code_address(uintptr_t word)
{
  return word;
}

/* Returns the offset from the sp of a signal frame to its registers if this is that code: mov $SYS_rt_sigreturn, %rax; syscall. Else 0.
 * glibc has CFI for it, musl has none. */
static inline int32_t hwi_arch_signal_off(const void *code)
{
  enum { IN_CONTEXT_OFF = 40 };
  static const uint8_t expected[HWI_ARCH_SIGNAL_RETURN_BYTES] = {0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05};
  return memcmp(code, expected, sizeof expected) == 0 ? IN_CONTEXT_OFF : 0;
}

enum { HWI_ARCH_CALL_BYTES = 7 }; /* of the longest call, and more than any other */

/* Returns whether the instruction that ends at `code` may be a call: call rel32, or call r/m64. */
static inline bool hwi_arch_is_after_call(const void *code)
{
  enum { DIRECT_BYTES = 5, DIRECT = 0xe8, INDIRECT = 0xff, KIND_MASK = 0x38, KIND = 0x10 };
  const uint8_t *past = code;
  bool is_call = past[-DIRECT_BYTES] == DIRECT;
  for (int bytes = 2; bytes <= HWI_ARCH_CALL_BYTES; bytes++)
    is_call |= past[-bytes] == INDIRECT && (past[1 - bytes] & KIND_MASK) == KIND;
  return is_call;
}

/* The frame that called the function in which these are used, which has a frame of its own: its return address there, its stack
 * pointer after the return, its frame pointer register. */
#define HWI_ARCH_CALLER_PC() (((const uintptr_t *)__builtin_frame_address(0))[1])
#define HWI_ARCH_CALLER_SP() ((uintptr_t)__builtin_frame_address(0) + 2 * sizeof(uintptr_t))
#define HWI_ARCH_CALLER_BP() (((const uintptr_t *)__builtin_frame_address(0))[0])

/* The caller of a function that is about to jump to another one, and so to give up its frame: the return address is still on the
 * stack then, the caller's frame pointer may not be. */
struct hwi_arch_left_frame {
  const uintptr_t *address;
  uintptr_t bp;
};

static inline __attribute__((always_inline)) struct hwi_arch_left_frame hwi_arch_leaving_frame(void)
{
  return (struct hwi_arch_left_frame){__builtin_frame_address(0), HWI_ARCH_CALLER_BP()};
}

static inline uintptr_t hwi_arch_left_pc(struct hwi_arch_left_frame frame)
{
  return frame.address[1];
}

static inline uintptr_t hwi_arch_left_sp(struct hwi_arch_left_frame frame)
{
  return (uintptr_t)(frame.address + 2);
}

/* Reads the callee-saved registers of the calling function, indexed by their DWARF numbers. */
static inline __attribute__((always_inline)) void hwi_arch_capture(uintptr_t *value, uint64_t *known)
{
  __asm__ volatile("movq %%rbx, 3*8(%0)\n\tmovq %%rbp, 6*8(%0)\n\tmovq %%rsp, 7*8(%0)\n\tmovq %%r12, 12*8(%0)\n\t"
                   "movq %%r13, 13*8(%0)\n\tmovq %%r14, 14*8(%0)\n\tmovq %%r15, 15*8(%0)\n\tleaq 0(%%rip), %%rax\n\t"
                   "movq %%rax, 16*8(%0)"
                   :
                   : "r"(value)
                   : "rax", "memory");
  *known = 1u << 3 | 1u << 6 | 1u << 7 | 0xfu << 12 | 1u << 16;
}

/* --- guarded code --- */

/* Pages have no right for it here. */
enum { HWI_ARCH_GUARD_RIGHT = 0, HWI_ARCH_GUARD_CAPABILITY = 0 };
#define HWI_ARCH_GUARD_PROPERTY UINT32_C(0)

/* --- time --- */

enum { HWI_ARCH_TICK_SHIFT = 8 }; /* from units of the clock to ticks of about 0.1 us */

/* Returns a time stamp without any order: earlier and later instructions may be executed on either side of it. */
static inline uint64_t hwi_arch_clock(void)
{
  return __rdtsc();
}

/* Returns a time stamp that is taken after every earlier load. */
static inline uint64_t hwi_arch_clock_after_loads(void)
{
  unsigned cpu;
  return __rdtscp(&cpu);
}

/* Returns a time stamp that is taken after all earlier and before all later instructions. */
static inline uint64_t hwi_arch_clock_in_order(void)
{
  unsigned cpu;
  uint64_t now = __rdtscp(&cpu);
  _mm_lfence();
  return now;
}

/* Returns the time stamp's units per second as the CPU states them, or 0 if it does not. */
static inline uint64_t hwi_arch_clock_hz_hint(void)
{
  unsigned denominator = 0, numerator = 0, crystal_hz = 0, unused = 0;
  if (!__get_cpuid(0x15, &denominator, &numerator, &crystal_hz, &unused) || !denominator || !crystal_hz)
    return 0;
  return (uint64_t)crystal_hz * numerator / denominator;
}

/* Returns about a quarter of a second in these units, at the usual 2 GHz. */
static inline uint64_t hwi_arch_clock_quarter_second(void)
{
  return UINT64_C(500) << 20;
}

/* --- single instructions --- */

/* Adds to a number in one instruction, so that a signal handler on this thread that does the same loses nothing. Other
 * threads may only read it. */
static inline void hwi_arch_add(uint64_t *to, uint64_t number)
{
  __asm__ volatile("addq %1, %0" : "+m"(*to) : "er"(number) : "cc");
}

/* Tells the processor that the thread waits in a loop. */
static inline void hwi_arch_pause(void)
{
  _mm_pause();
}

/* Stops the thread at this place: it gets SIGTRAP, and may continue. */
static inline void hwi_arch_trap(void)
{
  __asm__ volatile("int3");
}

/* --- system calls --- */

/* Makes a system call of Linux. Returns its result, or a negative errno value. errno is not changed. */
static inline long hwi_arch_syscall(long number, long a, long b, long c, long d, long e, long f)
{
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

/* Makes a child that shares this address space, and runs function(argument) there on the stack that ends at `stack_end`,
 * a multiple of 16. The function must not return. Returns as a system call. */
static inline long hwi_arch_clone(long number, long flags, void *stack_end, void (*function)(void *), void *argument)
{
  register void *r10 __asm__("r10") = NULL;
  register void *r8 __asm__("r8") = NULL;
  register void (*r12)(void *) __asm__("r12") = function;
  register void *r13 __asm__("r13") = argument;
  long result;
  __asm__ volatile("syscall\n\t"
                   "testq %0, %0\n\t"
                   "jne 1f\n\t"
                   "xorl %%ebp, %%ebp\n\t"
                   "movq %%r13, %%rdi\n\t"
                   "callq *%%r12\n\t"
                   "ud2\n"
                   "1:"
                   : "=a"(result)
                   : "0"(number), "D"(flags), "S"(stack_end), "d"(NULL), "r"(r10), "r"(r8), "r"(r12), "r"(r13)
                   : "rcx", "r11", "memory");
  return result;
}

/* Defines a function whose parameters are a number and then any arguments. It jumps to the function that the pointer
 * `next` holds. So no argument is changed or even read, and there is no frame in between: where further arguments would
 * be, the caller's frame may hold words that other threads write. If `next` is NULL, or the number is one of the two, it
 * jumps to `other`. */
#define HWI_ARCH_PASS_ON(name, next, other, number, number2)     \
  void name(void);                                               \
  __attribute__((naked)) void name(void)                         \
  {                                                              \
    __asm__("cmpq %2, %%rdi\n\t"                                 \
            "je %P1\n\t"                                         \
            "cmpq %3, %%rdi\n\t"                                 \
            "je %P1\n\t"                                         \
            "movq %0, %%r11\n\t"                                 \
            "testq %%r11, %%r11\n\t"                             \
            "je %P1\n\t"                                         \
            "jmp *%%r11"                                         \
            :                                                    \
            : "m"(next), "i"(other), "i"(number), "i"(number2)); \
  }

#endif
