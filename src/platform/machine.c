/* machine.c - the registers of a thread as core dumps and ptrace have them, for each CPU that is known */
#include "platform/machine.h"

#include <elf.h>
#include <string.h>

#ifndef NT_ARM_SYSTEM_CALL
#define NT_ARM_SYSTEM_CALL 0x404
#endif
#ifndef NT_ARM_SVE
#define NT_ARM_SVE 0x405
#endif

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* The vector registers of x86 in the note: SSE; behind a header, AVX and more of what the CPU has. */
#define XSAVE_VECTORS \
  {                   \
    {160, 416},       \
    {                 \
      576, UINT32_MAX \
    }                 \
  }

/* --- x86-64: the registers of struct user_regs_struct; vectors as XSAVE writes them --- */

static const char *const x86_64_names[] = {
    "r15", "r14",      "r13", "r12", "rbp",    "rbx", "r11", "r10",     "r9",      "r8", "rax", "rcx", "rdx", "rsi",
    "rdi", "orig_rax", "rip", "cs",  "eflags", "rsp", "ss",  "fs_base", "gs_base", "ds", "es",  "fs",  "gs"};
static const uint8_t x86_64_places[] = {10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0, 16};
static const uint8_t x86_64_preserved[] = {3, 6, 12, 13, 14, 15}; /* rbx, rbp, r12 to r15 */

/* --- i386 --- */

static const char *const i386_names[] = {"ebx", "ecx", "edx",      "esi", "edi", "ebp",    "eax", "ds", "es",
                                         "fs",  "gs",  "orig_eax", "eip", "cs",  "eflags", "esp", "ss"};
static const uint8_t i386_places[] = {6, 1, 2, 0, 15, 5, 3, 4, 12};
static const uint8_t i386_preserved[] = {3, 5, 6, 7}; /* ebx, ebp, esi, edi */

/* --- 64-bit Arm: x0 to x30, sp, pc, pstate; 32 vectors of 16 bytes --- */

static const char *const aarch64_names[] = {"x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",    "x7",  "x8",
                                            "x9",  "x10", "x11", "x12", "x13", "x14", "x15",   "x16", "x17",
                                            "x18", "x19", "x20", "x21", "x22", "x23", "x24",   "x25", "x26",
                                            "x27", "x28", "x29", "x30", "sp",  "pc",  "pstate"};
static const uint8_t aarch64_places[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                         16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
static const uint8_t aarch64_preserved[] = {19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29};

/* --- 64-bit RISC-V: pc, then x1 to x31. Their names are those of the calling convention --- */

static const char *const riscv64_names[] = {"pc", "ra", "sp", "gp", "tp",  "t0",  "t1", "t2", "s0", "s1", "a0",
                                            "a1", "a2", "a3", "a4", "a5",  "a6",  "a7", "s2", "s3", "s4", "s5",
                                            "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6"};
/* x0 is always 0, so that no table uses it: its place is that of the pc. */
static const uint8_t riscv64_places[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                         16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
static const uint8_t riscv64_preserved[] = {8, 9, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27};

static const struct hwi_machine machines[] = {
    {.elf_machine = EM_X86_64,
     .word_bytes = 8,
     .tid_off = 32,
     .registers_off = 112,
     .note_bytes = 336,
     .register_count = COUNT(x86_64_names),
     .names = x86_64_names,
     .stack_pointer = 19,
     .program_counter = 16,
     .link = HWI_MACHINE_NO_PLACE,
     .thread_pointer = 21,
     .segment = HWI_MACHINE_NO_PLACE,
     .system_call = 15,
     .vector_note = NT_X86_XSTATE,
     .vectors = XSAVE_VECTORS,
     .number_count = COUNT(x86_64_places),
     .stack_number = 7,
     .frame_number = 6,
     .counter_number = 16,
     .places = x86_64_places,
     .preserved = x86_64_preserved,
     .preserved_count = COUNT(x86_64_preserved),
     .local_list = 1,
     .descriptor_vector = 1,
     .descriptor_itself = 2,
     .address_bits = 64,
     .pointer_bits = 56,
     .halt = 0xf4}, /* hlt */
    {.elf_machine = EM_386,
     .word_bytes = 4,
     .tid_off = 24,
     .registers_off = 72,
     .note_bytes = 144,
     .register_count = COUNT(i386_names),
     .names = i386_names,
     .stack_pointer = 15,
     .program_counter = 12,
     .link = HWI_MACHINE_NO_PLACE,
     .thread_pointer = HWI_MACHINE_NO_PLACE,
     .segment = 10, /* gs */
     .system_call = 11,
     .thread_pointer_note = NT_386_TLS,
     .vector_note = NT_X86_XSTATE,
     .vectors = XSAVE_VECTORS,
     .number_count = COUNT(i386_places),
     .stack_number = 4,
     .frame_number = 5,
     .counter_number = 8,
     .places = i386_places,
     .preserved = i386_preserved,
     .preserved_count = COUNT(i386_preserved),
     .local_list = 1,
     .descriptor_vector = 1,
     .descriptor_itself = 2,
     .address_bits = 64,
     .pointer_bits = 56,
     .halt = 0xf4}, /* hlt */
    {.elf_machine = EM_AARCH64,
     .word_bytes = 8,
     .tid_off = 32,
     .registers_off = 112,
     .note_bytes = 112 + 8 * COUNT(aarch64_names),
     .register_count = COUNT(aarch64_names),
     .names = aarch64_names,
     .stack_pointer = 31,
     .program_counter = 32,
     .link = 30,
     .thread_pointer = HWI_MACHINE_NO_PLACE,
     .segment = HWI_MACHINE_NO_PLACE,
     .system_call = HWI_MACHINE_NO_PLACE,
     .thread_pointer_note = NT_ARM_TLS,
     .system_call_note = NT_ARM_SYSTEM_CALL,
     .vector_note = NT_FPREGSET,
     .long_vector_note = NT_ARM_SVE,
     .vectors = {{0, 512}},
     .number_count = COUNT(aarch64_places),
     .stack_number = 31,
     .frame_number = 29,
     .counter_number = HWI_MACHINE_NO_PLACE,
     .places = aarch64_places,
     .preserved = aarch64_preserved,
     .preserved_count = COUNT(aarch64_preserved),
     .local_is_above = true,
     .local_gap_words = 2,
     .local_list = 0,
     .descriptor_robust = 28,
     .address_bits = 48,
     .ignored_bits = 8,
     .pointer_bits = 52},
    {.elf_machine = EM_RISCV,
     .word_bytes = 8,
     .tid_off = 32,
     .registers_off = 112,
     .note_bytes = 112 + 8 * COUNT(riscv64_names),
     .register_count = COUNT(riscv64_names),
     .names = riscv64_names,
     .stack_pointer = 2,
     .program_counter = 0,
     .link = 1,
     .thread_pointer = 4,
     .segment = HWI_MACHINE_NO_PLACE,
     .system_call = HWI_MACHINE_NO_PLACE,
     .vector_note = NT_FPREGSET,
     .vectors = {{0, 256}},
     .number_count = COUNT(riscv64_places),
     .stack_number = 2,
     .frame_number = 8,
     .counter_number = HWI_MACHINE_NO_PLACE,
     .places = riscv64_places,
     .preserved = riscv64_preserved,
     .preserved_count = COUNT(riscv64_preserved),
     .local_is_above = true,
     .local_list = -2,
     .descriptor_robust = 28,
     .address_bits = 64,
     .pointer_bits = 56},
};

const struct hwi_machine *hwi_machine_of(unsigned elf_machine, unsigned word_bytes)
{
  for (size_t i = 0; i < COUNT(machines); i++)
    if (machines[i].elf_machine == elf_machine && machines[i].word_bytes == word_bytes)
      return &machines[i];
  return NULL;
}

const struct hwi_machine *hwi_machine_of_registers(size_t bytes)
{
  for (size_t i = 0; i < COUNT(machines); i++)
    if (bytes == (size_t)machines[i].register_count * machines[i].word_bytes)
      return &machines[i];
  return NULL;
}

/* Each segment has four words of 32 bits: its number, then its base. The selector has its number above three bits. */
static uint64_t segment_of(uint64_t selector, const struct hwi_machine_note *note)
{
  enum { FLAG_BITS = 3, SEGMENT_BYTES = 16 };
  uint32_t words[SEGMENT_BYTES / sizeof(uint32_t)];
  for (size_t off = 0; off + sizeof words <= note->size; off += sizeof words) {
    memcpy(words, note->bytes + off, sizeof words);
    if (words[0] == (selector & UINT16_MAX) >> FLAG_BITS)
      return words[1];
  }
  return 0;
}

uint64_t hwi_machine_thread_pointer(const struct hwi_machine *machine, const uint64_t *registers,
                                    const struct hwi_machine_note *note)
{
  uint64_t pointer = 0;
  if (machine->segment != HWI_MACHINE_NO_PLACE)
    return segment_of(registers[machine->segment], note);
  if (note->size >= machine->word_bytes)
    memcpy(&pointer, note->bytes, machine->word_bytes);
  return pointer;
}

/* A word of 32 bits has its sign in bit 31. */
int64_t hwi_machine_system_call(const struct hwi_machine *machine, const uint64_t *registers)
{
  if (machine->system_call == HWI_MACHINE_NO_PLACE)
    return -1;
  const uint64_t number = registers[machine->system_call];
  return machine->word_bytes == sizeof number ? (int64_t)number : (int32_t)number;
}

/* What follows long vectors are flags and predicates, which look like no addresses. */
size_t hwi_machine_vector_words(const struct hwi_machine *machine, const struct hwi_machine_note *note, uint64_t *words,
                                size_t most)
{
  static const struct hwi_machine_bytes after_header[COUNT(machine->vectors)] = {{16, UINT32_MAX}};
  const struct hwi_machine_bytes *vectors = note->kind == machine->long_vector_note ? after_header : machine->vectors;
  size_t count = 0;
  for (size_t i = 0; i < COUNT(machine->vectors); i++) {
    const size_t end = vectors[i].end < note->size ? vectors[i].end : note->size;
    for (size_t off = vectors[i].begin; off + machine->word_bytes <= end && count < most; off += machine->word_bytes) {
      words[count] = 0;
      memcpy(&words[count], note->bytes + off, machine->word_bytes); /* all of these CPUs have the lowest byte first */
      count += words[count] != 0;
    }
  }
  return count;
}
