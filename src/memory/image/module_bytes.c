/* module_bytes.c - bytes of programs and libraries: those in memory, or else those in the file of the module */
#include "memory/image/module_bytes.h"

#include <stdlib.h>

#include "symbols/elf_file.h"

/* The file of a module, which is opened when it is first needed. */
struct hwi_module_contents {
  struct hwi_elf_file file;
  const unsigned char *bytes; /* NULL: there is no file, or it is another one */
  size_t size;
  bool is_looked_for;
};

static void open_file(struct hwi_module_contents *contents, const struct hwi_core_module *module)
{
  contents->is_looked_for = true;
  contents->file = (struct hwi_elf_file){.fd = -1};
  if (!hwi_core_module_has_file(module) || hwi_elf_file_open(&contents->file, module->path) != HWI_SYMBOL_OK)
    return;
  contents->bytes = (const unsigned char *)elf_rawfile(contents->file.elf, &contents->size);
  hwi_elf_file_detach(&contents->file);
}

/* Only in segments that cannot be written does memory have what the file has. */
static const unsigned char *bytes_in_file(const struct hwi_module_contents *contents, uint64_t address, uint64_t count)
{
  size_t segments = 0;
  GElf_Phdr segment;
  if (!contents->bytes || elf_getphdrnum(contents->file.elf, &segments) != 0)
    return NULL;
  for (size_t i = 0; i < segments && gelf_getphdr(contents->file.elf, (int)i, &segment); i++) {
    const uint64_t off = address - segment.p_vaddr;
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) || off >= segment.p_filesz ||
        count > segment.p_filesz - off)
      continue;
    const bool is_there = segment.p_offset < contents->size && off < contents->size - segment.p_offset &&
                          count <= contents->size - segment.p_offset - off;
    return is_there ? contents->bytes + segment.p_offset + off : NULL;
  }
  return NULL;
}

const unsigned char *hwi_module_bytes_at(struct hwi_module_bytes *bytes, uint64_t address, uint64_t count)
{
  bytes->reader.memory = bytes->memory;
  const unsigned char *known = hwi_memory_bytes(&bytes->reader, address, count);
  const struct hwi_core_module *module = known ? NULL : hwi_core_modules_of(bytes->modules, address);
  if (!module)
    return known;
  if (!bytes->files)
    bytes->files = calloc(bytes->modules->count, sizeof *bytes->files);
  if (!bytes->files)
    return NULL;
  struct hwi_module_contents *contents = &bytes->files[module - bytes->modules->modules];
  if (!contents->is_looked_for)
    open_file(contents, module);
  return bytes_in_file(contents, address - module->bias, count);
}

bool hwi_module_word(struct hwi_module_bytes *bytes, uint64_t address, uint64_t *word)
{
  const unsigned char *at = hwi_module_bytes_at(bytes, address, bytes->memory->word_bytes);
  if (at)
    *word = hwi_memory_load(bytes->memory, at);
  return at;
}

void hwi_module_bytes_release(struct hwi_module_bytes *bytes)
{
  for (size_t i = 0; bytes->files && i < bytes->modules->count; i++)
    if (bytes->files[i].is_looked_for)
      hwi_elf_file_close(&bytes->files[i].file);
  free(bytes->files);
  bytes->files = NULL;
}
