/* thread_storage.c - where threads have the thread-local storage of the program and of libraries
 *
 * The dynamic loader of glibc describes each module: the address of what its storage begins with, how many bytes of that are in the file,
 * how many there are in all, their alignment, that of their first byte, and then the distance from the thread pointer. The first
 * four words are known from the module's headers, so that the description is found without symbols. The storage of the program is
 * next to the thread pointer, also with other C libraries.
 */
#include "memory/image/thread_storage.h"

#include <stdlib.h>

enum {
  AT_FILE_BYTES = 1, /* words of the description */
  AT_BYTES,
  AT_ALIGN,
  AT_FIRST_BYTE,
  AT_BELOW,
  BELOW_MOST = 1 << 26,
};

/* The words before the last are never written after the module was loaded. */
static bool is_description(struct hwi_memory_reader *reader, uint64_t at, const struct hwi_core_module *module,
                           uint64_t *below)
{
  const unsigned word = reader->memory->word_bytes;
  uint64_t file_bytes, bytes, align;
  return hwi_memory_word(reader, at + AT_FILE_BYTES * word, &file_bytes) && file_bytes == module->local_file_bytes &&
         hwi_memory_word(reader, at + AT_BYTES * word, &bytes) && bytes == module->local_bytes &&
         hwi_memory_word(reader, at + AT_ALIGN * word, &align) && align == module->local_align &&
         hwi_memory_word(reader, at + AT_BELOW * word, below) && *below >= bytes && *below <= BELOW_MOST;
}

static uint64_t first_of(const struct hwi_core_module *module)
{
  return module->bias + module->local_begin;
}

static void take_word(struct hwi_thread_storage *storage, struct hwi_memory_reader *reader, uint64_t at, uint64_t word)
{
  uint64_t below;
  for (size_t i = 1; i < storage->modules->count; i++) {
    const struct hwi_core_module *module = &storage->modules->modules[i];
    if (module->local_bytes && word == first_of(module) && is_description(reader, at, module, &below))
      storage->below[i] = below;
  }
}

static void search_region(struct hwi_thread_storage *storage, const struct hwi_region *region, uint64_t lowest,
                          uint64_t highest)
{
  const struct hwi_memory *memory = storage->memory;
  struct hwi_memory_reader reader = {.memory = memory};
  for (uint64_t off = 0; off + memory->word_bytes <= region->known; off += memory->word_bytes) {
    const uint64_t word = hwi_memory_load(memory, region->bytes + off);
    if (word - lowest <= highest - lowest)
      take_word(storage, &reader, region->begin + off, word);
  }
}

/* Searches for the descriptions of the libraries. */
static void search(struct hwi_thread_storage *storage)
{
  const struct hwi_memory *memory = storage->memory;
  uint64_t lowest = UINT64_MAX, highest = 0;
  for (size_t i = 1; i < storage->modules->count; i++) {
    const struct hwi_core_module *module = &storage->modules->modules[i];
    if (module->local_bytes && first_of(module) < lowest)
      lowest = first_of(module);
    if (module->local_bytes && first_of(module) > highest)
      highest = first_of(module);
  }
  for (size_t i = 0; lowest <= highest && i < memory->region_count; i++)
    if (memory->regions[i].is_writable)
      search_region(storage, &memory->regions[i], lowest, highest);
}

/* The program is mapped below its libraries. Its storage ends at the thread pointer, as far as its alignment allows. */
static uint64_t below_of_program(const struct hwi_core_module *program)
{
  const uint64_t mask = program->local_align > 1 ? program->local_align - 1 : 0;
  const uint64_t first = -program->local_begin & mask;
  return program->local_bytes ? ((program->local_bytes - first + mask) & ~mask) + first : 0;
}

static bool read_storage(struct hwi_thread_storage *storage)
{
  storage->below = calloc(storage->modules->count + 1, sizeof *storage->below);
  if (!storage->below || storage->modules->count == 0)
    return storage->below;
  storage->below[0] = below_of_program(storage->modules->modules);
  search(storage);
  return true;
}

const struct hwi_core_module *hwi_thread_storage_at(struct hwi_thread_storage *storage, uint64_t below, uint64_t *off)
{
  const struct hwi_memory *memory = storage->memory;
  if (memory->thread_count && memory->threads[0].machine && memory->threads[0].machine->local_is_above)
    return NULL;
  if (!storage->below && !read_storage(storage))
    return NULL;
  for (size_t i = 0; i < storage->modules->count; i++) {
    *off = storage->below[i] - below;
    if (below <= storage->below[i] && *off < storage->modules->modules[i].local_bytes)
      return &storage->modules->modules[i];
  }
  return NULL;
}

void hwi_thread_storage_release(struct hwi_thread_storage *storage)
{
  free(storage->below);
  storage->below = NULL;
}
