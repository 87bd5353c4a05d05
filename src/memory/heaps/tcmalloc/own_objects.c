/* own_objects.c - finds the blocks in which tcmalloc has objects of its own: they begin with the address of a table of its functions
 *
 * If tcmalloc is linked into the program, its classes cannot be distinguished from those of the program.
 */
#include "memory/heaps/tcmalloc/tcmalloc.h"

void hwi_tcmalloc_find_library(struct hwi_tcmalloc *tcmalloc)
{
  const struct hwi_memory *memory = tcmalloc->memory;
  const struct hwi_region *data = hwi_memory_region(memory, tcmalloc->classes);
  const char *file = data ? data->file : NULL;
  for (size_t i = data ? (size_t)(data - memory->regions) : 0; data && !file && i > 0; i--) /* its zeros have no file */
    if (memory->regions[i].begin == memory->regions[i - 1].end)
      file = memory->regions[i - 1].file;
    else
      break;
  if (!file || !strstr(file, "/libtcmalloc"))
    return;
  for (size_t i = 0; i < memory->region_count; i++) {
    const struct hwi_region *region = &memory->regions[i];
    if (!region->file || strcmp(region->file, file) != 0)
      continue;
    if (!tcmalloc->library_end)
      tcmalloc->library_begin = region->begin;
    tcmalloc->library_end = region->end;
  }
}

static bool is_in_library(const struct hwi_tcmalloc *tcmalloc, uint64_t address)
{
  return address >= tcmalloc->library_begin && address < tcmalloc->library_end;
}

bool hwi_tcmalloc_is_own(struct hwi_tcmalloc *tcmalloc, uint64_t block)
{
  uint64_t table, function;
  if (!hwi_memory_word(&tcmalloc->blocks, block, &table) || !is_in_library(tcmalloc, table) ||
      !hwi_memory_word(&tcmalloc->reader, table, &function) || !is_in_library(tcmalloc, function))
    return false;
  const struct hwi_region *code = hwi_memory_region(tcmalloc->memory, function);
  return !code || code->is_executable; /* a core dump of gdb has no code */
}
