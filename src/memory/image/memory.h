/* memory.h - the memory of a process, wherever it was kept: in a core dump, a running process, a file of raw bytes
 *
 * region   consecutive addresses that the process had mapped with the same rights. Its bytes may be known in part: a core
 *          dump leaves out what can be read from a file, and may be truncated.
 * word     an integer of the size of a pointer of the process, in its byte order.
 */
#ifndef HWI_MEMORY_IMAGE_MEMORY_H
#define HWI_MEMORY_IMAGE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "platform/machine.h"

struct hwi_region {
  uint64_t begin, end;
  const unsigned char *bytes; /* of the first `known` addresses */
  uint64_t known;
  bool is_writable, is_executable;
  const char *file; /* that was mapped; NULL: none, or it is not known */
  uint64_t file_off;
};

enum { HWI_THREAD_REGISTERS = HWI_MACHINE_REGISTERS_MAX, HWI_THREAD_VECTORS = 288, HWI_MEMORY_PAGE_BYTES = 4096 };

/* A thread at the moment of the image. */
struct hwi_memory_thread {
  const struct hwi_machine *machine; /* NULL: its registers are not known */
  uint32_t tid;
  uint64_t stack_pointer, thread_pointer, program_counter;
  uint64_t registers[HWI_THREAD_REGISTERS]; /* that may hold pointers */
  size_t register_count;
  uint64_t vectors[HWI_THREAD_VECTORS]; /* words of vector registers, without zeros; none in a system call */
  size_t vector_count;
  bool is_in_call; /* a note says that the thread is in a system call */
};

/* Returns whether thread-local storage begins above the thread pointer; otherwise it ends there. */
static inline bool hwi_thread_local_is_above(const struct hwi_memory_thread *thread)
{
  return thread->machine && thread->machine->local_is_above;
}

/* Memory that is not in the image. */
struct hwi_memory_note {
  uint64_t bytes;
  unsigned filter;  /* the bits of coredump_filter with which the kernel would have kept it, for a core dump; 0: none */
  const char *text; /* "mappings that are shared ... were not read"; static */
};

enum { HWI_MEMORY_NOTES_MAX = 8 };

/* All zero: nothing is open. Regions are in the order of their addresses, and do not overlap. */
struct hwi_memory {
  struct hwi_region *regions;
  size_t region_count, region_capacity;
  struct hwi_memory_thread *threads; /* the first one got the signal */
  size_t thread_count, thread_capacity;
  unsigned word_bytes; /* 4 or 8 */
  bool rest_is_zero;   /* bytes that are not known are zeros, except for those in the notes */
  bool swaps_bytes;    /* its byte order is not this machine's */
  uint32_t pid;        /* 0: not known */
  int signal;          /* that ended the process; 0: none */
  int signal_code;     /* the kernel's, such as FPE_INTDIV; above 0: an instruction was the reason */
  bool has_fault;      /* the signal came because the first thread accessed an address: */
  bool is_fault_known; /* that of x86-64 is not, if no pointer can have it */
  uint64_t fault_address;
  char command[80]; /* with its arguments, maybe shortened; "": not known */
  uint64_t missing; /* bytes of the image that should be in its file, and are not: it is truncated */
  struct hwi_memory_note notes[HWI_MEMORY_NOTES_MAX];
  size_t note_count;
  void *mapped; /* the file, or the copy */
  size_t mapped_bytes;
  char *names; /* of files */
};

/* Returns the region that contains `address`, or NULL. Takes logarithmic time. */
const struct hwi_region *hwi_memory_region(const struct hwi_memory *memory, uint64_t address);

/* Returns the first region that ends behind `address`, or NULL. */
const struct hwi_region *hwi_memory_region_from(const struct hwi_memory *memory, uint64_t address);

/* Returns how many bytes of all regions are known: work on a forged image is bounded by them. */
uint64_t hwi_memory_known_bytes(const struct hwi_memory *memory);

/* Returns whether the file of some region is known. */
bool hwi_memory_knows_files(const struct hwi_memory *memory);

/* Returns whether a region may be data of the program or a library: mapped from its file and writable, or writable and next to
 * such memory, as zeros are. If no files are known, any memory may be that. */
bool hwi_memory_is_data(const struct hwi_memory *memory, size_t region, bool knows_files);

/* Adds a region; hwi_memory_finish sorts them. Returns false if there is no memory. */
bool hwi_memory_add_region(struct hwi_memory *memory, const struct hwi_region *region);

/* To be called when all regions are known: sorts them, and cuts off what overlaps. */
void hwi_memory_finish(struct hwi_memory *memory);

/* Adds a note. */
void hwi_memory_note(struct hwi_memory *memory, uint64_t bytes, unsigned filter, const char *text);

void hwi_memory_close(struct hwi_memory *memory);

/* --- reading --- */

static inline bool hwi_region_has(const struct hwi_region *region, uint64_t address, uint64_t bytes)
{
  const uint64_t off = address - region->begin;
  return address >= region->begin && off <= region->known && bytes <= region->known - off;
}

/* Data of a module that is all zero in its file is in memory without a file, behind the rest of its data. */
static inline bool hwi_region_is_behind_file(const struct hwi_memory *memory, const struct hwi_region *region)
{
  return region > memory->regions && region[-1].end == region->begin && region[-1].file;
}

/* Reads a word at `bytes`. */
static inline uint64_t hwi_memory_load(const struct hwi_memory *memory, const unsigned char *bytes)
{
  uint64_t word;
  uint32_t half;
  if (memory->word_bytes == sizeof word) {
    memcpy(&word, bytes, sizeof word);
    return memory->swaps_bytes ? __builtin_bswap64(word) : word;
  }
  memcpy(&half, bytes, sizeof half);
  return memory->swaps_bytes ? __builtin_bswap32(half) : half;
}

/* Reads an integer of 4 bytes. */
static inline uint32_t hwi_memory_load_32(const struct hwi_memory *memory, const unsigned char *bytes)
{
  uint32_t number;
  memcpy(&number, bytes, sizeof number);
  return memory->swaps_bytes ? __builtin_bswap32(number) : number;
}

/* A place to read from: successive addresses are usually in one region. All zero at first, except for `memory`. */
struct hwi_memory_reader {
  const struct hwi_memory *memory;
  const struct hwi_region *region;
};

/* Returns the `count` bytes at an address, or NULL if they are not all known, or not in one region. */
static inline const unsigned char *hwi_memory_bytes(struct hwi_memory_reader *reader, uint64_t address, uint64_t count)
{
  if (!reader->region || !hwi_region_has(reader->region, address, count)) {
    const struct hwi_region *found = hwi_memory_region(reader->memory, address);
    if (!found || !hwi_region_has(found, address, count))
      return NULL;
    reader->region = found;
  }
  return reader->region->bytes + (address - reader->region->begin);
}

/* Reads the word at an address. Returns false if it is not known. */
static inline bool hwi_memory_word(struct hwi_memory_reader *reader, uint64_t address, uint64_t *word)
{
  const unsigned char *bytes = hwi_memory_bytes(reader, address, reader->memory->word_bytes);
  if (bytes)
    *word = hwi_memory_load(reader->memory, bytes);
  return bytes;
}

/* Returns for how many items of so many bytes from an address on it is certain that they are not known: 0 if the first one is. */
uint64_t hwi_memory_unknown_count(struct hwi_memory_reader *reader, uint64_t address, uint64_t bytes);

#endif
