/* type_spread.h - what the files that find the types of blocks share */
#ifndef HWI_MEMORY_TYPES_TYPE_SPREAD_H
#define HWI_MEMORY_TYPES_TYPE_SPREAD_H

#include "memory/types/block_types.h"

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

/* A label, and its number. */
struct hwi_label_slot {
  struct hwi_block_label label;
  uint32_t number; /* 0: none */
};

/* The search for types. Memory that it takes is freed by hwi_block_types_find. */
struct hwi_type_spread {
  struct hwi_block_types *types;
  const struct hwi_block_index *index;
  const struct hwi_index_span *span;
  struct hwi_memory_reader reader;
  uint64_t *is_queued;      /* a bit for each block */
  struct hwi_queued *queue; /* a ring of block_count places */
  size_t head, waiting;
  struct hwi_type_facts *facts; /* by type */
  size_t fact_capacity;
  uint32_t *member_names; /* by place in `members` of the types: see hwi_type_walk; 0: not known yet */
  size_t member_capacity;
  struct hwi_label_slot *slots; /* labels that were looked up lately */
  uint64_t work;                /* that is left */
  bool contradicts;             /* a check has found a pointer that cannot be one of its type */
  uint64_t agreed;              /* pointers that a check has found, and that can */
  bool failed;                  /* no memory */
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

/* What a pointer says. */
struct hwi_claim {
  uint32_t target;   /* type; 0: not known */
  uint64_t address;  /* its value */
  bool is_sequence;  /* it points to an array, */
  uint64_t elements; /* with so many elements */
};

/* Gives a label to the block to which the pointer points, if it does. */
void hwi_type_spread_claim(struct hwi_type_spread *spread, const struct hwi_claim *claim,
                           const struct hwi_type_walk *walk);

/* Returns how a block has the type that the claim says, by its size and by its content. */
enum hwi_block_form hwi_type_form_of(struct hwi_type_spread *spread, const struct hwi_claim *claim,
                                     const struct hwi_core_block *block);

/* Returns whether the address may be a pointer to the type. */
bool hwi_type_may_point(struct hwi_type_spread *spread, uint32_t target, uint64_t address);

#endif
