/* block_types.h - the types of blocks: from C++ vtables, and from debug information
 *
 * Variables with a fixed address have known types, and so have those of each thread. Where a pointer in one of them leads to the start
 * of a block, the block has the type that is pointed to, if its size fits; then the pointers in the block say what other blocks are, and
 * so on, one distance from the variables after the other. Then local variables that are in the frames of threads follow: one that was
 * not set yet has what an earlier call left there, so that these do not come first.
 *
 * form    how much the type says of a block. A better form replaces one that was found before; of equal ones, the first remains.
 * origin  the variable from which the first chain of pointers leads to the block.
 * member  of the record that points to the block: for blocks that their type alone does not explain.
 */
#ifndef HWI_MEMORY_TYPES_BLOCK_TYPES_H
#define HWI_MEMORY_TYPES_BLOCK_TYPES_H

#include "memory/graph/block_index.h"
#include "memory/image/thread_frames.h"
#include "memory/image/thread_storage.h"
#include "memory/types/vtables.h"
#include "symbols/data_types.h"

/* In the order of what they say. */
enum hwi_block_form {
  HWI_FORM_UNKNOWN = 0,
  HWI_FORM_POINTED, /* a pointer to void, to a function, to what is not defined, or to something of another size leads to it */
  HWI_FORM_SCALARS, /* numbers or characters */
  HWI_FORM_BEGINS,  /* it begins with the type, and has more than an array of it */
  HWI_FORM_STRING,  /* the characters of a std::string */
  HWI_FORM_ARRAY,   /* of the type */
  HWI_FORM_ONE,     /* an object of the type */
  HWI_FORM_VTABLE,  /* an object of a class with virtual functions, as its first word says; `type` is maybe 0 */
};

/* What is known of a block, or of many. */
struct hwi_block_label {
  uint32_t form;   /* enum hwi_block_form */
  uint32_t type;   /* of data; of UNKNOWN, POINTED: 0 */
  uint32_t vtable; /* its type; VTABLE alone */
  uint32_t member; /* string of `names`: "name of struct person"; 0: none */
  uint32_t origin; /* string of `names`: "shop::all"; 0: none */
  uint32_t node;   /* type of the nodes to which an array of pointers leads, in a container; 0: none */
};

/* Work in words that are read, and in steps into types. If it is not enough, `is_cut` is set. */
#define HWI_BLOCK_TYPES_WORK_MOST UINT64_C(2000000000)

/* All zero, except for the first six members: nothing is known. */
struct hwi_block_types {
  struct hwi_vtables vtables; /* has the memory, the modules and the symbols */
  const struct hwi_core_heap *heap;
  struct hwi_thread_storage *storage;  /* NULL: variables of threads are left out */
  struct hwi_thread_frames *threads;   /* NULL: local variables are left out */
  const struct hwi_block_index *index; /* NULL: one is made if it is needed */
  uint64_t work_most;                  /* 0: HWI_BLOCK_TYPES_WORK_MOST */
  struct hwi_data_types data;
  struct hwi_block_index own_index;
  struct hwi_store names, labels;
  uint32_t *label_of; /* each block: number in `labels`; 0: none. NULL: there is no debug information */
  bool is_cut;        /* some types were not found, since that would have taken too long */
};

/* Finds the types of all blocks. Returns 0, HW_ERR_LIMIT or HW_ERR_MEMORY. */
int hwi_block_types_find(struct hwi_block_types *types, struct hwi_error *error);

static inline const struct hwi_block_label *hwi_block_types_label(const struct hwi_block_types *types, uint32_t number)
{
  return (const struct hwi_block_label *)(const void *)types->labels.strings[number].text;
}

static inline const char *hwi_block_types_name(const struct hwi_block_types *types, uint32_t number)
{
  return types->names.strings[number].text;
}

/* Gets what is known of a block. Returns false if there is no memory. */
bool hwi_block_types_of(struct hwi_block_types *types, size_t block, struct hwi_block_label *label);

enum { HWI_BLOCK_TYPE_TEXT_BYTES = 2048 };

/* Writes for example "struct node", "int[]", "vtable for shop::Book", "type unknown, 48 bytes". */
void hwi_block_types_text(struct hwi_block_types *types, const struct hwi_block_label *label, uint64_t block_bytes,
                          char *text, size_t size);

void hwi_block_types_release(struct hwi_block_types *types);

#endif
