/* type_frames.h - what is known of blocks without a stack, as frames of a trace
 *
 * The innermost frame is the type; its caller is the member that points to the block, if that says more; the outermost one is the
 * variable from which pointers lead to it.
 */
#ifndef HWI_EXPORT_TYPE_FRAMES_H
#define HWI_EXPORT_TYPE_FRAMES_H

#include "export/synthetic.h"
#include "memory/types/block_types.h"
#include "trace/numbering.h"

/* Names in a trace: each is a module of its own, and readers look for modules one after the other. */
enum { HWI_TYPE_NAMES_MOST = 8192 };

/* All zero, except for the first four members. */
struct hwi_type_frames {
  struct hwi_block_types *types;
  struct hwi_synthetic *trace; /* gets HW_ERR_MEMORY */
  uint32_t first_core_module;  /* number of the first of types->vtables.modules */
  uint32_t first_node;         /* numbers from here on are free, and so are modules from first_module on */
  uint32_t first_module;
  struct hwi_store names; /* a module for each */
  struct hwi_numbering frames;
  struct hwi_numbering known; /* what blocks were found to be: see hwi_type_frames_of */
  uint32_t *nodes;            /* of these */
  size_t node_capacity;
};

/* Returns the node of a block. */
uint32_t hwi_type_frames_of(struct hwi_type_frames *frames, size_t block);

void hwi_type_frames_release(struct hwi_type_frames *frames);

#endif
