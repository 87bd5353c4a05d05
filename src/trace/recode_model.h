/* recode_model.h - what the packer and the unpacker both know after the same events, and so need not tell each other
 *
 * The idea: a program repeats itself, and its allocator is a machine. From the last three events one can mostly tell which stack
 * allocates next, or which stack's block is freed next; a stack mostly asks for the size that it asked for last; and the
 * allocator mostly gives out the block of that size class that was freed last, or the memory behind the block before.
 * Packer and unpacker walk through the same events with the same model; written is only where it was wrong.
 *
 * symbol     what happens next, as far as it is guessed as a whole: a kind, and mostly a node.
 * context    what has just happened; the last three lead to the guesses.
 * block      an allocation of the section that was not freed yet, in two lists: of all blocks by age, and of those whose nodes
 *            share a slot. X is not Y: blocks born before the section are no blocks, and their addresses are written out.
 * class      usable sizes that differ by less than 16 bytes: the allocator serves them from the same list.
 * pc         here: a return address, its module, and whether an entry point was called from it; numbered in the section.
 *
 * No table checks whether an entry belongs to whom it is read for: a wrong one is only a bad guess, the same on both sides. So
 * all tables have a fixed size, and whatever a forged file says, no index leaves them.
 */
#ifndef HWI_TRACE_RECODE_MODEL_H
#define HWI_TRACE_RECODE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "trace/format.h"

enum hwi_symbol_kind {
  HWI_KIND_ALLOC = 1,       /* by a node */
  HWI_KIND_ALIGNED = 2,     /* the same, with an alignment */
  HWI_KIND_REALLOC = 3,     /* by a node */
  HWI_KIND_ALLOC_FRESH = 4, /* an ALLOC by the node that was defined last */
  HWI_KIND_FREE = 5,        /* of a block of a node */
  HWI_KIND_FREE_NEXT = 6,   /* of the block born after the one freed last, of those alive */
  HWI_KIND_FREE_PREVIOUS = 7,
  HWI_KIND_FREE_UNKNOWN = 8, /* of what is no block */
  HWI_KIND_NODE = 9,
  HWI_KIND_NODE_LATE = 10, /* with a time of its own */
  HWI_KIND_FAILED = 11,
  HWI_KIND_RECORD = 12,
  HWI_KIND_COUNT,
};

enum {
  HWI_SYMBOL_NODE_BITS = 28,
  HWI_GUESSES = 3,
  HWI_GUESS_SLOTS_LOG2 = 16,
  HWI_NODE_SLOTS_LOG2 = 16,
  HWI_TREE_SLOTS_LOG2 = 17,
  HWI_CLASSES = 1024,
  HWI_CLASS_DEPTH = 32, /* freed blocks remembered of each */
  HWI_CLASS_SEARCH = 8, /* of them, how many a new block is looked for on */
  HWI_RANKS = 16,       /* places in a node's list that are told by a number */
  HWI_STEPS = 8,        /* blocks around the last freed one, and youngest ones, that are */
  HWI_PC_SLOTS_LOG2 = 16,
  HWI_PCS_MAX = 1 << (HWI_PC_SLOTS_LOG2 - 1),
  HWI_FOLLOWER_SLOTS_LOG2 = 14,
  HWI_FOLLOWERS = 8, /* pcs known to come inside a pc */
  HWI_EDGE_SLOTS_LOG2 = 17,
};

struct hwi_block {
  uint64_t address;
  uint32_t node;
  uint32_t older, younger;           /* of all; 0: none */
  uint32_t node_older, node_younger; /* of its node's slot */
  uint16_t class;                    /* 0: none */
  bool live;
};

struct hwi_node_habits { /* of the nodes of a slot */
  uint32_t size;         /* as the varints of its last allocation; larger ones match none */
  uint16_t usable;
  uint8_t free_op; /* how its last freed block was freed: see hwi_free_code */
};

struct hwi_tree_node {
  uint32_t parent, pc;
};

struct hwi_pc {
  uint64_t address, module; /* as the NODE event has them: module << 1 | has entry */
  uint8_t entry;
};

struct hwi_model {
  /* --- events --- */
  uint32_t guesses[HWI_GUESSES][1 << HWI_GUESS_SLOTS_LOG2];
  uint32_t contexts[HWI_GUESSES]; /* the latest first */
  uint32_t guess_at[HWI_GUESSES]; /* where the present event's guesses are */
  bool was_free;                  /* the event before */
  struct hwi_node_habits habits[1 << HWI_NODE_SLOTS_LOG2];

  /* --- blocks --- */
  struct hwi_block *blocks; /* [1, block_count) */
  uint32_t block_count, block_room;
  uint32_t youngest, next, previous; /* blocks; 0: none. next and previous: around the one freed last */
  uint32_t node_youngest[1 << HWI_NODE_SLOTS_LOG2];
  uint64_t freed[HWI_CLASSES][HWI_CLASS_DEPTH];
  uint8_t freed_count[HWI_CLASSES];
  uint64_t top;          /* where the block behind the last one would lie */
  uint64_t last_address; /* that was written out, of an allocation */
  uint64_t last_freed;   /* the same of a free */

  /* --- nodes; cleared when the first is seen --- */
  bool has_nodes;
  uint32_t fresh; /* defined last and not used yet; 0: none */
  uint32_t last_defined, last_allocated;
  uint32_t pc_count;
  uint64_t last_pc;
  struct hwi_tree_node tree[1 << HWI_TREE_SLOTS_LOG2];
  struct hwi_pc pcs[HWI_PCS_MAX];                                  /* [1, pc_count) */
  uint32_t inside[1 << HWI_PC_SLOTS_LOG2];                         /* the pc seen last inside a pc inside a pc */
  uint32_t followers[1 << HWI_FOLLOWER_SLOTS_LOG2][HWI_FOLLOWERS]; /* the latest first */
  uint32_t edges[1 << HWI_EDGE_SLOTS_LOG2];                        /* (node, pc) that are nodes already */
};

/* Keeps the memory of the blocks. */
void hwi_model_reset(struct hwi_model *model);
void hwi_model_release(struct hwi_model *model);

/* --- symbols --- */

static inline uint32_t hwi_symbol(enum hwi_symbol_kind kind, uint32_t node)
{
  return (uint32_t)kind << HWI_SYMBOL_NODE_BITS | node;
}

static inline enum hwi_symbol_kind hwi_symbol_kind(uint32_t symbol)
{
  return (enum hwi_symbol_kind)(symbol >> HWI_SYMBOL_NODE_BITS);
}

static inline uint32_t hwi_symbol_node(uint32_t symbol)
{
  return symbol & ((UINT32_C(1) << HWI_SYMBOL_NODE_BITS) - 1);
}

static inline uint32_t hwi_mix(uint32_t a, uint32_t b, uint32_t c, int bits)
{
  uint64_t mixed =
      a * UINT64_C(0x9e3779b97f4a7c15) + b * UINT64_C(0xc2b2ae3d27d4eb4f) + c * UINT64_C(0x165667b19e3779f9);
  return (uint32_t)((mixed ^ mixed >> 29) * UINT64_C(0xbf58476d1ce4e5b9) >> (64 - bits));
}

static inline uint32_t hwi_node_slot(uint32_t node)
{
  return (node * UINT32_C(0x9e3779b1)) >> (32 - HWI_NODE_SLOTS_LOG2);
}

static inline struct hwi_node_habits *hwi_model_habits(struct hwi_model *model, uint32_t node)
{
  return &model->habits[hwi_node_slot(node)];
}

/* Looks the guesses for the next event up: guess `i` rests on 3 - i contexts. */
static inline void hwi_model_guess(struct hwi_model *model, uint32_t guess[HWI_GUESSES])
{
  const uint32_t *c = model->contexts;
  model->guess_at[0] = hwi_mix(c[0], c[1], c[2], HWI_GUESS_SLOTS_LOG2);
  model->guess_at[1] = hwi_mix(c[0], c[1], 7, HWI_GUESS_SLOTS_LOG2);
  model->guess_at[2] = hwi_mix(c[0], 0, 1, HWI_GUESS_SLOTS_LOG2);
  for (int i = 0; i < HWI_GUESSES; i++)
    guess[i] = model->guesses[i][model->guess_at[i]];
}

/* What it really was, and what it means for what follows. */
static inline void hwi_model_learn(struct hwi_model *model, uint32_t symbol, uint32_t context)
{
  for (int i = 0; i < HWI_GUESSES; i++)
    model->guesses[i][model->guess_at[i]] = symbol;
  model->contexts[2] = model->contexts[1];
  model->contexts[1] = model->contexts[0];
  model->contexts[0] = context;
}

/* --- blocks --- */

/* The class of a block; 0: too large for one. `size` and `usable` are the event's varints. */
uint16_t hwi_model_class(uint64_t size, uint64_t usable, bool has_usable);

/* A new block; its number, or 0: no memory. */
uint32_t hwi_model_add_block(struct hwi_model *model, uint64_t address, uint32_t node, uint16_t class);

/* The block ends. `reusable`: its memory may be given out again. */
void hwi_model_end_block(struct hwi_model *model, uint32_t block, bool reusable);

/* The block that lies `rank` places behind the youngest of the node's slot; 0: none. */
uint32_t hwi_model_block_at_rank(const struct hwi_model *model, uint32_t node, unsigned rank);

/* Blocks near the last freed one, then the youngest ones, by number from 0; 0: none. */
enum { HWI_STEP_CODES = 3 * HWI_STEPS };
uint32_t hwi_model_block_at_step(const struct hwi_model *model, unsigned step);

/* Where a new block lies. Codes below HWI_CLASS_SEARCH: on the block of its class that was freed so many frees ago. */
enum { HWI_PLACE_TOP = HWI_CLASS_SEARCH, HWI_PLACE_ELSEWHERE, HWI_PLACE_SAME };

/* The code for `address`, or HWI_PLACE_ELSEWHERE. */
unsigned hwi_model_place_of(const struct hwi_model *model, uint16_t class, uint64_t address);

/* The address for a code below HWI_PLACE_ELSEWHERE; 0: no such place. */
uint64_t hwi_model_address_at(const struct hwi_model *model, uint16_t class, unsigned place);

/* The place is taken. */
void hwi_model_take_place(struct hwi_model *model, uint16_t class, unsigned place, uint64_t address);

/* --- nodes --- */

/* How a node's parent is told: 0: it is the node defined last; k: k - 1 steps out from the node that allocated last. */
enum { HWI_PARENT_STEPS_MAX = 200, HWI_PARENT_FAR = 255 };
enum { HWI_PC_EXPECTED = 0, HWI_PC_FOLLOWER = 1, HWI_PC_KNOWN = HWI_PC_FOLLOWER + HWI_FOLLOWERS, HWI_PC_NEW };

/* Before the first of the functions below is used in a section. */
void hwi_model_begin_nodes(struct hwi_model *model);

static inline struct hwi_tree_node *hwi_model_tree(struct hwi_model *model, uint32_t node)
{
  return &model->tree[(node * UINT32_C(0x9e3779b1)) >> (32 - HWI_TREE_SLOTS_LOG2)];
}

uint8_t hwi_model_parent_code(struct hwi_model *model, uint32_t parent);
uint32_t hwi_model_parent_at(struct hwi_model *model, uint8_t code);

/* The code for `pc` inside `parent`: EXPECTED, a FOLLOWER, or KNOWN. */
uint8_t hwi_model_pc_code(struct hwi_model *model, uint32_t parent, uint32_t pc);

/* The pc for EXPECTED or a FOLLOWER; 0: none. */
uint32_t hwi_model_pc_at(struct hwi_model *model, uint32_t parent, uint8_t code);

/* Numbers a new pc; 0: there are too many. */
uint32_t hwi_model_add_pc(struct hwi_model *model, const struct hwi_pc *pc);

/* The node exists from here on. */
void hwi_model_add_node(struct hwi_model *model, uint32_t node, uint32_t parent, uint32_t pc);

#endif
