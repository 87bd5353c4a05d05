/* unwind_starts.c - start addresses of functions from a module's unwind tables */
#include "symbols/unwind_starts.h"

#include <dwarf.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

/* .eh_frame_hdr: version, three encodings, the address of .eh_frame, the number of entries, and the entries. */
enum {
  VERSION = 1,
  VERSION_OFF = 0,
  FRAME_ENCODING_OFF = 1,
  COUNT_ENCODING_OFF = 2,
  TABLE_ENCODING_OFF = 3,
  COUNT_OFF = 8, /* if the address takes four bytes */
  TABLE_OFF = 12,
  ENTRY_BYTES = 8,
  FORMAT_MASK = 0x0f, /* of an encoding */
};

/* All linkers write four bytes per number, and entries relative to the header's address. */
static bool has_usual_encodings(const uint8_t *header)
{
  unsigned frame = header[FRAME_ENCODING_OFF] & FORMAT_MASK;
  return header[VERSION_OFF] == VERSION && (frame == DW_EH_PE_udata4 || frame == DW_EH_PE_sdata4) &&
         header[COUNT_ENCODING_OFF] == DW_EH_PE_udata4 &&
         header[TABLE_ENCODING_OFF] == (DW_EH_PE_datarel | DW_EH_PE_sdata4);
}

/* Returns the segment with the table; *base gets the address where it is loaded. */
static Elf_Data *find_header(Elf *elf, uint64_t *base)
{
  size_t count;
  if (elf_getphdrnum(elf, &count) != 0)
    return NULL;
  for (size_t i = 0; i < count; i++) {
    GElf_Phdr segment;
    if (!gelf_getphdr(elf, (int)i, &segment) || segment.p_type != PT_GNU_EH_FRAME)
      continue;
    *base = segment.p_vaddr;
    return elf_getdata_rawchunk(elf, (int64_t)segment.p_offset, segment.p_filesz, ELF_T_BYTE);
  }
  return NULL;
}

void hwi_unwind_starts_open(struct hwi_unwind_starts *starts, Elf *elf)
{
  *starts = (struct hwi_unwind_starts){0};
  const char *ident = elf_getident(elf, NULL);
  if (!ident || ident[EI_DATA] != ELFDATA2LSB)
    return;
  uint64_t base;
  Elf_Data *data = find_header(elf, &base);
  if (!data || data->d_size < TABLE_OFF || !has_usual_encodings(data->d_buf))
    return;
  uint32_t count;
  memcpy(&count, (const uint8_t *)data->d_buf + COUNT_OFF, sizeof count);
  size_t room = (data->d_size - TABLE_OFF) / ENTRY_BYTES;
  Dwarf_CFI *cfi = dwarf_getcfi_elf(elf);
  if (!cfi)
    return;
  *starts = (struct hwi_unwind_starts){.table = (const uint8_t *)data->d_buf + TABLE_OFF,
                                       .count = count < room ? count : room,
                                       .base = base,
                                       .cfi = cfi};
}

static uint64_t start_of(const struct hwi_unwind_starts *starts, size_t at)
{
  int32_t offset;
  memcpy(&offset, starts->table + at * ENTRY_BYTES, sizeof offset);
  return starts->base + (uint64_t)(int64_t)offset;
}

/* Code without an entry may be between two functions, so the entry's end decides. */
static bool is_covered(const struct hwi_unwind_starts *starts, uint64_t address)
{
  Dwarf_Frame *frame;
  if (dwarf_cfi_addrframe(starts->cfi, address, &frame) != 0)
    return false;
  free(frame);
  return true;
}

uint64_t hwi_unwind_starts_find(const struct hwi_unwind_starts *starts, uint64_t address)
{
  size_t low = 0, high = starts->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (start_of(starts, middle) <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low > 0 && is_covered(starts, address) ? start_of(starts, low - 1) : 0;
}

void hwi_unwind_starts_close(struct hwi_unwind_starts *starts)
{
  dwarf_cfi_end(starts->cfi);
  *starts = (struct hwi_unwind_starts){0};
}
