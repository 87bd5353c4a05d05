/* type_frames.c - what is known of blocks without a stack, as frames of a trace */
#include "export/type_frames.h"

#include <stdio.h>

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
  const uint32_t module =
      of->module ? frames->first_core_module + (uint32_t)(of->module - vtables->modules->modules) : 0;
  return node_of(frames, caller, module, of->address);
}

uint32_t hwi_type_frames_of(struct hwi_type_frames *frames, size_t block)
{
  struct hwi_block_types *types = frames->types;
  struct hwi_block_label label;
  char text[HWI_BLOCK_TYPE_TEXT_BYTES];
  uint32_t node = 0;
  if (!hwi_block_types_of(types, block, &label)) {
    frames->trace->status = HW_ERR_MEMORY;
    return 0;
  }
  if (label.origin) {
    snprintf(text, sizeof text, "variable %s", hwi_block_types_name(types, label.origin));
    node = add_name(frames, node, text);
  }
  if (label.member) {
    snprintf(text, sizeof text, "member %s", hwi_block_types_name(types, label.member));
    node = add_name(frames, node, text);
  }
  if (label.form == HWI_FORM_VTABLE)
    return add_vtable(frames, node, label.vtable);
  hwi_block_types_text(types, &label, hwi_core_block_bytes(&types->heap->blocks[block]), text, sizeof text);
  return add_name(frames, node, text);
}

void hwi_type_frames_release(struct hwi_type_frames *frames)
{
  hwi_store_release(&frames->names);
  hwi_numbering_release(&frames->frames);
}
