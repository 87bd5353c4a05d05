/* cfi_read.c - which part of a module can be read, and the numbers there
 *
 * A module's range has holes between its segments that fault when read, so everything read must lie in one span: the
 * bytes of one readable PT_LOAD. That segment is found in the program headers; they are read at the module's start, and only if they
 * are in its first page.
 */
#include <elf.h>
#include <link.h>

#include "record/unwind/cfi_internal.h"

enum { FIRST_PAGE_BYTES = 4096 };

/* --- numbers --- */

uint64_t hwi_cfi_cursor_uleb_long(struct hwi_cfi_cursor *cursor)
{
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    uint64_t byte = hwi_cfi_cursor_bytes(cursor, 1);
    value |= (byte & 0x7f) << (shift & 63);
    if (byte < 0x80)
      return value;
  }
  cursor->bad = true;
  return 0;
}

int64_t hwi_cfi_cursor_sleb(struct hwi_cfi_cursor *cursor)
{
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    uint64_t byte = hwi_cfi_cursor_bytes(cursor, 1);
    value |= (byte & 0x7f) << (shift & 63);
    if (byte >= 0x80)
      continue;
    if (byte & 0x40 && shift + 7 < 64)
      value |= ~UINT64_C(0) << (shift + 7);
    return (int64_t)value;
  }
  cursor->bad = true;
  return 0;
}

/* --- spans --- */

/* Returns the module's ELF header if its program headers are in its first page, too; else NULL. */
static const ElfW(Ehdr) *header_of(const struct hwi_cfi_module *module)
{
  const ElfW(Ehdr) *elf = (const void *)module->start;
  if (module->end < module->start + FIRST_PAGE_BYTES || module->end < module->start)
    return NULL;
  if (memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0 || elf->e_phentsize != sizeof(ElfW(Phdr)) ||
      elf->e_phoff > FIRST_PAGE_BYTES || elf->e_phoff % _Alignof(ElfW(Phdr)) ||
      elf->e_phnum > (FIRST_PAGE_BYTES - elf->e_phoff) / sizeof(ElfW(Phdr)))
    return NULL;
  return elf;
}

static const ElfW(Phdr) *segment_of(const struct hwi_cfi_module *module, const ElfW(Ehdr) *elf, uint32_t type)
{
  const ElfW(Phdr) *phdr = (const void *)(module->start + elf->e_phoff), *past = phdr + elf->e_phnum;
  while (phdr < past && phdr->p_type != type)
    phdr++;
  return phdr < past ? phdr : NULL;
}

bool hwi_cfi_span_find(const struct hwi_cfi_module *module, uint32_t type, uintptr_t address, struct hwi_cfi_span *span)
{
  const ElfW(Ehdr) *elf = header_of(module);
  const ElfW(Phdr) *tables = elf ? segment_of(module, elf, type) : NULL;
  if (!tables)
    return false;
  const uintptr_t bias = module->eh_frame_hdr - tables->p_vaddr;
  const ElfW(Phdr) *phdr = (const void *)(module->start + elf->e_phoff), *past = phdr + elf->e_phnum;
  for (; phdr < past; phdr++) {
    if (phdr->p_type != PT_LOAD || !(phdr->p_flags & PF_R))
      continue;
    span->low = bias + phdr->p_vaddr;
    span->high = span->low + phdr->p_filesz;
    if (span->low >= module->start && span->high <= module->end && span->low < span->high &&
        hwi_cfi_span_has(*span, address, 1))
      return true;
  }
  return false;
}

bool hwi_cfi_tables_find(const struct hwi_cfi_module *module, uint32_t type, struct hwi_cfi_tables *tables)
{
  const ElfW(Ehdr) *elf = header_of(module);
  const ElfW(Phdr) *segment = elf ? segment_of(module, elf, type) : NULL;
  if (!segment)
    return false;
  tables->bytes = segment->p_memsz;
  tables->entry = elf->e_entry ? module->eh_frame_hdr - segment->p_vaddr + elf->e_entry : 0;
  return true;
}
