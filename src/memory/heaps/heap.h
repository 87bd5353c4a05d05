/* heap.h - the blocks of a process's heap, as its allocator's own structures describe them
 *
 * block       memory that an allocator handed out, or could hand out: its address is that which the program gets.
 * usable      the bytes that the program may use. How many it asked for is not known.
 * part        memory that the allocator got from the kernel for one purpose: an arena, or a block that is mapped alone.
 * system      bytes of a part, by the allocator's own account.
 * understood  bytes of a part that consist of sound blocks and of the allocator's own data.
 */
#ifndef HWI_MEMORY_HEAPS_HEAP_H
#define HWI_MEMORY_HEAPS_HEAP_H

#include "memory/image/memory.h"

enum hwi_core_block_state {
  HWI_CORE_BLOCK_LIVE = 0,
  HWI_CORE_BLOCK_OWN,    /* in use by the allocator itself */
  HWI_CORE_BLOCK_FREE,   /* in a list of free blocks */
  HWI_CORE_BLOCK_CACHED, /* free, but kept for its thread or for blocks of its size */
  HWI_CORE_BLOCK_TOP,    /* never handed out, or joined with such memory: from here the heap grows and shrinks */
  HWI_CORE_BLOCK_STATES,
};

enum { HWI_CORE_BLOCK_STATE_BITS = 3 };

struct hwi_core_block {
  uint64_t address;
  uint64_t packed; /* usable bytes, shifted, and the state */
};

static inline enum hwi_core_block_state hwi_core_block_state(const struct hwi_core_block *block)
{
  return (enum hwi_core_block_state)(block->packed & ((1 << HWI_CORE_BLOCK_STATE_BITS) - 1));
}

static inline uint64_t hwi_core_block_bytes(const struct hwi_core_block *block)
{
  return block->packed >> HWI_CORE_BLOCK_STATE_BITS;
}

/* The end of the block's usable bytes. */
static inline uint64_t hwi_core_block_end(const struct hwi_core_block *block)
{
  return block->address + hwi_core_block_bytes(block);
}

/* Whether it was handed out and is free now: not the free end of an arena. */
static inline bool hwi_core_block_is_free(const struct hwi_core_block *block)
{
  const enum hwi_core_block_state state = hwi_core_block_state(block);
  return state == HWI_CORE_BLOCK_FREE || state == HWI_CORE_BLOCK_CACHED;
}

struct hwi_core_heap_sum {
  uint64_t blocks, bytes; /* usable */
};

/* Whose structures describe a part, in the order in which they are named. */
enum hwi_core_allocator {
  HWI_CORE_GLIBC = 0,
  HWI_CORE_MIMALLOC,
  HWI_CORE_MUSL,
  HWI_CORE_JEMALLOC,
  HWI_CORE_TCMALLOC,
  HWI_CORE_POOL,      /* of heapwright */
  HWI_CORE_ANNOTATED, /* not known: blocks were found by the owners in front of them */
  HWI_CORE_ALLOCATORS,
};

struct hwi_core_heap_part {
  enum hwi_core_allocator allocator;
  char name[40];
  uint64_t address;                                     /* of the arena; 0: none */
  uint64_t own_bytes;                                   /* of the allocator's structure at `address` */
  uint64_t system_bytes, understood_bytes;              /* equal if the part is sound */
  bool is_piece;                                        /* in one piece from `address` on */
  bool is_nested;                                       /* in a block of another part, which counts its bytes, too */
  struct hwi_core_heap_sum sums[HWI_CORE_BLOCK_STATES]; /* by state */
};

/* Addresses of an allocator's own data, and of what is between blocks: no roots of the program. */
struct hwi_core_own {
  uint64_t begin, end;
};

/* Who allocated a block, if that is in front of it (annotate.h). Its address is then that which the program got, and its usable
 * bytes are those that it asked for; but the sums of parts are the allocator's. */
struct hwi_core_owner {
  uint32_t stack; /* place in `stacks`, from 1 on; 0: unknown */
  bool is_known;
};

/* Return addresses, innermost first. */
struct hwi_core_stack {
  uint64_t first; /* of `frames` */
  uint32_t count;
  uint32_t number; /* in the process */
};

/* Something in the heap that cannot be so. */
struct hwi_damage {
  uint64_t address;
  char text[200];
  bool is_overrun; /* the block before it was probably written beyond its end */
};

enum { HWI_DAMAGES_MAX = 100 }; /* that are listed */

/* All zero: empty. Blocks are in the order of their addresses. */
struct hwi_core_heap {
  unsigned allocators; /* a bit for each one that a part has */
  char allocator[64];  /* their names: "glibc"; several: "glibc, jemalloc" */
  struct hwi_core_block *blocks;
  size_t block_count, block_capacity; /* a list of table.h */
  struct hwi_core_heap_part *parts;
  size_t part_count, part_capacity;
  struct hwi_core_own *own;       /* besides that of parts */
  size_t own_count, own_capacity; /* a list of table.h */
  struct hwi_damage damages[HWI_DAMAGES_MAX];
  size_t damage_count;           /* may be more than are listed */
  struct hwi_core_owner *owners; /* of each block; NULL: nothing is known of them */
  struct hwi_core_stack *stacks;
  size_t stack_count, stack_capacity; /* a list of table.h */
  uint64_t *frames;                   /* of the stacks */
  size_t frame_count, frame_capacity; /* a list of table.h */
};

/* Finds the heap of the process. Returns 0, HW_ERR_USAGE if no allocator was recognized, or another negative status. */
int hwi_core_heap_find(struct hwi_core_heap *heap, const struct hwi_memory *memory, struct hwi_error *error);
void hwi_core_heap_release(struct hwi_core_heap *heap);

/* Returns the sum over all parts. */
struct hwi_core_heap_sum hwi_core_heap_sum(const struct hwi_core_heap *heap, enum hwi_core_block_state state);

/* Puts the blocks in the order of their addresses. Before, those of a part follow each other, in the order of parts. */
void hwi_core_heap_sort(struct hwi_core_heap *heap);

/* Returns the number of the first block that begins at the address or behind it. They must be sorted. */
size_t hwi_core_heap_first_from(const struct hwi_core_heap *heap, uint64_t address);

/* Returns the number of the first block that begins behind the address. They must be sorted. */
size_t hwi_core_heap_first_behind(const struct hwi_core_heap *heap, uint64_t address);

/* Returns the block whose usable bytes contain the address, or NULL. They must be sorted. */
const struct hwi_core_block *hwi_core_heap_block_at(const struct hwi_core_heap *heap, uint64_t address);

/* Returns the first listed damage that was written beyond a block, or NULL. */
const struct hwi_damage *hwi_core_heap_first_overrun(const struct hwi_core_heap *heap);

/* Returns whether all parts are of that allocator. */
static inline bool hwi_core_heap_is_of(const struct hwi_core_heap *heap, enum hwi_core_allocator allocator)
{
  return heap->allocators == 1U << allocator;
}

/* For the files that know an allocator: each returns false if there is no memory. */
bool hwi_core_heap_add_block(struct hwi_core_heap *heap, struct hwi_core_heap_part *part, uint64_t address,
                             uint64_t bytes, enum hwi_core_block_state state);
struct hwi_core_heap_part *hwi_core_heap_add_part(struct hwi_core_heap *heap, enum hwi_core_allocator allocator,
                                                  const char *name, uint64_t address);
bool hwi_core_heap_add_own(struct hwi_core_heap *heap, uint64_t begin, uint64_t end);
void hwi_core_heap_note_damage(struct hwi_core_heap *heap, uint64_t address, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void hwi_core_heap_note_overrun(struct hwi_core_heap *heap, uint64_t address, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
