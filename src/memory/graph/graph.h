/* graph.h - who points to whom: words of memory that hold addresses in blocks
 *
 * reference   a word, aligned to its size, whose value is an address in a live block: of its start, or an interior one.
 *             Any word may look like a reference by chance; a block that is referred to may therefore be a leak.
 * root        memory that the program can use without a block: registers, stacks, data of modules, thread-local storage,
 *             and other mapped memory. The allocator's own structures and its free blocks are no roots.
 * below       words of a stack below its stack pointer, or of the stack of a thread that has ended: what calls that have returned
 *             left there. They are no roots.
 * reached     a live block to which references lead from a root.
 * leak        a live block that is not reached. It is direct if no other leak refers to it, a cycle if only leaks do that it
 *             refers to itself, over others or not, and else indirect.
 *
 * References are not stored: of 50 million blocks they would take more than the blocks. Memory is read again instead.
 */
#ifndef HWI_MEMORY_GRAPH_GRAPH_H
#define HWI_MEMORY_GRAPH_GRAPH_H

#include "memory/graph/block_index.h"

/* Bits of a block, once hwi_leaks_find has run. Only live blocks have some. */
enum hwi_graph_mark {
  HWI_MARK_REACHED = 1,     /* from a root, each reference being to the start of a block */
  HWI_MARK_BY_INTERIOR = 2, /* from a root, but with an interior reference in every chain */
  HWI_MARK_INTERIOR = 4,    /* an interior reference was seen from a block with HWI_MARK_REACHED, or from a root */
  HWI_MARK_FROM_BELOW = 8,  /* a leak to which references lead from below a stack pointer */
  HWI_MARK_FROM_FREED = 16, /* a leak to which references lead from a free block */
  HWI_MARK_FROM_LEAK = 32,  /* a leak to which another one refers */
  HWI_MARK_INDIRECT = 64,   /* a leak to which references lead from a direct leak or a cycle, and that is not in it */
  HWI_MARK_IN_CYCLE = 128,  /* a leak of a cycle */
};

/* Known bytes outside of blocks. */
struct hwi_stretch {
  uint64_t address;
  const unsigned char *bytes;
  uint64_t count;
  bool is_below; /* a stack pointer */
};

/* All zero: nothing is open. */
struct hwi_graph {
  const struct hwi_memory *memory;
  const struct hwi_core_heap *heap;
  struct hwi_block_index index;
  struct hwi_stretch *roots; /* and what is below stack pointers */
  size_t root_count, root_capacity;
  uint8_t *marks;         /* of each block */
  uint32_t *queue;        /* of blocks to be scanned: each once */
  uint64_t *sorting;      /* a bit for each block; all zero in between */
  uint64_t unknown_bytes; /* of writable memory and of blocks, whose references are not in the image */
};

/* Memory and heap stay the caller's, and must not change. Takes 41 bits for each block, beside the index. Returns 0,
 * HW_ERR_LIMIT or HW_ERR_MEMORY. */
int hwi_graph_open(struct hwi_graph *graph, const struct hwi_memory *memory, const struct hwi_core_heap *heap,
                   struct hwi_error *error);
void hwi_graph_close(struct hwi_graph *graph);

/* --- where a word is --- */

enum hwi_core_place_kind {
  HWI_CORE_PLACE_REGISTER,
  HWI_CORE_PLACE_STACK,   /* or, if `local_off` is set, maybe thread-local storage, which is in the same memory */
  HWI_CORE_PLACE_BELOW,   /* the stack pointer */
  HWI_CORE_PLACE_ENDED,   /* the stack of a thread that has ended, which the C library keeps */
  HWI_CORE_PLACE_LOCAL,   /* thread-local storage */
  HWI_CORE_PLACE_MODULE,  /* data of a program or a library */
  HWI_CORE_PLACE_MAPPED,  /* other memory */
  HWI_CORE_PLACE_BLOCK,   /* a live block */
  HWI_CORE_PLACE_FREED,   /* a free block */
  HWI_CORE_PLACE_OWN,     /* of the allocator */
  HWI_CORE_PLACE_UNKNOWN, /* not in the image */
};

struct hwi_core_place {
  enum hwi_core_place_kind kind;
  uint64_t address;   /* of the word, except for registers */
  size_t thread;      /* index, for REGISTER, STACK, BELOW and LOCAL */
  unsigned reg;       /* index in the thread's registers */
  const char *file;   /* for MODULE */
  uint64_t off;       /* in the block; in the module, from its first address; above (or below) the stack pointer */
  uint64_t local_off; /* below the thread pointer; 0: not known to be near */
  uint32_t block;     /* for BLOCK and FREED */
};

enum { HWI_CORE_PLACE_TEXT_BYTES = 512 };

/* Returns the name of a register of a thread, or NULL if it is not known. */
const char *hwi_core_register_name(const struct hwi_memory_thread *thread, unsigned reg);

void hwi_graph_place(const struct hwi_graph *graph, uint64_t address, struct hwi_core_place *place);

/* Writes for example "stack of thread 123 at sp+0x40", "data of /usr/lib/libx.so+0x4010", "block 0x5581e0+0x8". */
void hwi_core_place_text(const struct hwi_graph *graph, const struct hwi_core_place *place, char *text, size_t size);

/* --- leaks --- */

enum hwi_leak_kind { HWI_LEAK_DIRECT, HWI_LEAK_INDIRECT, HWI_LEAK_CYCLE, HWI_LEAK_KINDS };

/* Leaks of one size and kind. */
struct hwi_leak_group {
  uint64_t block_bytes; /* usable bytes of each */
  enum hwi_leak_kind kind;
  uint64_t blocks;
  uint32_t first; /* block of them */
};

/* All zero: none. */
struct hwi_leaks {
  struct hwi_core_heap_sum reached, by_interior; /* no leaks */
  struct hwi_core_heap_sum sums[HWI_LEAK_KINDS]; /* all leaks */
  struct hwi_core_heap_sum from_below,
      from_freed;                      /* of these, those to which such memory leads; both may be true of one */
  struct hwi_core_heap_sum suppressed; /* no leaks, as the caller knows them, or only those reach them */
  struct hwi_leak_group *groups;       /* the most bytes first */
  size_t group_count, group_capacity;
};

/* Marks all blocks, and sums up. Returns 0 or HW_ERR_MEMORY. */
int hwi_leaks_find(struct hwi_leaks *leaks, struct hwi_graph *graph, struct hwi_error *error);
void hwi_leaks_release(struct hwi_leaks *leaks);

/* Leaks of which `is_known` returns true are no leaks from now on, and neither is what they reach. Needs the marks of
 * hwi_leaks_find; `leaks` is summed up again. Returns 0 or HW_ERR_MEMORY. */
int hwi_leaks_suppress(struct hwi_leaks *leaks, struct hwi_graph *graph,
                       bool (*is_known)(void *context, uint32_t block), void *context, struct hwi_error *error);

static inline bool hwi_graph_is_leak(const struct hwi_graph *graph, uint32_t block)
{
  return hwi_core_block_state(&graph->heap->blocks[block]) == HWI_CORE_BLOCK_LIVE &&
         !(graph->marks[block] & (HWI_MARK_REACHED | HWI_MARK_BY_INTERIOR));
}

static inline enum hwi_leak_kind hwi_graph_leak_kind(const struct hwi_graph *graph, uint32_t block)
{
  return graph->marks[block] & HWI_MARK_IN_CYCLE   ? HWI_LEAK_CYCLE
         : graph->marks[block] & HWI_MARK_INDIRECT ? HWI_LEAK_INDIRECT
                                                   : HWI_LEAK_DIRECT;
}

/* --- who refers to a block --- */

struct hwi_reference {
  struct hwi_core_place place;
  bool is_start; /* else interior */
  uint64_t to_off;
};

/* Describes a reference to the block that a scan found. */
void hwi_reference_of(const struct hwi_graph *graph, uint32_t block, uint64_t at, uint64_t to,
                      struct hwi_reference *reference);

/* All zero: none. */
struct hwi_references {
  struct hwi_reference *list; /* the first ones */
  size_t count, capacity;
  uint64_t total;
};

/* Finds all words that refer to the block, in whatever state it is, with those in free blocks and below stack pointers;
 * lists at most `most`. Reads all memory once. Returns 0 or HW_ERR_MEMORY. */
int hwi_references_find(struct hwi_references *references, const struct hwi_graph *graph, uint32_t block, size_t most,
                        struct hwi_error *error);
void hwi_references_release(struct hwi_references *references);

/* A shortest chain of references from a root: steps[0] is in a root, each other one in the block to which the one before
 * it refers; the last one refers to the block. Empty if no chain leads to it. */
struct hwi_path {
  struct hwi_reference *steps;
  size_t count, capacity;
};

/* Takes 4 bytes for each block while it searches. Changes no marks. Returns 0 or HW_ERR_MEMORY. */
int hwi_path_find(struct hwi_path *path, const struct hwi_graph *graph, uint32_t block, struct hwi_error *error);
void hwi_path_release(struct hwi_path *path);

/* --- what a block retains --- */

/* A block retains itself, and what is reached only over it: what would go if it went. */
struct hwi_retainer {
  uint32_t block;
  uint32_t over;             /* the nearest block that retains this one, or HWI_NO_BLOCK */
  struct hwi_reference root; /* a word in a root that refers to it; none: its place is HWI_CORE_PLACE_UNKNOWN */
  struct hwi_core_heap_sum retained;
};

/* All zero: none. */
struct hwi_retained {
  struct hwi_retainer *list; /* those that retain most come first */
  size_t count;
  struct hwi_core_heap_sum reached; /* all blocks with a chain from a root */
  uint64_t reference_count;         /* between different blocks, or from roots */
  uint64_t memory_bytes;            /* that it took */
};

/* Needs the marks of hwi_leaks_find. Lists at most `most` blocks. References are stored for that, in both directions: it takes
 * 72 bytes for each block and 8 for each reference. If that is more than `memory_most` bytes, returns HW_ERR_LIMIT, and the error says how much it is. */
int hwi_retained_find(struct hwi_retained *retained, const struct hwi_graph *graph, size_t most, uint64_t memory_most,
                      struct hwi_error *error);
void hwi_retained_release(struct hwi_retained *retained);

#endif
