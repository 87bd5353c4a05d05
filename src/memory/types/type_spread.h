/* type_spread.h - what the files that find the types of blocks share */
#ifndef HWI_MEMORY_TYPES_TYPE_SPREAD_H
#define HWI_MEMORY_TYPES_TYPE_SPREAD_H

#include "memory/types/block_types.h"
#include "trace/radix_sort.h"

/* Where the walk through a value is: the pointers in it are followed with that. */
struct hwi_type_walk {
  uint32_t origin;   /* as in a label */
  uint32_t member;   /* likewise, once the walk is in a member */
  const char *owner; /* the record whose members are next */
  uint32_t node;     /* type of the nodes of the container around; 0: none */
  bool is_string;    /* within a std::string */
  bool is_check;     /* labels nothing, but finds whether the pointers agree with their types */
  unsigned depth;
};

/* What is looked up once for each type. */
struct hwi_type_facts {
  bool is_known;
  bool is_string, is_node, is_node_base, is_library, is_sequence;
  uint32_t nodes; /* of a container: type of its nodes; 0: none, or it is no container */
};

/* A block whose pointers are to be followed: of an array, only those in the first elements. */
struct hwi_queued {
  uint32_t block, elements;
};

/* While the search is on, flags of `label_of`: the block is in the queue; it is in the window, and was read. */
#define HWI_TYPE_QUEUED (UINT32_C(1) << 31)
#define HWI_TYPE_FOLLOWED (UINT32_C(1) << 30)
#define HWI_TYPE_LABEL (HWI_TYPE_FOLLOWED - 1) /* the number of the label */

/* A label, and its number. */
struct hwi_label_slot {
  struct hwi_block_label label;
  uint32_t number; /* 0: none */
};

/* What a pointer says. */
struct hwi_claim {
  uint32_t target;   /* type; 0: not known */
  uint64_t address;  /* its value */
  bool is_sequence;  /* it points to an array, */
  uint64_t elements; /* with so many elements */
};

/* The same without the address, and what the label of the block gets of the walk. Few kinds of claims are made. */
struct hwi_claim_kind {
  uint64_t elements;
  uint32_t target, origin, member, node;
  uint32_t is_sequence, is_string;
};

/* A kind, and its number. */
struct hwi_kind_slot {
  struct hwi_claim_kind kind;
  uint32_t number; /* 0: none */
};

/* A block that had another label before. */
struct hwi_label_change {
  uint32_t block, before;
};

/* Claims that were made, and are handled together: see type_claims.c. Lists are of table.h. */
struct hwi_type_claims {
  struct hwi_sort_item *list; /* key: granules from the begin of the index; item: place in the order; detail: kind */
  size_t count, capacity;
  struct hwi_store kinds;
  struct hwi_kind_slot *slots; /* kinds that were looked up lately */
  bool is_of_many;             /* blocks of the window make claims, which stay in the list until all are made: */
  uint32_t maker;              /* the place in the queue of the block that makes them */
  bool is_full;                /* there are too many of these */
};

/* The blocks of the queue that are followed together: see type_window.c. Lists are of table.h. */
struct hwi_type_window {
  struct hwi_sort_item *blocks; /* key: block; item: place in the queue; detail: elements */
  size_t block_capacity;
  uint32_t *orders; /* by place in the queue: of the next claim */
  size_t order_capacity;
  struct hwi_sort_item *pushed; /* key: order of the claim; item: block; detail: elements */
  size_t pushed_count, pushed_capacity;
  struct hwi_label_change *changes;
  size_t change_count, change_capacity;
  size_t most;    /* blocks */
  bool is_open;   /* what is pushed is listed here */
  bool is_void;   /* a block of it has got a better label: maybe it was to be read with that */
  uint32_t order; /* of the claim that is handled */
};

/* The search for types. Memory that it takes is freed by hwi_block_types_find. */
struct hwi_type_spread {
  struct hwi_block_types *types;
  uint32_t *label_of; /* that of the types, with flags */
  const struct hwi_block_index *index;
  const struct hwi_index_span *span;
  struct hwi_memory_reader reader;
  uint64_t *begins_in_module; /* a bit for each live block: its first word is an address in a module */
  struct hwi_queued *queue;   /* a ring, whose size is a power of two */
  size_t queue_places, head, waiting;
  struct hwi_type_facts *facts; /* by type */
  size_t fact_capacity;
  uint32_t *member_names; /* by place in `members` of the types: see hwi_type_walk; 0: not known yet */
  size_t member_capacity;
  struct hwi_label_slot *slots; /* labels that were looked up lately */
  struct hwi_type_claims claims;
  struct hwi_type_window window;
  uint64_t work;    /* that is left */
  bool contradicts; /* a check has found a pointer that cannot be one of its type */
  uint64_t agreed;  /* pointers that a check has found, and that can */
  bool failed;      /* no memory */
};

/* Reads the debug information of all modules. */
void hwi_type_roots_read(struct hwi_block_types *types);

/* Follow the pointers in variables with a fixed place and in those of threads, and in local variables of the frames of threads. */
void hwi_type_roots_spread_variables(struct hwi_type_spread *spread);
void hwi_type_roots_spread_frames(struct hwi_type_spread *spread);

/* Follows the pointers in a value of that type. */
void hwi_type_spread_value(struct hwi_type_spread *spread, uint32_t type, uint64_t address,
                           const struct hwi_type_walk *walk);

/* Follows the pointers in a block that has a label. */
void hwi_type_spread_block(struct hwi_type_spread *spread, const struct hwi_queued *queued);

/* Follows those of a vector or a deque. Returns false if the record is none, or its elements are not known. */
bool hwi_type_spread_sequence(struct hwi_type_spread *spread, uint32_t record, uint64_t address,
                              const struct hwi_type_walk *walk);

/* Gives a label to the block to which the pointer points, if it does: when claims are handled. */
void hwi_type_spread_claim(struct hwi_type_spread *spread, const struct hwi_claim *claim,
                           const struct hwi_type_walk *walk);

/* Make room for what claims need, and release it. Returns false if there is no memory. */
bool hwi_type_claims_init(struct hwi_type_spread *spread);
void hwi_type_claims_release(struct hwi_type_spread *spread);

/* Handles the claims that were made: those for each block in that order. */
void hwi_type_claims_handle(struct hwi_type_spread *spread);

/* Gives a label to a block. The pointers in its first `elements` are followed later. */
void hwi_type_spread_label(struct hwi_type_spread *spread, uint32_t block, const struct hwi_block_label *label,
                           uint64_t elements);

/* Asks for the memory at an address, which will be read soon. */
static inline void hwi_type_fetch(const struct hwi_type_spread *spread, uint64_t address)
{
  const struct hwi_region *region = spread->reader.region;
  if (region && address - region->begin < region->known)
    __builtin_prefetch(region->bytes + (address - region->begin));
}

/* Make the queue, and release it. Returns false if there is no memory. */
bool hwi_type_queue_init(struct hwi_type_spread *spread);
void hwi_type_queue_release(struct hwi_type_spread *spread);

/* Adds a block that is not in the queue yet. */
void hwi_type_queue_push(struct hwi_type_spread *spread, const struct hwi_queued *queued);

/* Returns the place that is so far behind the head. */
static inline struct hwi_queued *hwi_type_queue_at(const struct hwi_type_spread *spread, size_t behind)
{
  return &spread->queue[(spread->head + behind) & (spread->queue_places - 1)];
}

/* Takes blocks out of the queue. */
static inline void hwi_type_queue_pop(struct hwi_type_spread *spread, size_t count)
{
  spread->head = (spread->head + count) & (spread->queue_places - 1);
  spread->waiting -= count;
}

/* Follows the pointers in the first block of the queue. */
void hwi_type_queue_follow_first(struct hwi_type_spread *spread);

/* Follows the pointers in many of the first blocks of the queue, in the order of their addresses. */
void hwi_type_window_follow(struct hwi_type_spread *spread);
void hwi_type_window_release(struct hwi_type_window *window);

/* Puts the blocks that were listed while the window was open into the queue. */
void hwi_type_window_close(struct hwi_type_spread *spread);

/* For the window that is open: notes that a block is about to get another label, and lists a block for the queue. */
void hwi_type_window_change(struct hwi_type_spread *spread, uint32_t block);
void hwi_type_window_push(struct hwi_type_spread *spread, const struct hwi_queued *queued);

/* Follows the pointers in blocks with new labels, until there are none. */
void hwi_type_spread_run(struct hwi_type_spread *spread);

/* Reads the first words of all blocks. Returns false if there is no memory. */
bool hwi_type_objects_init(struct hwi_type_spread *spread);
void hwi_type_objects_release(struct hwi_type_spread *spread);

static inline bool hwi_type_begins_in_module(const struct hwi_type_spread *spread, uint32_t block)
{
  enum { BITS = 64 };
  return spread->begins_in_module[block / BITS] >> block % BITS & 1;
}

/* Returns whether the block begins with an object of a class with virtual functions; it then has that label. */
bool hwi_type_objects_label(struct hwi_type_spread *spread, uint32_t block, uint32_t origin);

/* Objects whose class is known, and to which no chain leads, say what is behind them. */
void hwi_type_objects_spread(struct hwi_type_spread *spread);

/* Returns how a block has the type that the claim says, by its size and by its content. */
enum hwi_block_form hwi_type_form_of(struct hwi_type_spread *spread, const struct hwi_claim_kind *claim,
                                     const struct hwi_core_block *block);

/* Returns whether the address may be a pointer to the type. */
bool hwi_type_may_point(struct hwi_type_spread *spread, uint32_t target, uint64_t address);

#endif
