/* moment.h - the blocks of a heap as a trace, in which each is allocated once: what a recording would have left at that moment
 *
 * The stack that allocated a block is known if there is a recording of the process, or an owner in memory. If not, its type is
 * its frame (type_frames.h).
 */
#ifndef HWI_EXPORT_MOMENT_H
#define HWI_EXPORT_MOMENT_H

#include "memory/graph/graph.h"
#include "memory/heaps/recorded.h"
#include "memory/types/block_types.h"

struct hwi_moment {
  int (*find_types)(void *context, struct hwi_error *error); /* is called if a block has no stack */
  void *context;
  struct hwi_block_types *types; /* valid after that */
  const struct hwi_memory *memory;
  const struct hwi_core_modules *modules;
  const struct hwi_core_heap *heap;
  const struct hwi_profile
      *profile; /* of a recording of the process; NULL: there is none, and the next one is not used */
  const struct hwi_recorded_blocks *recorded;
  const struct hwi_graph *leaks_of; /* only its leaks are written; NULL: all live blocks are */
  uint64_t known_stacks;            /* output: so many blocks have the stacks of the recording */
};

/* Makes a packed trace in `fd`, an empty file, from the live blocks. Returns 0 or a negative status (HW_ERR_IO: errno is
 * set). */
int hwi_moment_write(struct hwi_moment *moment, int fd);

#endif
