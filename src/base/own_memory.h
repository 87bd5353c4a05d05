/* own_memory.h - what the recorder has in the memory of the program, for tools that read that memory
 *
 * Its caches have copies of registers and stack words, and addresses of blocks. A tool that looks for references to blocks must
 * leave them out: otherwise a lost block would be found there. The tool finds the list by its mark, in the data of the
 * recorder's library.
 *
 * If the trace of a process that crashed was lost, a core dump has at least what is needed for the last calls: the threads' lanes and
 * the stacks. The tables say where these are, so that a tool needs not know the recorder's structures.
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

/* A stack frame, as format.h's node. */
struct hwi_own_node {
  uint32_t address;      /* its low half */
  uint32_t parent_entry; /* the entry above the parent's number */
  uint32_t module_high;  /* the address's upper 16 bits above the module's number */
};
enum {
  HWI_OWN_NODE_BITS = 22,        /* of numbers */
  HWI_OWN_NODE_ENTRY_SHIFT = 24, /* in parent_entry */
  HWI_OWN_NODE_HIGH_SHIFT = 16,  /* in module_high */
  HWI_OWN_NODE_BLOCK_LOG2 = 16,  /* nodes in a block */
};

/* The latest allocation of a lane in one of the HW_RECENT_SLOTS of its open chunk (format.h). */
struct hwi_own_alloc {
  uint64_t size, usable, address;
  uint32_t node; /* 0: there is none */
};

/* Addresses, and distances in what is there. All zero: nothing was recorded yet. */
struct hwi_own_tables {
  uint64_t name;                  /* path of the run's first trace */
  uint64_t node_blocks;           /* pointers to blocks of nodes; NULL: there is none */
  uint64_t streams;               /* a pointer to the first one, which may be NULL. Of a stream: */
  uint32_t next_off;              /* a pointer to the next one */
  uint32_t tid_off, thread_off;   /* 4 bytes each: the thread that records there, and its number */
  uint32_t name_off;              /* of the thread, which ends at a NUL */
  uint32_t lanes_off, lane_bytes; /* HWI_OWN_LANES lanes. Of a lane: */
  uint32_t chunk_off;             /* a pointer to the open chunk's header; NULL: there is none */
  uint32_t recent_off;            /* HW_RECENT_SLOTS of struct hwi_own_alloc */
};
enum { HWI_OWN_LANES = 2, HWI_OWN_NAME_BYTES = 16 };

struct hwi_own_memory {
  char mark[HWI_OWN_MEMORY_MARK_BYTES];
  struct hwi_own_range *ranges;
  uint64_t count;
  struct hwi_own_tables tables;
};

#endif
