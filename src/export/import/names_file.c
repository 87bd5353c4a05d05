/* names_file.c - an ELF file that contains only names
 *
 * Each section is written to memory first, since the section headers contain their sizes. In the line table each place
 * is a separate sequence that ends one byte early, so that no two sequences meet at an address. A place without a line
 * has no sequence.
 */
#define _GNU_SOURCE
#include "export/import/names_file.h"

#include <dwarf.h>
#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "trace/store.h"

/* In the order of the file. */
enum section { NO_SECTION, NOTE, TEXT, SYMBOLS, STRINGS, ABBREVIATIONS, INFO, LINES, SECTION_NAMES, SECTIONS };

static const struct {
  const char *name;
  uint32_t type;
  uint64_t flags, align, entry_bytes;
} kinds[SECTIONS] = {
    [NO_SECTION] = {""},
    [NOTE] = {".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, 4},
    [TEXT] = {".text", SHT_NOBITS, SHF_ALLOC | SHF_EXECINSTR, HWI_PLACE_BYTES},
    [SYMBOLS] = {".symtab", SHT_SYMTAB, 0, 8, sizeof(Elf64_Sym)},
    [STRINGS] = {".strtab", SHT_STRTAB, 0, 1},
    [ABBREVIATIONS] = {".debug_abbrev", SHT_PROGBITS, 0, 1},
    [INFO] = {".debug_info", SHT_PROGBITS, 0, 1},
    [LINES] = {".debug_line", SHT_PROGBITS, 0, 1},
    [SECTION_NAMES] = {".shstrtab", SHT_STRTAB, 0, 1},
};

struct names_file {
  const struct hwi_named_place *places;
  uint32_t count;
  FILE *out[SECTIONS];
  char *bytes[SECTIONS];
  size_t sizes[SECTIONS];
  bool failed; /* no memory */
};

static void put(FILE *to, const void *bytes, size_t count)
{
  fwrite(bytes, 1, count, to);
}

/* Numbers in the file are little-endian, as on the machine. */
static void put_number(FILE *to, uint64_t value, size_t bytes)
{
  put(to, &value, bytes);
}

static void put_text(FILE *to, const char *text)
{
  put(to, text, strlen(text) + 1);
}

static void put_uleb(FILE *to, uint64_t value)
{
  enum { BITS = 7, MORE = 0x80 };
  for (; value >= MORE; value >>= BITS)
    fputc((int)(value | MORE) & 0xff, to);
  fputc((int)value, to);
}

static void put_sleb(FILE *to, int64_t value)
{
  enum { BITS = 7, LOW = 0x7f, SIGN = 0x40, MORE = 0x80 };
  for (;;) {
    uint8_t byte = (uint8_t)(value & LOW);
    value >>= BITS;
    if ((value == 0 && (byte & SIGN) == 0) || (value == -1 && (byte & SIGN) != 0)) {
      fputc(byte, to);
      return;
    }
    fputc(byte | MORE, to);
  }
}

static uint64_t address_of(uint32_t place)
{
  return HWI_PLACE_FIRST + (uint64_t)place * HWI_PLACE_BYTES;
}

/* --- names --- */

static void put_note(FILE *to, const uint8_t *build_id)
{
  static const char owner[] = "GNU";
  const Elf64_Nhdr head = {sizeof owner, HWI_NAMES_BUILD_ID_BYTES, NT_GNU_BUILD_ID};
  put(to, &head, sizeof head);
  put(to, owner, sizeof owner);
  put(to, build_id, HWI_NAMES_BUILD_ID_BYTES);
}

/* Equal functions share their text, since the names of a recording are interned. */
static void put_symbols(struct names_file *file)
{
  const Elf64_Sym none = {0};
  uint32_t at = 1;
  fputc('\0', file->out[STRINGS]);
  put(file->out[SYMBOLS], &none, sizeof none);
  const char *last = NULL;
  uint32_t last_at = 0;
  for (uint32_t i = 0; i < file->count; i++) {
    const char *function = file->places[i].function;
    if (!function)
      continue;
    if (function != last) {
      last = function, last_at = at;
      put_text(file->out[STRINGS], function);
      at += (uint32_t)strlen(function) + 1;
    }
    const Elf64_Sym symbol = {.st_name = last_at,
                              .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                              .st_shndx = TEXT,
                              .st_value = address_of(i),
                              .st_size = HWI_PLACE_BYTES};
    put(file->out[SYMBOLS], &symbol, sizeof symbol);
  }
}

/* --- lines --- */

enum { DWARF_4 = 4, ADDRESS_BYTES = 8, LENGTH_BYTES = 4 };

/* Writes one unit, which has only its addresses and its line table. */
static void put_unit(struct names_file *file)
{
  static const uint8_t attributes[][2] = {{DW_AT_name, DW_FORM_string},
                                          {DW_AT_stmt_list, DW_FORM_sec_offset},
                                          {DW_AT_low_pc, DW_FORM_addr},
                                          {DW_AT_high_pc, DW_FORM_data8},
                                          {0, 0}};
  static const char name[] = "names";
  FILE *abbreviations = file->out[ABBREVIATIONS], *info = file->out[INFO];
  put_uleb(abbreviations, 1);
  put_uleb(abbreviations, DW_TAG_compile_unit);
  fputc(DW_CHILDREN_no, abbreviations);
  put(abbreviations, attributes, sizeof attributes);
  fputc(0, abbreviations);
  size_t head_bytes = 2 + LENGTH_BYTES + 1, die_bytes = 1 + sizeof name + LENGTH_BYTES + 2 * ADDRESS_BYTES;
  put_number(info, head_bytes + die_bytes, LENGTH_BYTES);
  put_number(info, DWARF_4, 2);
  put_number(info, 0, LENGTH_BYTES); /* offset of its abbreviations */
  put_number(info, ADDRESS_BYTES, 1);
  put_uleb(info, 1);
  put_text(info, name);
  put_number(info, 0, LENGTH_BYTES); /* offset of its line table */
  put_number(info, address_of(0), ADDRESS_BYTES);
  put_number(info, (uint64_t)file->count * HWI_PLACE_BYTES, ADDRESS_BYTES);
}

static void put_line(FILE *to, uint32_t place, uint32_t source, uint32_t line)
{
  fputc(0, to);
  put_uleb(to, 1 + ADDRESS_BYTES);
  fputc(DW_LNE_set_address, to);
  put_number(to, address_of(place), ADDRESS_BYTES);
  fputc(DW_LNS_set_file, to);
  put_uleb(to, source);
  fputc(DW_LNS_advance_line, to);
  put_sleb(to, (int64_t)line - 1);
  fputc(DW_LNS_copy, to);
  fputc(DW_LNS_advance_pc, to);
  put_uleb(to, HWI_PLACE_BYTES - 1);
  fputc(0, to);
  put_uleb(to, 1);
  fputc(DW_LNE_end_sequence, to);
}

static void put_line_head(FILE *to, const struct hwi_store *sources)
{
  static const uint8_t head[] = {1, 1, 1, (uint8_t)-5, 14, 13}; /* steps of an instruction, ..., number of opcodes */
  static const uint8_t operand_counts[] = {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1};
  put(to, head, sizeof head);
  put(to, operand_counts, sizeof operand_counts);
  fputc(0, to); /* no folders */
  for (uint32_t i = 1; i <= sources->string_count; i++) {
    put_text(to, sources->strings[i].text);
    put(to, (const uint8_t[]){0, 0, 0}, 3); /* folder, time, bytes */
  }
  fputc(0, to);
}

/* Writes the table without its lengths: first its head, then its lines. */
static void put_lines(struct names_file *file)
{
  struct hwi_store sources = {0};
  char *head = NULL, *lines = NULL;
  size_t head_bytes = 0, line_bytes = 0;
  FILE *to = open_memstream(&lines, &line_bytes);
  for (uint32_t i = 0; i < file->count && to; i++) {
    const struct hwi_named_place *place = &file->places[i];
    if (!place->file || place->line == 0)
      continue;
    uint32_t source = hwi_store_intern_text(&sources, place->file);
    file->failed |= source == 0;
    put_line(to, i, source, place->line);
  }
  file->failed |= !to || fclose(to) != 0;
  to = open_memstream(&head, &head_bytes);
  if (to)
    put_line_head(to, &sources);
  file->failed |= !to || fclose(to) != 0;
  put_number(file->out[LINES], 2 + LENGTH_BYTES + head_bytes + line_bytes, LENGTH_BYTES);
  put_number(file->out[LINES], DWARF_4, 2);
  put_number(file->out[LINES], head_bytes, LENGTH_BYTES);
  put(file->out[LINES], head, head_bytes);
  put(file->out[LINES], lines, line_bytes);
  free(head);
  free(lines);
  hwi_store_release(&sources);
}

/* --- the file --- */

static uint64_t aligned(uint64_t value, uint64_t align)
{
  return align > 1 ? (value + align - 1) / align * align : value;
}

/* Fills the section headers, with the sections' offsets. Returns the offset of the headers. */
static uint64_t place_sections(const struct names_file *file, Elf64_Shdr headers[SECTIONS])
{
  uint64_t at = sizeof(Elf64_Ehdr), name = 0;
  for (int i = 0; i < SECTIONS; i++) {
    at = aligned(at, kinds[i].align);
    headers[i] = (Elf64_Shdr){.sh_name = (uint32_t)name,
                              .sh_type = kinds[i].type,
                              .sh_flags = kinds[i].flags,
                              .sh_offset = i == NO_SECTION ? 0 : at,
                              .sh_size = file->sizes[i],
                              .sh_addralign = kinds[i].align,
                              .sh_entsize = kinds[i].entry_bytes};
    name += strlen(kinds[i].name) + 1;
    at += file->sizes[i];
  }
  headers[TEXT].sh_addr = address_of(0);
  headers[TEXT].sh_size = (uint64_t)file->count * HWI_PLACE_BYTES;
  headers[SYMBOLS].sh_link = STRINGS;
  headers[SYMBOLS].sh_info = 1; /* the first symbol that is not local */
  return aligned(at, sizeof(uint64_t));
}

static void put_file(const struct names_file *file, FILE *to)
{
  Elf64_Shdr headers[SECTIONS];
  const Elf64_Ehdr head = {
      .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
      .e_type = ET_DYN,
      .e_machine = EM_X86_64,
      .e_version = EV_CURRENT,
      .e_shoff = place_sections(file, headers),
      .e_ehsize = sizeof head,
      .e_shentsize = sizeof *headers,
      .e_shnum = SECTIONS,
      .e_shstrndx = SECTION_NAMES,
  };
  put(to, &head, sizeof head);
  for (int i = NO_SECTION + 1; i < SECTIONS; i++) {
    while ((uint64_t)ftell(to) < headers[i].sh_offset)
      fputc(0, to);
    put(to, file->bytes[i], file->sizes[i]);
  }
  while ((uint64_t)ftell(to) < head.e_shoff)
    fputc(0, to);
  put(to, headers, sizeof headers);
}

static void fill_sections(struct names_file *file, const uint8_t *build_id)
{
  for (int i = 0; i < SECTIONS; i++) {
    file->out[i] = open_memstream(&file->bytes[i], &file->sizes[i]);
    file->failed |= !file->out[i];
  }
  if (file->failed)
    return;
  for (int i = 0; i < SECTIONS; i++)
    put_text(file->out[SECTION_NAMES], kinds[i].name);
  put_note(file->out[NOTE], build_id);
  put_symbols(file);
  put_unit(file);
  put_lines(file);
}

int hwi_names_file_write(const char *path, const uint8_t build_id[HWI_NAMES_BUILD_ID_BYTES],
                         const struct hwi_named_place *places, uint32_t count)
{
  struct names_file file = {.places = places, .count = count};
  fill_sections(&file, build_id);
  for (int i = 0; i < SECTIONS; i++)
    file.failed |= file.out[i] && (ferror(file.out[i]) | fclose(file.out[i])) != 0;
  int status = file.failed ? HW_ERR_MEMORY : HW_ERR_IO;
  FILE *to = file.failed ? NULL : fopen(path, "we");
  if (to) {
    put_file(&file, to);
    bool written = !ferror(to);
    status = fclose(to) == 0 && written ? 0 : HW_ERR_IO;
    int os_error = errno;
    if (status < 0)
      remove(path);
    errno = os_error;
  }
  for (int i = 0; i < SECTIONS; i++)
    free(file.bytes[i]);
  return status;
}
