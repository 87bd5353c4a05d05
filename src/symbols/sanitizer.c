/* sanitizer.c - whether a program is built with a sanitizer */
#include "symbols/sanitizer.h"

#include <limits.h>
#include <string.h>

#include "symbols/elf_file.h"

/* The runtimes of gcc, and those of clang with -shared-libsan; Scudo is a malloc that shares their code. The runtime of
 * UndefinedBehaviorSanitizer has no malloc. */
static bool is_sanitizer(const char *library)
{
  static const char *const beginnings[] = {
      "libasan.so",       "libtsan.so",       "liblsan.so",         "libhwasan.so",      "libclang_rt.asan",
      "libclang_rt.tsan", "libclang_rt.lsan", "libclang_rt.hwasan", "libclang_rt.scudo",
  };
  for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
    if (strncmp(library, beginnings[i], strlen(beginnings[i])) == 0)
      return true;
  return false;
}

static bool needs_sanitizer(Elf *elf, Elf_Scn *dynamic, const GElf_Shdr *header)
{
  Elf_Data *data = elf_getdata(dynamic, NULL);
  GElf_Dyn entry;
  for (int i = 0; data && i < INT_MAX && gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++) {
    const char *library = entry.d_tag == DT_NEEDED ? elf_strptr(elf, header->sh_link, entry.d_un.d_val) : NULL;
    if (library && is_sanitizer(library))
      return true;
  }
  return false;
}

/* All runtimes with a malloc export this function. */
static bool exports_sanitizer(Elf *elf, Elf_Scn *symbols, const GElf_Shdr *header)
{
  Elf_Data *data = elf_getdata(symbols, NULL);
  GElf_Sym symbol;
  for (int i = 1; data && i < INT_MAX && gelf_getsym(data, i, &symbol); i++) {
    const char *name = symbol.st_shndx != SHN_UNDEF ? elf_strptr(elf, header->sh_link, symbol.st_name) : NULL;
    if (name && strcmp(name, "__sanitizer_get_allocated_size") == 0)
      return true;
  }
  return false;
}

bool hwi_has_sanitizer(const char *path)
{
  struct hwi_elf_file file;
  bool has = false;
  if (hwi_elf_file_open(&file, path) != HWI_SYMBOL_OK)
    return false;
  for (Elf_Scn *section = NULL; !has && (section = elf_nextscn(file.elf, section));) {
    GElf_Shdr header;
    if (!gelf_getshdr(section, &header))
      continue;
    has = (header.sh_type == SHT_DYNAMIC && needs_sanitizer(file.elf, section, &header)) ||
          (header.sh_type == SHT_DYNSYM && exports_sanitizer(file.elf, section, &header));
  }
  hwi_elf_file_close(&file);
  return has;
}
