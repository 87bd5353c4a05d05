/* no_symbol_files.c - the tool for Windows reads no ELF files and no debug information: names are those that a report on Linux has
 * stored next to the recording (symbols/name_cache.h) */
#include "symbols/debug_info.h"
#include "symbols/lines.h"
#include "symbols/module_file.h"
#include "symbols/program_allocator.h"

void hwi_module_file_open(struct hwi_module_file *file, const struct hwi_symbol_module *module,
                          const struct hwi_debug_dirs *dirs)
{
  (void)module, (void)dirs;
  *file = (struct hwi_module_file){.reason = HWI_SYMBOL_NO_FILE};
}

uint64_t hwi_module_file_mark(const struct hwi_symbol_module *module, const struct hwi_debug_dirs *dirs)
{
  (void)module, (void)dirs;
  return 0; /* there are no files */
}

const struct hwi_elf_file *hwi_module_file_with_dwarf(const struct hwi_module_file *file)
{
  (void)file;
  return NULL;
}

uint64_t hwi_module_file_function_start(struct hwi_module_file *file, uint64_t address)
{
  (void)file, (void)address;
  return 0;
}

struct hwi_elf_name *hwi_module_file_variable(struct hwi_module_file *file, enum hwi_elf_kind kind, uint64_t address)
{
  (void)file, (void)kind, (void)address;
  return NULL;
}

void hwi_module_file_close(struct hwi_module_file *file)
{
  (void)file;
}

void hwi_lines_find(struct hwi_frame_list *frames, struct hwi_dwarf_units *units, uint64_t address,
                    struct hwi_store *store)
{
  (void)frames, (void)units, (void)address, (void)store;
}

struct hwi_dwarf_unit *hwi_dwarf_units_find(struct hwi_dwarf_units *units, uint64_t address)
{
  (void)units, (void)address;
  return NULL;
}

Dwarf_Die *hwi_dwarf_units_function(const struct hwi_dwarf_units *units, struct hwi_dwarf_unit *unit, uint64_t address)
{
  (void)units, (void)unit, (void)address;
  return NULL;
}

void hwi_dwarf_units_release(struct hwi_dwarf_units *units)
{
  (void)units;
}

struct hwi_elf_name *hwi_elf_names_find(const struct hwi_elf_names *names, uint64_t address)
{
  (void)names, (void)address;
  return NULL;
}

const char *hwi_elf_name_shown(struct hwi_elf_name *name, struct hwi_store *store)
{
  (void)store;
  return name->name;
}

const char *hwi_static_allocator(const struct hwi_symbol_module *program)
{
  (void)program;
  return NULL;
}

char *hwi_debug_path_of_build_id(const char *dir, const uint8_t *build_id, size_t bytes)
{
  (void)dir, (void)build_id, (void)bytes;
  return NULL;
}
