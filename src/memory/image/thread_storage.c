/* thread_storage.c - where threads have the thread-local storage of the program and of libraries
 *
 * The dynamic loader of glibc describes each module: the address of what its storage begins with, how many bytes of that are in the file,
 * how many there are in all, their alignment, that of their first byte, then the distance from the thread pointer, and the number of the
 * module. The first four words are known from the module's headers, so that the description is found without symbols. The storage of the
 * program is next to the thread pointer, also with other C libraries.
 *
 * A thread's list of blocks has two words for each number, the address of the block first; before them are two more, the number of
 * places. Its address is next to the thread pointer; where the storage is below, the thread pointer itself is before it.
 */
#include "memory/image/thread_storage.h"

#include <stdlib.h>

enum {
  AT_FILE_BYTES = 1, /* words of the description */
  AT_BYTES,
  AT_ALIGN,
  AT_FIRST_BYTE,
  AT_DISTANCE,
  AT_NUMBER,
  DISTANCE_MOST = 1 << 26,
  NUMBER_MOST = 1 << 16,
  PLACE_WORDS = 2,
};

static bool is_above(const struct hwi_memory *memory)
{
  return memory->thread_count && hwi_thread_local_is_above(&memory->threads[0]);
}

static uint64_t all_ones(const struct hwi_memory *memory)
{
  return memory->word_bytes == sizeof(uint64_t) ? UINT64_MAX : UINT32_MAX;
}

/* Of storage below the thread pointer, 0 and all bits are no distances; where it is above, the two largest numbers are none. */
static bool is_distance(const struct hwi_memory *memory, uint64_t distance, uint64_t bytes)
{
  return distance <= DISTANCE_MOST && (is_above(memory) ? distance > 0 : distance >= bytes);
}

static bool means_blocks(const struct hwi_memory *memory, uint64_t distance)
{
  return is_above(memory) ? distance >= all_ones(memory) - 1 : distance == 0 || distance == all_ones(memory);
}

/* The words up to the alignment are never written after the module was loaded. */
static bool read_description(struct hwi_memory_reader *reader, uint64_t at, const struct hwi_core_module *module,
                             struct hwi_module_storage *storage)
{
  const unsigned word = reader->memory->word_bytes;
  uint64_t file_bytes, bytes, align, distance, number;
  if (!hwi_memory_word(reader, at + AT_FILE_BYTES * word, &file_bytes) || file_bytes != module->local_file_bytes ||
      !hwi_memory_word(reader, at + AT_BYTES * word, &bytes) || bytes != module->local_bytes ||
      !hwi_memory_word(reader, at + AT_ALIGN * word, &align) || align != module->local_align ||
      !hwi_memory_word(reader, at + AT_DISTANCE * word, &distance) ||
      !hwi_memory_word(reader, at + AT_NUMBER * word, &number))
    return false;
  *storage = (struct hwi_module_storage){.below = is_above(reader->memory) ? -distance : distance};
  if (is_distance(reader->memory, distance, bytes))
    return true;
  *storage = (struct hwi_module_storage){.number = number};
  return means_blocks(reader->memory, distance) && number > 0 && number <= NUMBER_MOST;
}

static uint64_t first_of(const struct hwi_core_module *module)
{
  return module->bias + module->local_begin;
}

/* Returns whether a library has storage. That of the program is known without a description. */
static bool is_library(const struct hwi_thread_storage *storage, size_t module)
{
  return module != storage->program && storage->modules->modules[module].local_bytes;
}

static void take_word(struct hwi_thread_storage *storage, struct hwi_memory_reader *reader, uint64_t at, uint64_t word)
{
  struct hwi_module_storage found;
  for (size_t i = 0; i < storage->modules->count; i++) {
    const struct hwi_core_module *module = &storage->modules->modules[i];
    if (is_library(storage, i) && word == first_of(module) && read_description(reader, at, module, &found))
      storage->of[i] = found;
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
  storage->is_searched = true;
  for (size_t i = 0; i < storage->modules->count; i++) {
    const struct hwi_core_module *module = &storage->modules->modules[i];
    if (is_library(storage, i) && first_of(module) < lowest)
      lowest = first_of(module);
    if (is_library(storage, i) && first_of(module) > highest)
      highest = first_of(module);
  }
  for (size_t i = 0; lowest <= highest && i < memory->region_count; i++)
    if (memory->regions[i].is_writable)
      search_region(storage, &memory->regions[i], lowest, highest);
}

/* The storage of the program ends at the thread pointer, or begins above it, behind a gap on some CPUs, as far as its alignment
 * allows. */
static uint64_t below_of_program(const struct hwi_memory *memory, const struct hwi_core_module *program)
{
  const uint64_t mask = program->local_align > 1 ? program->local_align - 1 : 0;
  if (is_above(memory)) {
    const uint64_t first = program->local_begin & mask;
    const uint64_t gap = (uint64_t)memory->threads[0].machine->local_gap_words * memory->word_bytes;
    return -(((gap - first + mask) & ~mask) + first);
  }
  const uint64_t first = -program->local_begin & mask;
  return program->local_bytes ? ((program->local_bytes - first + mask) & ~mask) + first : 0;
}

/* The program is usually mapped below its libraries, whose names say what they are. Returns its index. */
static size_t find_program(const struct hwi_core_modules *modules)
{
  for (size_t i = 0; i < modules->count; i++)
    if (!hwi_core_module_is_library(&modules->modules[i]))
      return i;
  return 0;
}

static bool read_program(struct hwi_thread_storage *storage)
{
  if (storage->of)
    return true;
  storage->of = calloc(storage->modules->count + 1, sizeof *storage->of);
  if (!storage->of || storage->modules->count == 0)
    return storage->of;
  storage->program = find_program(storage->modules);
  storage->of[storage->program].below = below_of_program(storage->memory, &storage->modules->modules[storage->program]);
  return true;
}

const struct hwi_core_module *hwi_thread_storage_at(struct hwi_thread_storage *storage, uint64_t below, uint64_t *off)
{
  if (!read_program(storage))
    return NULL;
  if (!storage->is_searched)
    search(storage);
  for (size_t i = 0; i < storage->modules->count; i++) {
    *off = storage->of[i].below - below;
    if (storage->of[i].below && *off < storage->modules->modules[i].local_bytes)
      return &storage->modules->modules[i];
  }
  return NULL;
}

/* Returns the block with that number in the list of a thread, or 0. A block that the thread has not used yet has all bits of its
 * address set. */
static uint64_t block_of(const struct hwi_memory *memory, const struct hwi_memory_thread *thread, uint64_t number)
{
  const unsigned word = memory->word_bytes;
  struct hwi_memory_reader reader = {.memory = memory};
  uint64_t itself, list, places, block;
  if (!thread->machine)
    return 0;
  const uint64_t at_list = thread->thread_pointer + (uint64_t)((int64_t)thread->machine->local_list * (int64_t)word);
  const bool is_known =
      (is_above(memory) ||
       (hwi_memory_word(&reader, thread->thread_pointer, &itself) && itself == thread->thread_pointer)) &&
      hwi_memory_word(&reader, at_list, &list) && hwi_memory_word(&reader, list - PLACE_WORDS * word, &places) &&
      number <= places && hwi_memory_word(&reader, list + number * PLACE_WORDS * word, &block);
  return is_known && block != all_ones(memory) ? block : 0;
}

uint64_t hwi_thread_storage_of(struct hwi_thread_storage *storage, size_t module, size_t thread)
{
  const uint64_t pointer = storage->memory->threads[thread].thread_pointer;
  if (!pointer || !read_program(storage))
    return 0;
  if (!storage->is_searched && module != storage->program)
    search(storage);
  const struct hwi_module_storage *of = &storage->of[module];
  return of->below    ? pointer - of->below
         : of->number ? block_of(storage->memory, &storage->memory->threads[thread], of->number)
                      : 0;
}

void hwi_thread_storage_release(struct hwi_thread_storage *storage)
{
  free(storage->of);
  storage->of = NULL;
}
