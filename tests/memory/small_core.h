/* small_core.h - for the tests: a core dump of six pages with a heap of glibc's malloc
 *
 * The main arena has a tcache, two live blocks, one in the tcache, one in the unsorted bin and the top chunk; another arena
 * has one live block and its top chunk; one block is mapped alone. Links are not protected. The thread pointer is above or below the
 * pointer to the tcache, as the CPU has it.
 */
#ifndef HW_TESTS_MEMORY_SMALL_CORE_H
#define HW_TESTS_MEMORY_SMALL_CORE_H

#include <elf.h>
#include <stdint.h>
#include <string.h>
#include <sys/procfs.h>

#include "platform/machine.h"

enum {
  SMALL_CORE_PAGE = 4096,
  SMALL_CORE_SEGMENTS = 5,
  SMALL_CORE_BYTES = (1 + SMALL_CORE_SEGMENTS) * SMALL_CORE_PAGE,
  SMALL_CORE_LIVE = 4, /* blocks */
  SMALL_CORE_BLOCKS = 9,
};

static const uint64_t small_core_heap = 0x555555559000, small_core_libc = 0x7f0000000000,
                      small_core_tls = 0x7f0000100000, small_core_mapped = 0x7f0000200000,
                      small_core_sub_heap = 0x7f0004000000;

static const uint64_t small_core_starts[SMALL_CORE_SEGMENTS] = {0x555555559000, 0x7f0000000000, 0x7f0000100000,
                                                                0x7f0000200000, 0x7f0004000000};

static void small_core_put(uint8_t *file, uint64_t address, uint64_t word)
{
  for (int i = 0; i < SMALL_CORE_SEGMENTS; i++)
    if (address - small_core_starts[i] < SMALL_CORE_PAGE)
      memcpy(file + (i + 1) * SMALL_CORE_PAGE + (address - small_core_starts[i]), &word, sizeof word);
}

/* An arena whose unsorted bin has the chunk `unsorted`, unless that is 0. */
static void small_core_arena(uint8_t *file, uint64_t at, uint64_t next, uint64_t top, uint64_t unsorted)
{
  enum { TOP = 96, BINS = 112, BIN_COUNT = 127, LINK = BINS + BIN_COUNT * 16 + 16 };
  for (int i = 0; i < 2 * BIN_COUNT; i++)
    small_core_put(file, at + BINS + (uint64_t)i * 8, at + BINS + (uint64_t)(i / 2) * 16 - 16);
  small_core_put(file, at + TOP, top);
  small_core_put(file, at + LINK, next);
  small_core_put(file, at + LINK + 24, SMALL_CORE_PAGE);
  if (unsorted) {
    small_core_put(file, at + BINS, unsorted);
    small_core_put(file, at + BINS + 8, unsorted);
    small_core_put(file, unsorted + 16, at + BINS - 16);
    small_core_put(file, unsorted + 24, at + BINS - 16);
  }
}

static void small_core_fill(uint8_t *file)
{
  const uint64_t heap = small_core_heap, main = small_core_libc + 0x100, other = small_core_sub_heap + 0x30;
  const uint64_t tcache = heap, first = heap + 0x290, cached = first + 0x40, unsorted = cached + 0x40,
                 second = unsorted + 0x500, top = second + 0x100, settings = small_core_libc + 0xe00;
  small_core_put(file, tcache + 8, 0x291);
  small_core_put(file, tcache + 16, UINT64_C(1) << 32); /* one block in the third list */
  small_core_put(file, tcache + 16 + 128 + 2 * 8, cached + 16);
  small_core_put(file, first + 8, 0x41);
  small_core_put(file, cached + 8, 0x41);
  small_core_put(file, unsorted + 8, 0x501);
  small_core_put(file, second, 0x500);
  small_core_put(file, second + 8, 0x100);
  small_core_put(file, top + 8, (heap + SMALL_CORE_PAGE - top) | 1);
  small_core_arena(file, main, other, top, unsorted);
  small_core_put(file, settings, 1 | UINT64_C(65536) << 32); /* one chunk is mapped of at most 65536 */
  small_core_put(file, settings + 8, 1);
  small_core_put(file, settings + 16, SMALL_CORE_PAGE);
  small_core_put(file, settings + 24, SMALL_CORE_PAGE);
  small_core_put(file, settings + 32, heap);
  small_core_put(file, small_core_sub_heap, other);
  small_core_put(file, small_core_sub_heap + 16, SMALL_CORE_PAGE);
  const uint64_t block = small_core_sub_heap + 0x8d0;
  small_core_arena(file, other, main, block + 0x80, 0);
  small_core_put(file, block + 8, 0x85);
  small_core_put(file, block + 0x88, (small_core_sub_heap + SMALL_CORE_PAGE - block - 0x80) | 1);
  small_core_put(file, small_core_mapped + 8, SMALL_CORE_PAGE | 2);
  small_core_put(file, small_core_tls + 0x700, tcache + 16);
}

static uint8_t *small_core_note(uint8_t *to, uint32_t type, const void *bytes, size_t count)
{
  const Elf64_Nhdr header = {.n_namesz = 5, .n_descsz = (uint32_t)count, .n_type = type};
  memcpy(to, &header, sizeof header);
  memcpy(to + sizeof header, "CORE", 5);
  memcpy(to + sizeof header + 8, bytes, count);
  return to + sizeof header + 8 + (count + 3) / 4 * 4;
}

static size_t small_core_notes(uint8_t *to, const struct hwi_machine *machine)
{
  enum { REST_BYTES = 8 };
  const size_t registers_bytes = machine->register_count * sizeof(uint64_t);
  const uint32_t pid = 77, signal = 6;
  const uint64_t stack_pointer = small_core_tls + 0x200,
                 thread_pointer = small_core_tls + (machine->local_is_above ? 0x600 : 0x800);
  uint8_t status[UINT8_MAX + HWI_MACHINE_REGISTERS_MAX * sizeof(uint64_t) + REST_BYTES] = {0},
                                                                            *registers =
                                                                                status + machine->registers_off;
  memcpy(status + HWI_MACHINE_SIGNAL_OFF, &signal, sizeof signal);
  memcpy(status + machine->tid_off, &pid, sizeof pid);
  memcpy(registers + machine->stack_pointer * sizeof stack_pointer, &stack_pointer, sizeof stack_pointer);
  if (machine->thread_pointer != HWI_MACHINE_NO_PLACE)
    memcpy(registers + machine->thread_pointer * sizeof thread_pointer, &thread_pointer, sizeof thread_pointer);
  const struct elf_prpsinfo info = {.pr_pid = 77, .pr_psargs = "small --core"};
  struct {
    uint64_t count, unit, begin, end, off;
    char name[24];
  } files = {1, 1, small_core_libc, small_core_libc + SMALL_CORE_PAGE, 0, "/lib/libc.so.6"};
  uint8_t *at = small_core_note(to, NT_PRSTATUS, status, machine->registers_off + registers_bytes + REST_BYTES);
  at = small_core_note(at, NT_PRPSINFO, &info, sizeof info);
  if (machine->thread_pointer_note)
    at = small_core_note(at, machine->thread_pointer_note, &thread_pointer, sizeof thread_pointer);
  at = small_core_note(at, NT_FILE, &files, sizeof files.count * 5 + sizeof "/lib/libc.so.6");
  return (size_t)(at - to);
}

/* Writes the file, of a process of this CPU. */
static void small_core_make_for(uint8_t file[SMALL_CORE_BYTES], const struct hwi_machine *machine)
{
  enum { NOTES_OFF = 1024 };
  memset(file, 0, SMALL_CORE_BYTES);
  const Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                             .e_type = ET_CORE,
                             .e_machine = machine->elf_machine,
                             .e_version = EV_CURRENT,
                             .e_phoff = sizeof header,
                             .e_ehsize = sizeof header,
                             .e_phentsize = sizeof(Elf64_Phdr),
                             .e_phnum = SMALL_CORE_SEGMENTS + 1};
  Elf64_Phdr segments[SMALL_CORE_SEGMENTS + 1] = {{.p_type = PT_NOTE,
                                                   .p_offset = NOTES_OFF,
                                                   .p_filesz = small_core_notes(file + NOTES_OFF, machine),
                                                   .p_align = 4}};
  for (int i = 0; i < SMALL_CORE_SEGMENTS; i++)
    segments[i + 1] = (Elf64_Phdr){.p_type = PT_LOAD,
                                   .p_flags = PF_R | PF_W,
                                   .p_offset = (Elf64_Off)(i + 1) * SMALL_CORE_PAGE,
                                   .p_vaddr = small_core_starts[i],
                                   .p_filesz = SMALL_CORE_PAGE,
                                   .p_memsz = SMALL_CORE_PAGE};
  memcpy(file, &header, sizeof header);
  memcpy(file + sizeof header, segments, sizeof segments);
  small_core_fill(file);
}

static void small_core_make(uint8_t file[SMALL_CORE_BYTES])
{
  small_core_make_for(file, hwi_machine_of(EM_X86_64, sizeof(uint64_t)));
}

#endif
