/* machine.h - the registers of a thread as core dumps and ptrace have them, for each CPU that is known
 *
 * place      index of a register in the note about a thread (NT_PRSTATUS); each is a word of the CPU.
 * number     DWARF's number of a register, as tables for unwinding use it.
 *
 * Tools read core dumps of any of these CPUs on any other one.
 */
#ifndef HWI_PLATFORM_MACHINE_H
#define HWI_PLATFORM_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HWI_MACHINE_REGISTERS_MAX = 34, HWI_MACHINE_NUMBERS_MAX = 32, HWI_MACHINE_NO_PLACE = UINT8_MAX };

enum { HWI_MACHINE_SIGNAL_OFF = 12 }; /* in the note about a thread */

/* What a core dump or the kernel says about a thread in one note. */
struct hwi_machine_note {
  uint32_t kind; /* NT_* */
  const unsigned char *bytes;
  size_t size;
};

/* A part of a note. */
struct hwi_machine_bytes {
  uint32_t begin, end;
};

struct hwi_machine {
  uint16_t elf_machine;
  uint8_t word_bytes;
  uint8_t tid_off, registers_off; /* in the note */
  uint16_t note_bytes;            /* it has at least so many */
  uint8_t register_count;
  const char *const *names;
  uint8_t stack_pointer, program_counter; /* places */
  uint8_t link;                 /* place of the return address of a function that has not stored it, or NO_PLACE */
  uint8_t thread_pointer;       /* place; NO_PLACE: in a note of its own */
  uint8_t segment;              /* place of what chooses the thread pointer in that note, or NO_PLACE */
  uint8_t system_call;          /* place of its number, negative outside of one; NO_PLACE: as above */
  uint32_t thread_pointer_note; /* a word, or segments; 0: none */
  uint32_t system_call_note;    /* 32 bits; 0: none */
  uint32_t vector_note;
  /* Of vectors of any length, after a header; 0: none. gdb writes it in place of vector_note, Linux after it. */
  uint32_t long_vector_note;
  struct hwi_machine_bytes vectors[2]; /* the bytes of vector_note with vector registers */
  uint8_t number_count;                /* numbers that a table may use */
  uint8_t stack_number;                /* number of the stack pointer */
  uint8_t frame_number;                /* of the frame pointer */
  uint8_t counter_number;              /* number of the program counter; NO_PLACE: it has none */
  const uint8_t *places;               /* of each number */
  const uint8_t *preserved;            /* numbers of the registers that calls preserve */
  uint8_t preserved_count;
  bool local_is_above;     /* thread-local storage begins above the thread pointer; otherwise it ends there */
  uint8_t local_gap_words; /* between the thread pointer and that beginning */
  int8_t local_list;       /* word from the thread pointer on: the address of glibc's list of blocks of such storage */
  /* Words of glibc's description of a thread. It begins with its own address, and has that of its vector and its own one again; or the
   * last one is not 0: this word and the one before it have the address of this word. */
  uint8_t descriptor_vector, descriptor_itself, descriptor_robust;
  uint8_t address_bits; /* of user space; in those above, return addresses may be signed; 64: they never are */
  uint8_t ignored_bits; /* the uppermost ones of a pointer, which are the program's own */
  uint8_t pointer_bits; /* that the lower ones of a pointer may use, on CPUs with the largest address space */
  uint8_t halt;         /* an instruction of one byte that ends a program, with which libc aborts; 0: there is none */
};

/* Returns the address of the code that a function's symbol has as its value: on 32-bit Arm the lowest bit says that it is Thumb code. */
static inline uint64_t hwi_machine_code_address(unsigned elf_machine, uint64_t value)
{
  enum { ARM = 40 };
  return elf_machine == ARM ? value & ~UINT64_C(1) : value;
}

/* Returns whether a pointer of the program may have this value. */
static inline bool hwi_machine_can_point(const struct hwi_machine *machine, uint64_t address)
{
  return address << machine->ignored_bits >> machine->ignored_bits >> machine->pointer_bits == 0;
}

/* Returns the CPU that `elf_machine` (EM_*) and the size of a word denote, or NULL. */
const struct hwi_machine *hwi_machine_of(unsigned elf_machine, unsigned word_bytes);

/* Returns the CPU whose registers take so many bytes, which is how ptrace tells in which mode a thread runs, or NULL. */
const struct hwi_machine *hwi_machine_of_registers(size_t bytes);

/* Returns the thread pointer that the note of its own has; 0: it has none. */
uint64_t hwi_machine_thread_pointer(const struct hwi_machine *machine, const uint64_t *registers,
                                    const struct hwi_machine_note *note);

/* Returns the number of the system call in which the thread is, as its registers say; negative: in none, or a note says it. */
int64_t hwi_machine_system_call(const struct hwi_machine *machine, const uint64_t *registers);

/* Sets `words`, which has room for `most`, to those of vector registers in the note that are not 0. Returns how many these
 * are. The note is a vector_note or long_vector_note. */
size_t hwi_machine_vector_words(const struct hwi_machine *machine, const struct hwi_machine_note *note, uint64_t *words,
                                size_t most);

#endif
