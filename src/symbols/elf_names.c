/* elf_names.c - the symbols of a module, by address: functions and the tables of C++ classes, or variables
 *
 * One table, sorted by address. A symbol with a size covers that many bytes. A symbol without a size (assembler code)
 * covers the bytes up to the next symbol of any kind, within its section. If sized symbols overlap, the one that begins
 * last is used. An address between two sized symbols has no name: the nearest name before it would be a guess.
 */
#include "symbols/elf_names.h"

#include <stdlib.h>
#include <string.h>

#include "platform/machine.h"
#include "symbols/demangle.h"
#include "trace/grow.h"

enum {
  STEPS_BACK = 256, /* through overlapping symbols; only a forged table needs more */
  RANK_LOCAL = 1,
  RANK_WEAK = 2,
  RANK_UNTYPED = 4,
  RANK_UNSIZED = 8,
  RANK_UNDERSCORE = 16, /* for each leading underscore, at most three */
  UNDERSCORES = 3,
};

/* The user knows "malloc", not __libc_malloc, so fewer underscores rank lower; all C++ and Rust names start with one
 * underscore. */
static uint8_t rank_of(const GElf_Sym *symbol, const char *name)
{
  unsigned rank = 0;
  unsigned underscores = 0;
  while (underscores < UNDERSCORES && name[underscores] == '_')
    underscores++;
  rank += underscores * RANK_UNDERSCORE;
  if (GELF_ST_BIND(symbol->st_info) == STB_LOCAL)
    rank += RANK_LOCAL;
  if (GELF_ST_BIND(symbol->st_info) == STB_WEAK)
    rank += RANK_WEAK;
  if (GELF_ST_TYPE(symbol->st_info) == STT_NOTYPE)
    rank += RANK_UNTYPED;
  if (symbol->st_size == 0)
    rank += RANK_UNSIZED;
  return (uint8_t)rank;
}

static bool is_function_type(int type)
{
  return type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE;
}

static bool is_vtable(const GElf_Sym *symbol, const char *name)
{
  return GELF_ST_TYPE(symbol->st_info) == STT_OBJECT && symbol->st_size > 0 && name &&
         strncmp(name, "_ZTV", sizeof "_ZTV" - 1) == 0;
}

static bool is_wanted(const GElf_Sym *symbol, const char *name, enum hwi_elf_kind kind)
{
  const int type = GELF_ST_TYPE(symbol->st_info);
  switch (kind) {
  case HWI_ELF_FUNCTIONS:
    return is_function_type(type) || is_vtable(symbol, name);
  case HWI_ELF_VARIABLES:
    return type == STT_OBJECT && symbol->st_size > 0;
  case HWI_ELF_LOCALS:
    return type == STT_TLS && symbol->st_size > 0;
  }
  return false;
}

/* Returns the end of the section that contains the symbol, or 0 if it has not these flags. */
static uint64_t section_end(Elf *elf, const GElf_Sym *symbol, size_t index, uint64_t flags)
{
  Elf_Scn *section = elf_getscn(elf, index);
  GElf_Shdr header;
  if (!section || !gelf_getshdr(section, &header) || !(header.sh_flags & flags))
    return 0;
  if (symbol->st_value < header.sh_addr || symbol->st_value - header.sh_addr >= header.sh_size)
    return 0;
  uint64_t end = header.sh_addr + header.sh_size;
  return end > header.sh_addr ? end : 0;
}

/* The upper limit of a symbol's end, or 0 if it is at no place that fits its kind. */
static uint64_t limit_of(Elf *elf, const GElf_Sym *symbol, const char *name, size_t section, enum hwi_elf_kind kind)
{
  const bool is_code = kind == HWI_ELF_FUNCTIONS && !is_vtable(symbol, name);
  return kind == HWI_ELF_LOCALS ? UINT64_MAX : section_end(elf, symbol, section, is_code ? SHF_EXECINSTR : SHF_ALLOC);
}

static bool add_symbol(struct hwi_elf_names *names, const GElf_Sym *symbol, const char *name, uint64_t end)
{
  /* $x, $d and .L are labels that assemblers make */
  if (end == 0 || !name || !name[0] || name[0] == '$' || name[0] == '.')
    return true;
  if (symbol->st_size > 0 && symbol->st_size < end - symbol->st_value)
    end = symbol->st_value + symbol->st_size;
  if (!hwi_grow((void **)&names->names, &names->capacity, names->count + 1, sizeof *names->names))
    return false;
  names->names[names->count++] = (struct hwi_elf_name){
      .start = symbol->st_value, .end = end, .name = name, .rank = rank_of(symbol, name), .sized = symbol->st_size > 0};
  return true;
}

/* Returns the section numbers that do not fit into the symbols of `table`; elf_scnshndx does not find them in all modes
 * of libelf. */
static Elf_Data *extended_indexes(Elf *elf, Elf_Scn *table)
{
  for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB_SHNDX && header.sh_link == elf_ndxscn(table))
      return elf_getdata(section, NULL);
  }
  return NULL;
}

static bool add_table(struct hwi_elf_names *names, Elf *elf, Elf_Scn *table, const GElf_Shdr *header,
                      enum hwi_elf_kind kind)
{
  Elf_Data *data = elf_getdata(table, NULL);
  Elf_Data *extended = extended_indexes(elf, table);
  size_t entry_bytes = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);
  GElf_Ehdr file;
  if (!data || entry_bytes == 0 || !gelf_getehdr(elf, &file))
    return true;
  size_t count = data->d_size / entry_bytes;
  for (size_t i = 1; i < count && i <= INT32_MAX; i++) {
    GElf_Sym symbol;
    Elf32_Word index = 0;
    if (!gelf_getsymshndx(data, extended, (int)i, &symbol, &index))
      break;
    if (symbol.st_shndx != SHN_XINDEX)
      index = symbol.st_shndx;
    const char *name = elf_strptr(elf, header->sh_link, symbol.st_name);
    if (index == SHN_UNDEF || !is_wanted(&symbol, name, kind))
      continue;
    if (symbol.st_shndx != SHN_XINDEX && index >= SHN_LORESERVE)
      continue;
    if (GELF_ST_TYPE(symbol.st_info) == STT_FUNC)
      symbol.st_value = hwi_machine_code_address(file.e_machine, symbol.st_value);
    if (!add_symbol(names, &symbol, name, limit_of(elf, &symbol, name, index, kind)))
      return false;
  }
  return true;
}

bool hwi_elf_names_add(struct hwi_elf_names *names, const struct hwi_elf_file *file, enum hwi_elf_kind kind)
{
  for (Elf_Scn *section = NULL; (section = elf_nextscn(file->elf, section));) {
    GElf_Shdr header;
    if (!gelf_getshdr(section, &header) || (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM))
      continue;
    if (!add_table(names, file->elf, section, &header, kind))
      return false;
  }
  return true;
}

static int by_address(const void *left, const void *right)
{
  const struct hwi_elf_name *a = left, *b = right;
  if (a->start != b->start)
    return a->start < b->start ? -1 : 1;
  if (a->rank != b->rank)
    return a->rank < b->rank ? -1 : 1;
  return strcmp(a->name, b->name);
}

void hwi_elf_names_finish(struct hwi_elf_names *names)
{
  if (names->count == 0)
    return;
  qsort(names->names, names->count, sizeof *names->names, by_address);
  size_t kept = 0;
  uint64_t reach = 0;
  for (size_t i = 0; i < names->count; i++) {
    if (i > 0 && names->names[i].start == names->names[kept - 1].start)
      continue; /* another name of the same code */
    if (names->names[i].sized && names->names[i].end > reach)
      reach = names->names[i].end;
    names->names[kept] = names->names[i];
    names->names[kept++].reach = reach;
  }
  names->count = kept;
}

/* Returns how many symbols begin at `address` or before. */
static size_t count_up_to(const struct hwi_elf_names *names, uint64_t address)
{
  size_t low = 0, high = names->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (names->names[middle].start <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

struct hwi_elf_name *hwi_elf_names_find(const struct hwi_elf_names *names, uint64_t address)
{
  size_t at = count_up_to(names, address);
  if (at == 0)
    return NULL;
  struct hwi_elf_name *nearest = &names->names[at - 1];
  for (size_t steps = 0; at > 0 && steps < STEPS_BACK && names->names[at - 1].reach > address; at--, steps++) {
    if (names->names[at - 1].sized && names->names[at - 1].end > address)
      return &names->names[at - 1];
  }
  return !nearest->sized && nearest->end > address ? nearest : NULL;
}

const char *hwi_elf_name_shown(struct hwi_elf_name *name, struct hwi_store *store)
{
  if (!name->shown) {
    char *shown = hwi_demangle(name->name);
    name->shown = hwi_store_string(store, shown);
    free(shown);
  }
  return name->shown;
}

void hwi_elf_names_release(struct hwi_elf_names *names)
{
  free(names->names);
  *names = (struct hwi_elf_names){0};
}
