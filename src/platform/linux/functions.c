/* functions.c - the functions of the loaded modules, from their files' symbol tables
 *
 * The loader does not map .symtab, which has the functions that a module does not export. So the file is mapped for the moment.
 * The file of the executable is /proc/self/exe, whatever lies at its path by now; that of a library is taken if its first page is
 * the one that was loaded: the headers are there, and with most linkers the build-id.
 */
#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "platform/linux/call.h"
#include "platform/linux/elf.h"
#include "platform/linux/modules.h"
#include "platform/os.h"
#include "platform/os_code.h"

extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));

/* --- the file --- */

static void map_file(struct hwi_os_image *image, const char *path)
{
  struct hwi_call_file about;
  const long fd = CALL4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
  if (fd < 0)
    return;
  if (hwi_call_about_file(fd, "", AT_EMPTY_PATH, &about) == 0 && S_ISREG(about.mode) &&
      about.bytes >= HWI_OS_PAGE_BYTES) {
    const long at = hwi_call_map(NULL, about.bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    image->file = hwi_call_failed(at) ? NULL : (const uint8_t *)at;
    image->file_bytes = (size_t)about.bytes;
  }
  CALL1(SYS_close, fd);
}

static void unmap_file(struct hwi_os_image *image)
{
  if (image->file)
    hwi_os_unmap((void *)image->file, image->file_bytes);
  image->file = NULL;
}

static bool is_loaded_one(const struct hwi_os_image *image, const struct link_map *map)
{
  struct hwi_os_module module;
  return hwi_os_find_module((uintptr_t)map->l_ld, &module) && hwi_os_readable_pages(module.start, 1) == 1 &&
         memcmp((const void *)module.start, image->file, HWI_OS_PAGE_BYTES) == 0;
}

/* A range of the file that has `count` records of `bytes`; NULL if it is not within the file. */
static const void *records(const struct hwi_os_image *image, uint64_t off, uint64_t count, uint64_t bytes)
{
  return off <= image->file_bytes && count <= (image->file_bytes - off) / bytes ? image->file + off : NULL;
}

struct table { /* .symtab */
  const ElfW(Sym) *symbols;
  uint64_t count;
  const char *strings;
  uint64_t strings_bytes; /* the last one is 0 */
};

static bool find_table(const struct hwi_os_image *image, struct table *table)
{
  const ElfW(Ehdr) *elf = (const ElfW(Ehdr) *)image->file;
  if (memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0 || elf->e_shentsize != sizeof(ElfW(Shdr)))
    return false;
  const ElfW(Shdr) *sections = records(image, elf->e_shoff, elf->e_shnum, sizeof *sections), *strings;
  for (uint32_t i = 0; sections && i < elf->e_shnum; i++) {
    if (sections[i].sh_type != SHT_SYMTAB || sections[i].sh_link >= elf->e_shnum)
      continue;
    strings = &sections[sections[i].sh_link];
    table->count = sections[i].sh_size / sizeof(ElfW(Sym));
    table->symbols = records(image, sections[i].sh_offset, table->count, sizeof(ElfW(Sym)));
    table->strings_bytes = strings->sh_size;
    table->strings = records(image, strings->sh_offset, strings->sh_size, 1);
    return table->symbols && table->strings && table->strings_bytes > 0 && !table->strings[table->strings_bytes - 1];
  }
  return false;
}

/* --- the images --- */

/* The kernel gives 0 if it loaded none, which is also where a program is that is not PIE. */
static bool is_at(const struct link_map *map, unsigned long kind)
{
  const uintptr_t address = getauxval(kind);
  return address && map->l_addr == address;
}

/* Libraries that no call is led away from: this one, and libc's and the loader's, which are one on musl. */
static bool is_left_out(const struct link_map *map)
{
  return !map->l_ld || map->l_ld == _DYNAMIC || hwi_os_is_of_libc((uintptr_t)map->l_ld) || is_at(map, AT_BASE) ||
         is_at(map, AT_SYSINFO_EHDR);
}

static bool open_image(struct hwi_os_image *image, const struct link_map *map)
{
  struct table table;
  while (map && is_left_out(map))
    map = map->l_next;
  *image = (struct hwi_os_image){.loaded = map};
  if (!map)
    return false;
  const bool is_program = map == hwi_modules_first();
  image->bias = map->l_addr;
  image->path = is_program || !map->l_name ? "" : map->l_name; /* musl names the program by its first argument */
  map_file(image, is_program ? "/proc/self/exe" : image->path);
  if (image->file && (!is_loaded_one(image, map) || !find_table(image, &table)))
    unmap_file(image);
  return true;
}

bool hwi_os_image_first(struct hwi_os_image *image)
{
  return open_image(image, hwi_modules_first());
}

bool hwi_os_image_next(struct hwi_os_image *image)
{
  hwi_os_image_close(image);
  return open_image(image, ((const struct link_map *)image->loaded)->l_next);
}

void hwi_os_image_close(struct hwi_os_image *image)
{
  unmap_file(image);
}

/* --- the symbols --- */

static bool is_function(const ElfW(Sym) *symbol)
{
  const unsigned char type = ELF64_ST_TYPE(symbol->st_info);
  return symbol->st_shndx != SHN_UNDEF && symbol->st_shndx != SHN_ABS && (type == STT_FUNC || type == STT_GNU_IFUNC) &&
         symbol->st_value;
}

static struct hwi_os_function function_of(const struct hwi_os_image *image, const ElfW(Sym) *symbol, const char *name)
{
  const bool is_chosen = ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC;
  return (struct hwi_os_function){name, image->bias + symbol->st_value, is_chosen ? 0 : symbol->st_size, is_chosen};
}

static bool open_loaded(const struct hwi_os_image *image, struct hwi_elf_image *elf)
{
  const struct link_map *map = image->loaded;
  return hwi_elf_open(elf, map->l_addr, map->l_ld);
}

void hwi_os_image_functions(const struct hwi_os_image *image,
                            void (*found)(void *context, const struct hwi_os_function *function), void *context)
{
  struct table table;
  struct hwi_elf_image elf;
  if (image->file && find_table(image, &table)) {
    for (uint64_t i = 1; i < table.count; i++) {
      const ElfW(Sym) *symbol = &table.symbols[i];
      if (!is_function(symbol) || symbol->st_name >= table.strings_bytes)
        continue;
      const struct hwi_os_function function = function_of(image, symbol, table.strings + symbol->st_name);
      found(context, &function);
    }
    return;
  }
  const uint32_t count = open_loaded(image, &elf) ? hwi_elf_symbol_count(&elf) : 0;
  for (uint32_t i = 1; i < count; i++) {
    if (!is_function(&elf.symbols[i]))
      continue;
    const struct hwi_os_function function = function_of(image, &elf.symbols[i], elf.strings + elf.symbols[i].st_name);
    found(context, &function);
  }
}

void hwi_os_image_references(const struct hwi_os_image *image, void (*found)(void *context, const char *name),
                             void *context)
{
  struct hwi_elf_image elf;
  const uint32_t count = open_loaded(image, &elf) ? hwi_elf_symbol_count(&elf) : 0;
  for (uint32_t i = 1; i < count; i++)
    if (elf.symbols[i].st_shndx == SHN_UNDEF)
      found(context, elf.strings + elf.symbols[i].st_name);
}

struct looked_up {
  const struct hwi_elf_image *elf;
  uintptr_t address;
  bool is_found;
};

static void compare(void *context, uint32_t index)
{
  struct looked_up *looked_up = context;
  const ElfW(Sym) *symbol = &looked_up->elf->symbols[index];
  looked_up->is_found |= is_function(symbol) && looked_up->elf->bias + symbol->st_value == looked_up->address;
}

bool hwi_os_image_looks_up(const struct hwi_os_image *image, uintptr_t address)
{
  struct hwi_elf_image elf;
  struct looked_up looked_up = {&elf, address, false};
  if (open_loaded(image, &elf))
    hwi_elf_relocated(&elf, compare, &looked_up);
  return looked_up.is_found;
}
