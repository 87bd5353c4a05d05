/* core.h - what was found in a core dump or in the memory of a process */
#ifndef HWI_MEMORY_CORE_H
#define HWI_MEMORY_CORE_H

#include <stdint.h>

struct hwi_memory;
struct hwi_core_heap;
struct hwi_core_contents;
struct hwi_graph;
struct hwi_leaks;
struct hwi_block_types;
struct hwi_last_calls;

/* All pointers are borrowed. */
struct hwi_core {
  const char *name; /* of the core dump, as the user named it */
  const struct hwi_memory *memory;
  const struct hwi_core_heap *heap;
  const char *abort_message;                /* of the C library, which ended the process; "": there is none */
  uint64_t stop_ns;                         /* for so long the process was stopped; 0: not at all, or it is none */
  const char *recording;                    /* of the process; NULL: there is none */
  uint64_t recorded_blocks;                 /* live blocks with stacks of the recording */
  const char *recorded_to;                  /* else: the trace that a recorder in the process wrote; NULL: none */
  const struct hwi_last_calls *last_calls;  /* if that trace is not here: what the recorder has in memory; else NULL */
  const struct hwi_core_contents *contents; /* NULL: not wanted */
  const struct hwi_graph *graph;            /* NULL: leaks are not wanted; else the profile is of these alone */
  const struct hwi_leaks *leaks;
  const struct hwi_block_types *types; /* NULL: they were not looked for */
};

#endif
