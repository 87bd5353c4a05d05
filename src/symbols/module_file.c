/* module_file.c - all files with the symbols of a module: its own, its debug file, .gnu_debugdata and the alternate
 * file */
#include "symbols/module_file.h"

#include <elfutils/libdwelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "symbols/paths.h"

static const char deleted[] = " (deleted)"; /* the kernel appends this to the path of a file that was replaced */

static bool has_build_id(const struct hwi_symbol_module *module)
{
  return module->build_id && module->build_id_bytes > 0;
}

/* Another file may have the name of a deleted one. Without a build-id, the two cannot be distinguished. */
static enum hwi_symbol_reason open_replaced(struct hwi_elf_file *file, const struct hwi_symbol_module *module)
{
  size_t length = strlen(module->path), tail = sizeof deleted - 1;
  if (length <= tail || strcmp(module->path + length - tail, deleted) != 0)
    return HWI_SYMBOL_NO_FILE;
  char *path = strndup(module->path, length - tail);
  enum hwi_symbol_reason reason = path ? hwi_elf_file_open(file, path) : HWI_SYMBOL_NO_FILE;
  free(path);
  if (reason == HWI_SYMBOL_OK && !has_build_id(module)) {
    hwi_elf_file_close(file);
    return HWI_SYMBOL_CHANGED;
  }
  return reason;
}

static enum hwi_symbol_reason open_own(struct hwi_elf_file *file, const struct hwi_symbol_module *module)
{
  if (!module->path)
    return HWI_SYMBOL_NO_FILE;
  enum hwi_symbol_reason reason = hwi_elf_file_open(file, module->path);
  if (reason == HWI_SYMBOL_NO_FILE)
    reason = open_replaced(file, module);
  if (reason != HWI_SYMBOL_OK)
    return reason;
  if (has_build_id(module) && !hwi_elf_file_has_build_id(file, module->build_id, module->build_id_bytes)) {
    hwi_elf_file_close(file);
    return HWI_SYMBOL_CHANGED;
  }
  return HWI_SYMBOL_STRIPPED;
}

static bool has_debug_info(const struct hwi_elf_file *file)
{
  return file->elf && (hwi_elf_file_section(file, ".debug_info") || hwi_elf_file_section(file, ".zdebug_info"));
}

static void find_debug(struct hwi_module_file *file, const struct hwi_symbol_module *module,
                       const struct hwi_debug_dirs *dirs)
{
  if (has_debug_info(&file->own) && hwi_elf_file_section(&file->own, ".symtab"))
    return;
  const void *build_id = module->build_id;
  ssize_t bytes = has_build_id(module) ? module->build_id_bytes
                  : file->own.elf      ? dwelf_elf_gnu_build_id(file->own.elf, &build_id)
                                       : 0;
  if (bytes > 0 && hwi_debug_file_by_build_id(&file->debug, dirs, build_id, (size_t)bytes))
    return;
  if (file->own.elf && hwi_debug_file_by_link(&file->debug, dirs, &file->own))
    return;
  if (has_build_id(module)) /* last: it may be a copy of the module itself, as stripped as that */
    hwi_debug_file_by_name(&file->debug, dirs, module->path, module->build_id, module->build_id_bytes);
}

static Dwarf *end_dwarf(Dwarf *dwarf)
{
  dwarf_end(dwarf);
  return NULL;
}

/* If libdw is not given the alternate file, it opens the file that the link names itself, and would block on a FIFO. */
static bool may_search_alternate(Dwarf *dwarf, const struct hwi_elf_file *of)
{
  const char *name;
  const void *build_id;
  if (dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &build_id) <= 0)
    return true;
  char *dir = of->path ? hwi_path_parent(of->path) : NULL;
  char *path = hwi_path_join(dir, name);
  bool harmless = path && hwi_path_is_harmless(path);
  free(path);
  free(dir);
  return harmless;
}

static void open_dwarf(struct hwi_module_file *file, const struct hwi_elf_file *of)
{
  file->dwarf = dwarf_begin_elf(of->elf, DWARF_C_READ, NULL);
  if (!file->dwarf)
    return;
  if (!file->alternate.elf) {
    if (!may_search_alternate(file->dwarf, of))
      file->dwarf = end_dwarf(file->dwarf);
    return;
  }
  file->alternate_dwarf = dwarf_begin_elf(file->alternate.elf, DWARF_C_READ, NULL);
  if (file->alternate_dwarf)
    dwarf_setalt(file->dwarf, file->alternate_dwarf);
}

static void read_names(const struct hwi_module_file *file, struct hwi_elf_names *names, enum hwi_elf_kind kind)
{
  const struct hwi_elf_file *sources[] = {&file->own, &file->debug, &file->packed};
  for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
    if (sources[i]->elf && !hwi_elf_names_add(names, sources[i], kind))
      break; /* no memory: the names read so far are still correct */
  }
  hwi_elf_names_finish(names);
}

/* Returns the file with the module's code. If there is none at its path, a debug directory may have a copy of it, which looks like
 * a debug file; one without code has neither unwind tables nor packed symbols. */
static const struct hwi_elf_file *with_code(const struct hwi_module_file *file)
{
  return file->own.elf ? &file->own : &file->debug;
}

/* Returns the file with the debug information, or NULL. */
static const struct hwi_elf_file *with_debug_info(const struct hwi_module_file *file)
{
  return has_debug_info(&file->own) ? &file->own : has_debug_info(&file->debug) ? &file->debug : NULL;
}

static void mix_file(uint64_t *mark, const struct hwi_elf_file *file)
{
  struct stat about = {0};
  if (!file->elf || fstat(file->fd, &about) != 0)
    about.st_size = -1;
  const uint64_t facts[] = {about.st_dev,
                            about.st_ino,
                            (uint64_t)about.st_size,
                            (uint64_t)about.st_mtim.tv_sec,
                            (uint64_t)about.st_mtim.tv_nsec,
                            (uint64_t)about.st_ctim.tv_sec,
                            (uint64_t)about.st_ctim.tv_nsec};
  *mark = hwi_fnv(*mark, facts, sizeof facts);
  if (file->path) /* relative paths of split units and of sources start there */
    *mark = hwi_fnv(*mark, file->path, strlen(file->path));
}

/* Returns the mark, or 0 if there are no files, or an alternate file was not found: it may be where only libdw looks
 * for it. */
static uint64_t mark_of(const struct hwi_module_file *file)
{
  const struct hwi_elf_file *with = with_debug_info(file);
  uint64_t mark = HWI_FNV_BASIS;
  if ((!file->own.elf && !file->debug.elf) ||
      (with && !file->alternate.elf && hwi_elf_file_section(with, ".gnu_debugaltlink")))
    return 0;
  mix_file(&mark, &file->own);
  mix_file(&mark, &file->debug);
  mix_file(&mark, &file->alternate);
  return mark;
}

/* Finds and opens the files, but does not read their symbols. */
static void find_files(struct hwi_module_file *file, const struct hwi_symbol_module *module,
                       const struct hwi_debug_dirs *dirs)
{
  static const struct hwi_elf_file none = {.fd = -1};
  *file = (struct hwi_module_file){.own = none, .debug = none, .packed = none, .alternate = none};
  file->reason = open_own(&file->own, module);
  find_debug(file, module, dirs);
  const struct hwi_elf_file *with = with_debug_info(file);
  if (with)
    hwi_debug_file_alternate(&file->alternate, dirs, with);
  if (file->debug.elf)
    file->reason = HWI_SYMBOL_STRIPPED;
  else if (file->reason == HWI_SYMBOL_NO_FILE && module->path && !has_build_id(module) &&
           hwi_debug_file_is_named(dirs, module->path))
    file->reason = HWI_SYMBOL_NO_BUILD_ID;
  file->mark = mark_of(file);
}

void hwi_module_file_open(struct hwi_module_file *file, const struct hwi_symbol_module *module,
                          const struct hwi_debug_dirs *dirs)
{
  find_files(file, module, dirs);
  const struct hwi_elf_file *with = with_debug_info(file), *code = with_code(file);
  if (code->elf && !hwi_elf_file_section(code, ".symtab"))
    hwi_elf_file_open_packed(&file->packed, code);
  if (with)
    open_dwarf(file, with);
  read_names(file, &file->names, HWI_ELF_FUNCTIONS);
  hwi_elf_file_detach(&file->own);
  hwi_elf_file_detach(&file->debug);
  hwi_elf_file_detach(&file->alternate);
}

uint64_t hwi_module_file_mark(const struct hwi_symbol_module *module, const struct hwi_debug_dirs *dirs)
{
  struct hwi_module_file file;
  find_files(&file, module, dirs);
  hwi_module_file_close(&file);
  return file.mark;
}

const struct hwi_elf_file *hwi_module_file_with_dwarf(const struct hwi_module_file *file)
{
  if (!file->dwarf)
    return NULL;
  return dwarf_getelf(file->dwarf) == file->own.elf ? &file->own : &file->debug;
}

uint64_t hwi_module_file_function_start(struct hwi_module_file *file, uint64_t address)
{
  const struct hwi_elf_file *code = with_code(file);
  if (!code->elf)
    return 0;
  if (!file->has_starts)
    hwi_unwind_starts_open(&file->starts, code->elf);
  file->has_starts = true;
  return hwi_unwind_starts_find(&file->starts, address);
}

struct hwi_elf_name *hwi_module_file_variable(struct hwi_module_file *file, enum hwi_elf_kind kind, uint64_t address)
{
  if (!file->has_variables) {
    read_names(file, &file->variables, HWI_ELF_VARIABLES);
    read_names(file, &file->locals, HWI_ELF_LOCALS);
  }
  file->has_variables = true;
  return hwi_elf_names_find(kind == HWI_ELF_LOCALS ? &file->locals : &file->variables, address);
}

void hwi_module_file_close(struct hwi_module_file *file)
{
  hwi_unwind_starts_close(&file->starts);
  hwi_elf_names_release(&file->names);
  hwi_elf_names_release(&file->variables);
  hwi_elf_names_release(&file->locals);
  file->dwarf = end_dwarf(file->dwarf);
  file->alternate_dwarf = end_dwarf(file->alternate_dwarf);
  hwi_elf_file_close(&file->alternate);
  hwi_elf_file_close(&file->packed);
  hwi_elf_file_close(&file->debug);
  hwi_elf_file_close(&file->own);
}
