/* own_memory.h - where the recorder keeps words of the program in the program's memory
 *
 * Its caches have copies of registers and stack words, and addresses of blocks. A tool that looks for references to blocks must
 * leave them out: otherwise a lost block would be found there. The tool finds the list by its mark, in the data of the
 * recorder's library.
 */
#ifndef HWI_BASE_OWN_MEMORY_H
#define HWI_BASE_OWN_MEMORY_H

#include <stdint.h>

#define HWI_OWN_MEMORY_MARK "heapwright's own"
/* Ranges of some 2,700 threads at once: of further ones, caches may hide leaks. More would take address space from each program. */
enum { HWI_OWN_MEMORY_MARK_BYTES = sizeof HWI_OWN_MEMORY_MARK - 1, HWI_OWN_MEMORY_MAX = 1 << 13 };

struct hwi_own_range {
  uint64_t start, bytes; /* bytes is 0 while it changes */
};

struct hwi_own_memory {
  char mark[HWI_OWN_MEMORY_MARK_BYTES];
  struct hwi_own_range *ranges;
  uint64_t count;
};

#endif
