/* modules.c - the program and the libraries that a process had mapped */
#include "memory/image/modules.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/base_name.h"
#include "symbols/elf_file.h"
#include "symbols/paths.h"
#include "trace/grow.h"

/* --- one module --- */

static void take_build_id(struct hwi_core_module *module, Elf *elf, const GElf_Phdr *segment)
{
  GElf_Nhdr note;
  size_t name, desc;
  Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)segment->p_offset, segment->p_filesz, ELF_T_NHDR);
  for (size_t at = 0; data && (at = gelf_getnote(data, at, &note, &name, &desc)) > 0;)
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof ELF_NOTE_GNU &&
        note.n_descsz <= sizeof module->build_id &&
        memcmp((char *)data->d_buf + name, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0) {
      memcpy(module->build_id, (char *)data->d_buf + desc, note.n_descsz);
      module->build_id_bytes = (uint8_t)note.n_descsz;
    }
}

/* Reads the bias and the build-id from the headers of the file. Returns whether it is an ELF file that can be loaded. */
static bool read_headers(struct hwi_core_module *module, Elf *elf)
{
  size_t count = 0;
  GElf_Ehdr header;
  GElf_Phdr segment;
  bool has_bias = false;
  if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header) || elf_getphdrnum(elf, &count) < 0 ||
      (header.e_type != ET_EXEC && header.e_type != ET_DYN))
    return false;
  for (size_t i = 0; i < count && gelf_getphdr(elf, (int)i, &segment); i++) {
    if (segment.p_type == PT_LOAD && !has_bias) {
      const uint64_t page = segment.p_align > 1 ? segment.p_align : 1;
      module->bias = module->begin - (segment.p_vaddr - segment.p_vaddr % page);
      has_bias = true;
    }
    if (segment.p_type == PT_NOTE)
      take_build_id(module, elf, &segment);
    if (segment.p_type == PT_TLS) {
      module->local_begin = segment.p_vaddr;
      module->local_file_bytes = segment.p_filesz;
      module->local_bytes = segment.p_memsz;
      module->local_align = segment.p_align;
    }
  }
  return has_bias;
}

static bool read_file(struct hwi_core_module *module)
{
  const int fd = open(module->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL);
  const bool done = read_headers(module, elf);
  elf_end(elf);
  if (fd >= 0)
    close(fd);
  return done;
}

/* `first` is the region with the begin of the file. */
static bool read_in_memory(struct hwi_core_module *module, const struct hwi_region *first)
{
  Elf *elf = first->known ? elf_memory((char *)first->bytes, first->known) : NULL;
  const bool done = read_headers(module, elf);
  elf_end(elf);
  return done;
}

bool hwi_core_module_read(struct hwi_core_module *module, const char *path)
{
  elf_version(EV_CURRENT);
  *module = (struct hwi_core_module){.path = path};
  return read_file(module);
}

bool hwi_core_module_is_file(const struct hwi_core_module *module)
{
  struct hwi_core_module file;
  return module->path && hwi_path_is_harmless(module->path) && hwi_core_module_read(&file, module->path) &&
         file.build_id_bytes == module->build_id_bytes &&
         memcmp(file.build_id, module->build_id, module->build_id_bytes) == 0;
}

bool hwi_core_module_is_library(const struct hwi_core_module *module)
{
  return strstr(hwi_base_name(module->path), ".so");
}

/* Sets the range of a program that is linked for fixed addresses. Returns whether it is one. */
static bool read_fixed_range(struct hwi_core_module *module, Elf *elf)
{
  size_t count = 0;
  GElf_Ehdr header;
  GElf_Phdr segment;
  if (!read_headers(module, elf) || !gelf_getehdr(elf, &header) || header.e_type != ET_EXEC ||
      elf_getphdrnum(elf, &count) < 0)
    return false;
  module->bias = 0;
  module->begin = UINT64_MAX;
  for (size_t i = 0; i < count && gelf_getphdr(elf, (int)i, &segment); i++) {
    if (segment.p_type != PT_LOAD)
      continue;
    module->begin = segment.p_vaddr < module->begin ? segment.p_vaddr : module->begin;
    module->end = segment.p_vaddr + segment.p_memsz > module->end ? segment.p_vaddr + segment.p_memsz : module->end;
  }
  return module->begin < module->end;
}

/* --- all --- */

/* Returns how many regions, from `first` on, are of the same file; a region without a file between them is its bss or a gap. */
static size_t regions_of(const struct hwi_memory *memory, size_t first, uint64_t *end)
{
  const char *file = memory->regions[first].file;
  size_t count = 1;
  *end = memory->regions[first].end;
  for (size_t i = first + 1; i < memory->region_count; i++) {
    const struct hwi_region *region = &memory->regions[i];
    if (region->file && strcmp(region->file, file) != 0)
      break;
    if (region->file && region->file_off == 0)
      break;
    if (!region->file && region->begin != *end)
      continue;
    if (region->file || region->is_writable) {
      *end = region->end;
      count = i - first + 1;
    }
  }
  return count;
}

bool hwi_core_module_is_same(const struct hwi_core_module *a, const struct hwi_core_module *b)
{
  return a->build_id_bytes && a->build_id_bytes == b->build_id_bytes &&
         memcmp(a->build_id, b->build_id, a->build_id_bytes) == 0;
}

/* If the file with the module's path below the sysroot is that module, it has its path there. If the headers were not in memory,
 * any file with the path is. Returns false if there is no memory. */
static bool place(struct hwi_core_modules *modules, struct hwi_core_module *module, const char *sysroot)
{
  if (!hwi_grow((void **)&modules->paths, &modules->path_capacity, modules->path_count + 1, sizeof *modules->paths))
    return false;
  char *path = hwi_path_concat(sysroot, module->path, NULL);
  struct hwi_core_module found = {.path = path, .begin = module->begin, .end = module->end};
  if (path && read_file(&found) && (!module->build_id_bytes || hwi_core_module_is_same(module, &found))) {
    modules->paths[modules->path_count++] = path;
    *module = found;
    return true;
  }
  free(path);
  return path;
}

static bool add(struct hwi_core_modules *modules, const struct hwi_core_module *module)
{
  if (!hwi_grow((void **)&modules->modules, &modules->capacity, modules->count + 1, sizeof *module))
    return false;
  modules->modules[modules->count++] = *module;
  return true;
}

bool hwi_core_modules_find(struct hwi_core_modules *modules, const struct hwi_memory *memory, const char *sysroot)
{
  *modules = (struct hwi_core_modules){0};
  elf_version(EV_CURRENT);
  for (size_t i = 0; i < memory->region_count;) {
    const struct hwi_region *first = &memory->regions[i];
    struct hwi_core_module module = {.path = first->file, .begin = first->begin};
    if (!first->file || first->file_off != 0) {
      i++;
      continue;
    }
    i += regions_of(memory, i, &module.end);
    const bool is_elf = read_in_memory(&module, first);
    if (sysroot && !place(modules, &module, sysroot))
      return false;
    if ((is_elf || read_file(&module)) && !add(modules, &module))
      return false;
  }
  return true;
}

bool hwi_core_modules_add_fixed(struct hwi_core_modules *modules, const char *path)
{
  struct hwi_core_module module = {.path = path};
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL);
  const bool done = !read_fixed_range(&module, elf) || add(modules, &module);
  elf_end(elf);
  if (fd >= 0)
    close(fd);
  return done;
}

void hwi_core_modules_release(struct hwi_core_modules *modules)
{
  for (size_t i = 0; i < modules->path_count; i++)
    free(modules->paths[i]);
  free(modules->paths);
  free(modules->modules);
  *modules = (struct hwi_core_modules){0};
}

const struct hwi_core_module *hwi_core_modules_of(const struct hwi_core_modules *modules, uint64_t address)
{
  size_t low = 0, high = modules->count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (modules->modules[middle].end <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low < modules->count && modules->modules[low].begin <= address ? &modules->modules[low] : NULL;
}
