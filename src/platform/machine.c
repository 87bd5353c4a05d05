/* machine.c - the registers of a thread as core dumps and ptrace have them, for each CPU that is known */
#include "platform/machine.h"

#include <elf.h>
#include <string.h>

#ifndef NT_ARM_SYSTEM_CALL
#define NT_ARM_SYSTEM_CALL 0x404
#endif

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* --- x86-64: the registers of struct user_regs_struct; vectors as XSAVE writes them --- */

static const char *const x86_64_names[] = {
    "r15", "r14",      "r13", "r12", "rbp",    "rbx", "r11", "r10",     "r9",      "r8", "rax", "rcx", "rdx", "rsi",
    "rdi", "orig_rax", "rip", "cs",  "eflags", "rsp", "ss",  "fs_base", "gs_base", "ds", "es",  "fs",  "gs"};
static const uint8_t x86_64_places[] = {10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0, 16};
static const uint8_t x86_64_preserved[] = {3, 6, 12, 13, 14, 15}; /* rbx, rbp, r12 to r15 */

/* --- 64-bit Arm: x0 to x30, sp, pc, pstate; 32 vectors of 16 bytes --- */

static const char *const aarch64_names[] = {"x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",    "x7",  "x8",
                                            "x9",  "x10", "x11", "x12", "x13", "x14", "x15",   "x16", "x17",
                                            "x18", "x19", "x20", "x21", "x22", "x23", "x24",   "x25", "x26",
                                            "x27", "x28", "x29", "x30", "sp",  "pc",  "pstate"};
static const uint8_t aarch64_places[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                         16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
static const uint8_t aarch64_preserved[] = {19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29};

static const struct hwi_machine machines[] = {
    {.elf_machine = EM_X86_64,
     .register_count = COUNT(x86_64_names),
     .names = x86_64_names,
     .stack_pointer = 19,
     .program_counter = 16,
     .link = HWI_MACHINE_NO_PLACE,
     .thread_pointer = 21,
     .system_call = 15,
     .vector_note = NT_X86_XSTATE,
     .vectors = {{160, 416}, {576, UINT32_MAX}}, /* SSE; behind a header, AVX and more of what the CPU has */
     .number_count = COUNT(x86_64_places),
     .stack_number = 7,
     .counter_number = 16,
     .places = x86_64_places,
     .preserved = x86_64_preserved,
     .preserved_count = COUNT(x86_64_preserved),
     .address_bits = 64},
    {.elf_machine = EM_AARCH64,
     .register_count = COUNT(aarch64_names),
     .names = aarch64_names,
     .stack_pointer = 31,
     .program_counter = 32,
     .link = 30,
     .thread_pointer = HWI_MACHINE_NO_PLACE,
     .system_call = HWI_MACHINE_NO_PLACE,
     .thread_pointer_note = NT_ARM_TLS,
     .system_call_note = NT_ARM_SYSTEM_CALL,
     .vector_note = NT_FPREGSET,
     .vectors = {{0, 512}},
     .number_count = COUNT(aarch64_places),
     .stack_number = 31,
     .counter_number = HWI_MACHINE_NO_PLACE,
     .places = aarch64_places,
     .preserved = aarch64_preserved,
     .preserved_count = COUNT(aarch64_preserved),
     .local_is_above = true,
     .address_bits = 48},
};

const struct hwi_machine *hwi_machine_of(unsigned elf_machine)
{
  for (size_t i = 0; i < COUNT(machines); i++)
    if (machines[i].elf_machine == elf_machine)
      return &machines[i];
  return NULL;
}

size_t hwi_machine_vector_words(const struct hwi_machine *machine, uint64_t *words, size_t most,
                                const unsigned char *note, size_t bytes)
{
  size_t count = 0;
  for (size_t i = 0; i < COUNT(machine->vectors); i++) {
    const size_t end = machine->vectors[i].end < bytes ? machine->vectors[i].end : bytes;
    for (size_t off = machine->vectors[i].begin; off + sizeof *words <= end && count < most; off += sizeof *words) {
      memcpy(&words[count], note + off, sizeof *words);
      count += words[count] != 0;
    }
  }
  return count;
}
