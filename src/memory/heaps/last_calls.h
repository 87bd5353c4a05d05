/* last_calls.h - the last calls of a recorded process whose trace is lost, from what the recorder has in the memory of the process
 *
 * Each thread writes its events into an open piece of the trace, a chunk, which is mapped from the file. A core dump has it if its
 * coredump_filter keeps shared mappings of files (bit 8), or if the file was removed before. Then the thread's last calls are known in
 * their order. Otherwise there is still the recorder's own memory: the latest allocation of each of some stacks of the thread since its
 * chunk began, in no order. Stacks are known in both cases.
 *
 * What is not there: earlier events, so that most live blocks have no stack; their sums; times.
 */
#ifndef HWI_MEMORY_HEAPS_LAST_CALLS_H
#define HWI_MEMORY_HEAPS_LAST_CALLS_H

#include "memory/image/recorder_memory.h"

enum { HWI_LAST_CALLS_MOST = 32 /* of a thread */ };

struct hwi_last_call {
  uint64_t tick, place; /* in time, and among the events of a lane: only their order means something */
  uint64_t address, size;
  uint32_t node; /* of its stack; 0: not known, or a free, which has none */
  uint8_t entry; /* enum hw_entry */
  bool is_free, has_failed;
};

struct hwi_last_thread {
  uint32_t tid;
  char name[HWI_OWN_NAME_BYTES];
  bool is_ordered; /* the calls are its last ones, the latest first; else the largest first */
  struct hwi_last_call calls[HWI_LAST_CALLS_MOST];
  size_t count;
};

/* All zero: none. */
struct hwi_last_calls {
  const struct hwi_memory *memory;
  uint64_t node_blocks;
  char *trace; /* its path; NULL: there was no recorder */
  struct hwi_last_thread *threads;
  size_t count, capacity;
};

/* Returns false if there is no memory. */
bool hwi_last_calls_read(struct hwi_last_calls *calls, const struct hwi_memory *memory);

/* Gets the return addresses of a stack, innermost first, at most `most`, and the function of malloc that was called (enum hw_entry).
 * Returns how many addresses there are. */
size_t hwi_last_calls_stack(const struct hwi_last_calls *calls, uint32_t node, uint64_t *addresses, size_t most,
                            uint8_t *entry);

void hwi_last_calls_release(struct hwi_last_calls *calls);

#endif
