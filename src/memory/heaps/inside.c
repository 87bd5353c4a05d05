/* inside.c - the threads that stopped inside of an allocator */
#include "memory/heaps/inside.h"

#include <stdlib.h>
#include <string.h>

static bool is_code_of(const struct hwi_memory *memory, uint64_t address, const char *library)
{
  const struct hwi_region *region = hwi_memory_region(memory, address);
  return region && region->is_executable && region->file && strstr(region->file, library);
}

static bool is_inside(struct hwi_memory_reader *reader, const struct hwi_memory_thread *thread, const char *library)
{
  enum { NEAR_WORDS = 64 }; /* the frames of functions that wait for a lock have fewer */
  const unsigned word = reader->memory->word_bytes;
  uint64_t value, at = thread->stack_pointer;
  bool is_found = is_code_of(reader->memory, thread->program_counter, library);
  for (unsigned i = 0; i < NEAR_WORDS && !is_found && hwi_memory_word(reader, at, &value); i++, at += word)
    is_found = is_code_of(reader->memory, value, library);
  return is_found;
}

static int compare(const void *a, const void *b)
{
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

bool hwi_inside_find(struct hwi_inside *inside, const struct hwi_memory *memory, const char *library)
{
  struct hwi_memory_reader reader = {.memory = memory};
  *inside = (struct hwi_inside){.thread_pointers = calloc(memory->thread_count + 1, sizeof *inside->thread_pointers)};
  if (!inside->thread_pointers)
    return false;
  for (size_t i = memory->signal ? 1 : 0; i < memory->thread_count; i++)
    if (is_inside(&reader, &memory->threads[i], library))
      inside->thread_pointers[inside->count++] = memory->threads[i].thread_pointer;
  if (inside->count)
    qsort(inside->thread_pointers, inside->count, sizeof *inside->thread_pointers, compare);
  return true;
}

bool hwi_inside_has(const struct hwi_inside *inside, uint64_t thread_pointer)
{
  return inside->count &&
         bsearch(&thread_pointer, inside->thread_pointers, inside->count, sizeof *inside->thread_pointers, compare);
}

void hwi_inside_release(struct hwi_inside *inside)
{
  free(inside->thread_pointers);
  *inside = (struct hwi_inside){0};
}
