/* recode_model.c - what the packer and the unpacker both know after the same events */
#include "trace/recode_model.h"

#include <stdlib.h>

/* --- the whole --- */

void hwi_model_reset(struct hwi_model *model)
{
  memset(model->guesses, 0, sizeof model->guesses);
  memset(model->contexts, 0, sizeof model->contexts);
  memset(model->habits, 0, sizeof model->habits);
  memset(model->node_youngest, 0, sizeof model->node_youngest);
  memset(model->freed_count, 0, sizeof model->freed_count);
  model->block_count = 1;
  model->youngest = model->next = model->previous = 0;
  model->top = model->last_address = model->last_freed = 0;
  model->was_free = model->has_nodes = false;
  model->fresh = model->last_defined = model->last_allocated = 0;
}

void hwi_model_release(struct hwi_model *model)
{
  free(model->blocks);
  model->blocks = NULL;
  model->block_room = 0;
}

/* --- blocks --- */

uint16_t hwi_model_class(uint64_t size, uint64_t usable, bool has_usable)
{
  uint64_t bytes = has_usable ? size >> 1 : size;
  if (bytes >= HWI_CLASSES * 16)
    return 0;
  bytes = hw_usual_usable(bytes);
  if (has_usable && (size & 1))
    bytes += (usable >> 1) ^ -(usable & 1);
  uint64_t class = (bytes + 8) / 16;
  return class < HWI_CLASSES ? (uint16_t) class : 0;
}

uint32_t hwi_model_add_block(struct hwi_model *model, uint64_t address, uint32_t node, uint16_t class)
{
  enum { FIRST_ROOM = 4096 };
  if (model->block_count >= model->block_room) {
    uint32_t room = model->block_room ? 2 * model->block_room : FIRST_ROOM;
    struct hwi_block *made = realloc(model->blocks, room * sizeof *made);
    if (!made)
      return 0;
    model->blocks = made;
    model->block_room = room;
  }
  uint32_t number = model->block_count++, *of_node = &model->node_youngest[hwi_node_slot(node)];
  model->blocks[number] = (struct hwi_block){
      .address = address, .node = node, .older = model->youngest, .node_older = *of_node, .class = class, .live = true};
  if (model->youngest)
    model->blocks[model->youngest].younger = number;
  if (*of_node)
    model->blocks[*of_node].node_younger = number;
  model->youngest = *of_node = number;
  return number;
}

void hwi_model_end_block(struct hwi_model *model, uint32_t number, bool reusable)
{
  struct hwi_block *blocks = model->blocks, *block = &blocks[number];
  if (block->younger)
    blocks[block->younger].older = block->older;
  else
    model->youngest = block->older;
  if (block->older)
    blocks[block->older].younger = block->younger;
  if (block->node_younger)
    blocks[block->node_younger].node_older = block->node_older;
  else
    model->node_youngest[hwi_node_slot(block->node)] = block->node_older;
  if (block->node_older)
    blocks[block->node_older].node_younger = block->node_younger;
  block->live = false;
  model->next = block->younger;
  model->previous = block->older;
  model->last_freed = block->address;
  if (!reusable || !block->class)
    return;
  uint64_t *freed = model->freed[block->class];
  uint8_t *count = &model->freed_count[block->class];
  if (*count == HWI_CLASS_DEPTH) {
    memmove(freed, freed + 1, (HWI_CLASS_DEPTH - 1) * sizeof *freed);
    --*count;
  }
  freed[(*count)++] = block->address;
}

uint32_t hwi_model_block_at_rank(const struct hwi_model *model, uint32_t node, unsigned rank)
{
  uint32_t block = model->node_youngest[hwi_node_slot(node)];
  while (rank-- && block)
    block = model->blocks[block].node_older;
  return block;
}

uint32_t hwi_model_block_at_step(const struct hwi_model *model, unsigned step)
{
  unsigned steps = step % HWI_STEPS;
  uint32_t block = step < HWI_STEPS ? model->next : step < 2 * HWI_STEPS ? model->previous : model->youngest;
  while (steps-- && block)
    block = step < HWI_STEPS ? model->blocks[block].younger : model->blocks[block].older;
  return block;
}

unsigned hwi_model_place_of(const struct hwi_model *model, uint16_t class, uint64_t address)
{
  const uint64_t *freed = model->freed[class];
  unsigned count = class ? model->freed_count[class] : 0;
  for (unsigned i = 0; i < HWI_CLASS_SEARCH && i < count; i++)
    if (freed[count - 1 - i] == address)
      return i;
  return address == model->top ? HWI_PLACE_TOP : HWI_PLACE_ELSEWHERE;
}

uint64_t hwi_model_address_at(const struct hwi_model *model, uint16_t class, unsigned place)
{
  if (place == HWI_PLACE_TOP)
    return model->top;
  unsigned count = class ? model->freed_count[class] : 0;
  return place < count && place < HWI_CLASS_SEARCH ? model->freed[class][count - 1 - place] : 0;
}

void hwi_model_take_place(struct hwi_model *model, uint16_t class, unsigned place, uint64_t address)
{
  if (place < HWI_CLASS_SEARCH) {
    uint64_t *at = &model->freed[class][model->freed_count[class] - 1 - place];
    memmove(at, at + 1, place * sizeof *at);
    model->freed_count[class]--;
    return;
  }
  if (place == HWI_PLACE_ELSEWHERE)
    model->last_address = address;
  model->top = address + (uint64_t) class * 16;
}

/* --- nodes --- */

void hwi_model_begin_nodes(struct hwi_model *model)
{
  if (model->has_nodes)
    return;
  model->has_nodes = true;
  model->pc_count = 1;
  model->last_pc = 0;
  memset(model->tree, 0, sizeof model->tree);
  memset(model->inside, 0, sizeof model->inside);
  memset(model->followers, 0, sizeof model->followers);
  memset(model->edges, 0, sizeof model->edges);
}

uint8_t hwi_model_parent_code(struct hwi_model *model, uint32_t parent)
{
  if (parent == model->last_defined)
    return 0;
  uint32_t node = model->last_allocated;
  for (unsigned steps = 1; node && steps <= HWI_PARENT_STEPS_MAX; steps++) {
    if (node == parent)
      return (uint8_t)steps;
    node = hwi_model_tree(model, node)->parent;
  }
  return HWI_PARENT_FAR;
}

uint32_t hwi_model_parent_at(struct hwi_model *model, uint8_t code)
{
  if (code == 0)
    return model->last_defined;
  uint32_t node = model->last_allocated;
  for (unsigned steps = 1; steps < code; steps++)
    node = hwi_model_tree(model, node)->parent;
  return node;
}

struct inside { /* where the guesses for a child of a node are */
  uint32_t *expected;
  uint32_t *followers;
};

static struct inside look_inside(struct hwi_model *model, uint32_t parent)
{
  const struct hwi_tree_node *node = hwi_model_tree(model, parent);
  uint32_t outer = hwi_model_tree(model, node->parent)->pc;
  return (struct inside){
      .expected = &model->inside[hwi_mix(node->pc, outer, 3, HWI_PC_SLOTS_LOG2)],
      .followers = model->followers[hwi_mix(node->pc, 0, 4, HWI_FOLLOWER_SLOTS_LOG2)],
  };
}

/* A node that exists is not defined again: its pc is no candidate. */
static uint32_t *edge(struct hwi_model *model, uint32_t parent, uint32_t pc, uint32_t *mark)
{
  *mark = parent ^ pc * 77;
  return &model->edges[hwi_mix(parent, pc, 11, HWI_EDGE_SLOTS_LOG2)];
}

static bool exists(struct hwi_model *model, uint32_t parent, uint32_t pc)
{
  uint32_t mark;
  return *edge(model, parent, pc, &mark) == mark;
}

uint8_t hwi_model_pc_code(struct hwi_model *model, uint32_t parent, uint32_t pc)
{
  struct inside inside = look_inside(model, parent);
  if (*inside.expected == pc)
    return HWI_PC_EXPECTED;
  uint8_t code = HWI_PC_FOLLOWER;
  for (int i = 0; i < HWI_FOLLOWERS && inside.followers[i]; i++) {
    bool is_possible = !exists(model, parent, inside.followers[i]);
    if (is_possible && inside.followers[i] == pc)
      return code;
    code += is_possible;
  }
  return HWI_PC_KNOWN;
}

uint32_t hwi_model_pc_at(struct hwi_model *model, uint32_t parent, uint8_t code)
{
  struct inside inside = look_inside(model, parent);
  if (code == HWI_PC_EXPECTED)
    return *inside.expected;
  for (int i = 0; i < HWI_FOLLOWERS && inside.followers[i]; i++)
    if (!exists(model, parent, inside.followers[i]) && code-- == HWI_PC_FOLLOWER)
      return inside.followers[i];
  return 0;
}

uint32_t hwi_model_add_pc(struct hwi_model *model, const struct hwi_pc *pc)
{
  if (model->pc_count == HWI_PCS_MAX)
    return 0;
  model->pcs[model->pc_count] = *pc;
  return model->pc_count++;
}

void hwi_model_add_node(struct hwi_model *model, uint32_t node, uint32_t parent, uint32_t pc)
{
  struct inside inside = look_inside(model, parent);
  uint32_t mark, *known = edge(model, parent, pc, &mark);
  int at = 0;
  *known = mark;
  *inside.expected = pc;
  while (at < HWI_FOLLOWERS - 1 && inside.followers[at] && inside.followers[at] != pc)
    at++;
  memmove(inside.followers + 1, inside.followers, (size_t)at * sizeof *inside.followers);
  inside.followers[0] = pc;
  model->last_pc = model->pcs[pc].address;
  *hwi_model_tree(model, node) = (struct hwi_tree_node){parent, pc};
  model->last_defined = model->fresh = node;
}
