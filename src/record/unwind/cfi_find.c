/* cfi_find.c - finds and parses the FDE of an address
 *
 * PT_GNU_EH_FRAME points to .eh_frame_hdr, which has a table of (code address, FDE) sorted by address. If the linker
 * omitted the table or wrote it in a form that cannot be searched, .eh_frame itself is searched from its start.
 * Linkers put .eh_frame directly after .eh_frame_hdr, so that both are in one span.
 */
#include <elf.h>

#include "record/unwind/cfi_internal.h"

enum {
  HEADER_VERSION = 1,
  MOST_RECORDS = 1 << 18,      /* of .eh_frame, in one search from its start */
  LENGTH_OF_64_BIT_FORM = -1,  /* compilers do not write this form to .eh_frame */
  MOST_AUGMENTATION_CHARS = 8, /* there are five defined ones */
};

/* DW_EH_PE_* */
enum {
  PE_ABSPTR = 0x00,
  PE_ULEB128 = 0x01,
  PE_UDATA2 = 0x02,
  PE_UDATA4 = 0x03,
  PE_UDATA8 = 0x04,
  PE_SLEB128 = 0x09,
  PE_SDATA2 = 0x0a,
  PE_SDATA4 = 0x0b,
  PE_SDATA8 = 0x0c,
  PE_FORM = 0x0f,
  PE_PCREL = 0x10,
  PE_DATAREL = 0x30,
  PE_BASE = 0x70,
  PE_INDIRECT = 0x80,
  PE_OMIT = 0xff,
};

static uint64_t read_form(struct hwi_cfi_cursor *cursor, uint8_t form)
{
  switch (form) {
  case PE_ABSPTR:
  case PE_UDATA8:
  case PE_SDATA8:
    return hwi_cfi_cursor_bytes(cursor, 8);
  case PE_UDATA4:
    return hwi_cfi_cursor_bytes(cursor, 4);
  case PE_SDATA4:
    return (uint64_t)hwi_cfi_cursor_signed_bytes(cursor, 4);
  case PE_UDATA2:
    return hwi_cfi_cursor_bytes(cursor, 2);
  case PE_SDATA2:
    return (uint64_t)hwi_cfi_cursor_signed_bytes(cursor, 2);
  case PE_ULEB128:
    return hwi_cfi_cursor_uleb(cursor);
  case PE_SLEB128:
    return (uint64_t)hwi_cfi_cursor_sleb(cursor);
  default:
    cursor->bad = true;
    return 0;
  }
}

uintptr_t hwi_cfi_cursor_pointer(struct hwi_cfi_cursor *cursor, uint8_t encoding, uintptr_t data_base)
{
  uintptr_t here = (uintptr_t)cursor->at;
  uint64_t value = read_form(cursor, encoding & PE_FORM);
  if (encoding & PE_INDIRECT)
    cursor->bad = true;
  switch (encoding & PE_BASE) {
  case PE_ABSPTR:
    return value;
  case PE_PCREL:
    return here + value;
  case PE_DATAREL:
    return data_base + value;
  default:
    cursor->bad = true;
    return 0;
  }
}

static inline struct hwi_cfi_cursor cursor_at(struct hwi_cfi_span span, uintptr_t address)
{
  if (!hwi_cfi_span_has(span, address, 0))
    return (struct hwi_cfi_cursor){.bad = true};
  return (struct hwi_cfi_cursor){.at = (const uint8_t *)address, .end = (const uint8_t *)span.high};
}

/* One entry of .eh_frame, without its length. */
struct record {
  struct hwi_cfi_cursor body; /* after the ID */
  uintptr_t id_at;
  uint32_t id; /* 0: a CIE; else the distance from the CIE to id_at */
};

/* Returns false at the end of .eh_frame, or if it is damaged. */
static bool read_record(struct hwi_cfi_span span, uintptr_t at, struct record *record)
{
  struct hwi_cfi_cursor cursor = cursor_at(span, at);
  uint32_t bytes = (uint32_t)hwi_cfi_cursor_bytes(&cursor, sizeof bytes);
  if (cursor.bad || bytes < sizeof record->id || bytes == (uint32_t)LENGTH_OF_64_BIT_FORM ||
      bytes > (size_t)(cursor.end - cursor.at))
    return false;
  cursor.end = cursor.at + bytes;
  record->id_at = (uintptr_t)cursor.at;
  record->id = (uint32_t)hwi_cfi_cursor_bytes(&cursor, sizeof record->id);
  record->body = cursor;
  return true;
}

/* Reads the augmentation data that the letters denote. */
static bool read_augmentation(struct hwi_cfi_cursor *cursor, const uint8_t *letters, struct hwi_fde *fde)
{
  fde->encoding = PE_ABSPTR;
  fde->signal = false;
  fde->augmented = *letters == 'z';
  if (!fde->augmented)
    return *letters == 0;
  uint64_t bytes = hwi_cfi_cursor_uleb(cursor);
  struct hwi_cfi_cursor data = *cursor;
  hwi_cfi_cursor_skip(cursor, bytes);
  if (cursor->bad)
    return false;
  data.end = cursor->at;
  for (letters++; *letters; letters++)
    if (*letters == 'R') {
      fde->encoding = (uint8_t)hwi_cfi_cursor_bytes(&data, 1);
    } else if (*letters == 'P') {
      uint8_t encoding = (uint8_t)hwi_cfi_cursor_bytes(&data, 1);
      read_form(&data, encoding & PE_FORM); /* the personality routine is skipped: only its size matters */
    } else if (*letters == 'L') {
      hwi_cfi_cursor_skip(&data, 1);
    } else if (*letters == 'S') {
      fde->signal = true;
    } else if (*letters != 'B') {
      return false; /* unknown: it could change the meaning of any instruction */
    }
  return !data.bad;
}

static bool read_cie(struct hwi_cfi_span span, uintptr_t at, struct hwi_fde *fde)
{
  struct record record;
  if (fde->cie == at)
    return true;
  fde->cie = 0;
  if (!read_record(span, at, &record) || record.id != 0)
    return false;
  struct hwi_cfi_cursor *cursor = &record.body;
  uint8_t version = (uint8_t)hwi_cfi_cursor_bytes(cursor, 1);
  if (version != 1 && version != 3 && version != 4)
    return false;
  const uint8_t *letters = cursor->at;
  unsigned count = 0;
  while (hwi_cfi_cursor_bytes(cursor, 1) != 0)
    if (++count > MOST_AUGMENTATION_CHARS)
      return false;
  if (version == 4 &&
      hwi_cfi_cursor_bytes(cursor, 2) != sizeof(uintptr_t)) /* size of an address, and of a segment (0) */
    return false;
  fde->code_align = hwi_cfi_cursor_uleb(cursor);
  fde->data_align = hwi_cfi_cursor_sleb(cursor);
  uint64_t return_register = version == 1 ? hwi_cfi_cursor_bytes(cursor, 1) : hwi_cfi_cursor_uleb(cursor);
  if (cursor->bad || return_register != HWI_REG_LINK || !read_augmentation(cursor, letters, fde))
    return false;
  fde->cie_code = *cursor;
  fde->cie = at;
  return true;
}

/* Reads the rest of an FDE whose length and ID were read. */
static bool read_fde(struct record *record, struct hwi_fde *fde)
{
  struct hwi_cfi_cursor *cursor = &record->body;
  if (!read_cie(fde->span, record->id_at - record->id, fde))
    return false;
  fde->start = hwi_cfi_cursor_pointer(cursor, fde->encoding, fde->data_base);
  fde->end = fde->start + read_form(cursor, fde->encoding & PE_FORM);
  if (fde->augmented)
    hwi_cfi_cursor_skip(cursor, hwi_cfi_cursor_uleb(cursor));
  fde->code = *cursor;
  return !cursor->bad;
}

static inline bool covers(const struct hwi_fde *fde, uintptr_t pc)
{
  return pc >= fde->start && pc < fde->end;
}

static bool walk_records(uintptr_t at, uintptr_t pc, struct hwi_fde *fde)
{
  struct record record;
  for (uint32_t i = 0; i < MOST_RECORDS && read_record(fde->span, at, &record); i++) {
    at = (uintptr_t)record.body.end;
    if (record.id != 0 && read_fde(&record, fde) && covers(fde, pc))
      return true;
  }
  return false;
}

static size_t form_bytes(uint8_t encoding)
{
  switch (encoding & PE_FORM) {
  case PE_UDATA4:
  case PE_SDATA4:
    return 4;
  case PE_ABSPTR:
  case PE_UDATA8:
  case PE_SDATA8:
    return 8;
  default:
    return 0;
  }
}

static inline uintptr_t table_pointer(const uint8_t *at, uint8_t encoding, uintptr_t data_base)
{
  struct hwi_cfi_cursor cursor = {.at = at, .end = at + sizeof(uint64_t)}; /* the table's bounds were checked */
  if (encoding == (PE_DATAREL | PE_SDATA4))
    return data_base + (uint64_t)hwi_cfi_cursor_signed_bytes(&cursor, 4);
  return hwi_cfi_cursor_pointer(&cursor, encoding, data_base);
}

/* `cursor` is at the sorted table of `count` entries. */
static bool search_table(struct hwi_cfi_cursor cursor, uint64_t count, uint8_t encoding, uintptr_t pc,
                         struct hwi_fde *fde)
{
  size_t half = form_bytes(encoding), entry = 2 * half;
  uint64_t low = 0, high = count; /* entries below `low` begin at or before pc, those from `high` on after it */
  struct record record;
  if (count > (size_t)(cursor.end - cursor.at) / entry)
    return false;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (table_pointer(cursor.at + middle * entry, encoding, fde->data_base) <= pc)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == 0)
    return false;
  uintptr_t at = table_pointer(cursor.at + (low - 1) * entry + half, encoding, fde->data_base);
  return read_record(fde->span, at, &record) && record.id != 0 && read_fde(&record, fde) && covers(fde, pc);
}

bool hwi_fde_find(const struct hwi_cfi_module *module, uintptr_t pc, struct hwi_fde *fde)
{
  if (!module->eh_frame_hdr || !hwi_cfi_span_find(module, PT_GNU_EH_FRAME, module->eh_frame_hdr, &fde->span))
    return false;
  fde->cie = 0;
  fde->registers_off = HWI_ARCH_SIGNAL_REGISTERS_OFF;
  fde->data_base = module->eh_frame_hdr;
  struct hwi_cfi_cursor cursor = cursor_at(fde->span, module->eh_frame_hdr);
  uint8_t version = (uint8_t)hwi_cfi_cursor_bytes(&cursor, 1);
  uint8_t frame_encoding = (uint8_t)hwi_cfi_cursor_bytes(&cursor, 1);
  uint8_t count_encoding = (uint8_t)hwi_cfi_cursor_bytes(&cursor, 1);
  uint8_t table_encoding = (uint8_t)hwi_cfi_cursor_bytes(&cursor, 1);
  if (cursor.bad || version != HEADER_VERSION)
    return false;
  uintptr_t frames = hwi_cfi_cursor_pointer(&cursor, frame_encoding, fde->data_base);
  if (cursor.bad)
    return false;
  /* Self-relative entries would have to be decoded before they could be searched; no linker writes them. */
  if (count_encoding == PE_OMIT || table_encoding == PE_OMIT || !form_bytes(table_encoding) ||
      table_encoding & PE_INDIRECT)
    return walk_records(frames, pc, fde);
  uint64_t count = hwi_cfi_cursor_pointer(&cursor, count_encoding, fde->data_base);
  return !cursor.bad && search_table(cursor, count, table_encoding, pc, fde);
}
