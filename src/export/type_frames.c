/* type_frames.c - what is known of blocks without a stack, as frames of a trace */
#include "export/type_frames.h"

#include <stdio.h>
#include <stdlib.h>

#include "memory/types/class_names.h"
#include "trace/grow.h"

/* Returns the node of a frame, which is added if it is new. */
static uint32_t node_of(struct hwi_type_frames *frames, uint32_t parent, uint32_t module, uint64_t address)
{
  const uint32_t known = frames->frames.count;
  const uint32_t number = hwi_numbering_of(&frames->frames, (uint64_t)parent << 32 | module, address);
  if (!number) {
    frames->trace->status = HW_ERR_MEMORY;
    return 0;
  }
  if (number > known)
    hwi_synthetic_node(frames->trace, frames->first_node + number - 1,
                       &(struct hwi_node){.parent = parent, .module = module, .address = address});
  return frames->first_node + number - 1;
}

/* Adds a frame with a name to its caller. */
static uint32_t add_name(struct hwi_type_frames *frames, uint32_t caller, const char *name)
{
  char path[sizeof HW_DATA_MODULE + HWI_BLOCK_TYPE_TEXT_BYTES];
  const uint32_t known = frames->names.string_count;
  if (known >= HWI_TYPE_NAMES_MOST && !hwi_store_find_text(&frames->names, name))
    name = "other types";
  const uint32_t number = hwi_store_intern_text(&frames->names, name);
  if (!number) {
    frames->trace->status = HW_ERR_MEMORY;
    return 0;
  }
  snprintf(path, sizeof path, HW_DATA_MODULE "%s", name);
  if (number > known)
    hwi_synthetic_module(frames->trace, frames->first_module + number - 1,
                         &(struct hwi_synthetic_module){.path = path});
  return node_of(frames, caller, frames->first_module + number - 1, number);
}

static uint32_t add_vtable(struct hwi_type_frames *frames, uint32_t caller, uint32_t type)
{
  const struct hwi_vtables *vtables = &frames->types->vtables;
  const struct hwi_vtable_type *of = &vtables->types[type - 1];
  if (!of->has_symbol) {
    char text[HWI_BLOCK_TYPE_TEXT_BYTES];
    snprintf(text, sizeof text, HWI_VTABLE_PREFIX "%s", of->name);
    return add_name(frames, caller, text);
  }
  const uint32_t module =
      of->module ? frames->first_core_module + (uint32_t)(of->module - vtables->modules->modules) : 0;
  return node_of(frames, caller, module, of->address);
}

static uint32_t make_node(struct hwi_type_frames *frames, const struct hwi_block_label *label, uint64_t block_bytes)
{
  struct hwi_block_types *types = frames->types;
  char text[HWI_BLOCK_TYPE_TEXT_BYTES];
  uint32_t node = 0;
  if (label->origin) {
    snprintf(text, sizeof text, "variable %s", hwi_block_types_name(types, label->origin));
    node = add_name(frames, node, text);
  }
  if (label->member) {
    snprintf(text, sizeof text, "member %s", hwi_block_types_name(types, label->member));
    node = add_name(frames, node, text);
  }
  if (label->form == HWI_FORM_VTABLE)
    return add_vtable(frames, node, label->vtable);
  hwi_block_types_text(types, label, block_bytes, text, sizeof text);
  return add_name(frames, node, text);
}

/* Most blocks are as one before: of the same label, and if that is not a type, of the same size. */
uint32_t hwi_type_frames_of(struct hwi_type_frames *frames, size_t block)
{
  struct hwi_block_types *types = frames->types;
  const uint64_t bytes = hwi_core_block_bytes(&types->heap->blocks[block]);
  struct hwi_block_label label;
  bool done = hwi_block_types_of(types, block, &label);
  const uint64_t number = types->label_of ? types->label_of[block] : label.vtable;
  const uint32_t count = frames->known.count,
                 known = hwi_numbering_of(&frames->known, number, label.form > HWI_FORM_POINTED ? 0 : bytes);
  done = done && known &&
         hwi_grow((void **)&frames->nodes, &frames->node_capacity, (size_t)known + 1, sizeof *frames->nodes);
  if (!done) {
    frames->trace->status = HW_ERR_MEMORY;
    return 0;
  }
  if (known > count)
    frames->nodes[known] = make_node(frames, &label, bytes);
  return frames->nodes[known];
}

void hwi_type_frames_release(struct hwi_type_frames *frames)
{
  hwi_store_release(&frames->names);
  hwi_numbering_release(&frames->frames);
  hwi_numbering_release(&frames->known);
  free(frames->nodes);
}
