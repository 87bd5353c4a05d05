/* block_types.c - the types of blocks: from C++ vtables, and from debug information
 *
 * Labels are few, blocks are many: a block has the number of its label, 4 bytes, and while types are found, another 8 bytes for a
 * place in the queue. A block that gets a better label is read again; labels only get better, so that this ends.
 */
#include "memory/types/block_types.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "memory/types/class_names.h"
#include "memory/types/type_spread.h"
#include "trace/table.h"

enum { WORD_BITS = 64, LABEL_SLOTS = 1024 };

/* --- labels --- */

static bool is_queued(const struct hwi_type_spread *spread, uint32_t block)
{
  return spread->is_queued[block / WORD_BITS] >> block % WORD_BITS & 1;
}

static void push(struct hwi_type_spread *spread, uint32_t block, uint64_t elements)
{
  const size_t places = spread->types->heap->block_count;
  if (is_queued(spread, block))
    return;
  spread->is_queued[block / WORD_BITS] |= (uint64_t)1 << block % WORD_BITS;
  spread->queue[(spread->head + spread->waiting++) % places] =
      (struct hwi_queued){block, elements < UINT32_MAX ? (uint32_t)elements : UINT32_MAX};
}

static void run(struct hwi_type_spread *spread)
{
  const size_t places = spread->types->heap->block_count;
  while (spread->waiting && !spread->failed) {
    const struct hwi_queued queued = spread->queue[spread->head];
    spread->head = (spread->head + 1) % places;
    spread->waiting--;
    spread->is_queued[queued.block / WORD_BITS] &= ~((uint64_t)1 << queued.block % WORD_BITS);
    hwi_type_spread_block(spread, &queued);
  }
}

/* Returns the number of a label. Most blocks have a label that one of the last ones had. */
static uint32_t number_label(struct hwi_type_spread *spread, const struct hwi_block_label *label)
{
  const uint64_t mixed = (uint64_t)label->type << 32 ^ (uint64_t)label->member << 16 ^ label->origin;
  struct hwi_label_slot *slot = &spread->slots[hwi_hash_pair(mixed, label->form) % LABEL_SLOTS];
  if (!slot->number || memcmp(&slot->label, label, sizeof *label) != 0)
    *slot = (struct hwi_label_slot){*label, hwi_store_intern(&spread->types->labels, label, sizeof *label)};
  spread->failed |= !slot->number;
  return slot->number;
}

/* Of an array, the first elements are followed. */
static void set_label(struct hwi_type_spread *spread, uint32_t block, const struct hwi_block_label *label,
                      uint64_t elements)
{
  spread->types->label_of[block] = number_label(spread, label);
  if (label->type && elements)
    push(spread, block, elements);
}

/* Returns whether the block begins with an object of a class with virtual functions; it then has that label. */
static bool has_vtable(struct hwi_type_spread *spread, uint32_t block, uint32_t origin)
{
  struct hwi_block_types *types = spread->types;
  struct hwi_block_label label = {.form = HWI_FORM_VTABLE, .origin = origin};
  if (!hwi_vtables_type_of(&types->vtables, &types->heap->blocks[block], &label.vtable))
    spread->failed = true;
  if (!label.vtable)
    return false;
  label.type = hwi_data_types_named(&types->data, hwi_vtables_name(&types->vtables, label.vtable));
  if (label.type &&
      hwi_data_types_get(&types->data, label.type)->bytes > hwi_core_block_bytes(&types->heap->blocks[block]))
    label.type = 0;
  set_label(spread, block, &label, 1);
  return true;
}

void hwi_type_spread_claim(struct hwi_type_spread *spread, const struct hwi_claim *claim,
                           const struct hwi_type_walk *walk)
{
  struct hwi_block_types *types = spread->types;
  const uint64_t address = claim->address;
  const uint32_t block = hwi_block_index_find(spread->index, &spread->span, address);
  if (block == HWI_NO_BLOCK || types->heap->blocks[block].address != address ||
      hwi_core_block_state(&types->heap->blocks[block]) != HWI_CORE_BLOCK_LIVE)
    return;
  const uint32_t known = types->label_of[block];
  const enum hwi_block_form before = known ? hwi_block_types_label(types, known)->form : HWI_FORM_UNKNOWN;
  if (before >= HWI_FORM_ONE || (!known && has_vtable(spread, block, walk->origin)))
    return;
  enum hwi_block_form form = hwi_type_form_of(spread, claim, &types->heap->blocks[block]);
  if (form == HWI_FORM_SCALARS && walk->is_string)
    form = HWI_FORM_STRING;
  if (form <= before)
    return;
  const bool is_of_pointers =
      form == HWI_FORM_ARRAY && hwi_data_types_get(&types->data, claim->target)->kind == HWI_DATA_POINTER;
  set_label(spread, block,
            &(struct hwi_block_label){.form = form,
                                      .type = form == HWI_FORM_POINTED ? 0 : claim->target,
                                      .member = form < HWI_FORM_ARRAY || is_of_pointers ? walk->member : 0,
                                      .origin = walk->origin,
                                      .node = is_of_pointers ? walk->node : 0},
            claim->is_sequence ? claim->elements : UINT64_MAX);
}

/* --- all blocks --- */

static void spread_roots(struct hwi_type_spread *spread)
{
  hwi_type_roots_spread_variables(spread);
  run(spread);
  hwi_type_roots_spread_frames(spread);
  run(spread);
}

/* Objects whose class is known, and to which no chain leads, say what is behind them. */
static void spread_objects(struct hwi_type_spread *spread)
{
  const struct hwi_core_heap *heap = spread->types->heap;
  for (size_t i = 0; i < heap->block_count && !spread->failed; i++)
    if (hwi_core_block_state(&heap->blocks[i]) == HWI_CORE_BLOCK_LIVE && !spread->types->label_of[i] &&
        has_vtable(spread, (uint32_t)i, 0))
      run(spread);
}

int hwi_block_types_find(struct hwi_block_types *types, struct hwi_error *error)
{
  const size_t count = types->heap->block_count;
  struct hwi_block_index own = {0};
  hwi_type_roots_read(types);
  int status = types->data.index.failed ? HW_ERR_MEMORY : 0;
  if (types->data.index.die_count == 0 || count == 0 || status < 0)
    return status < 0 ? hwi_error_set(error, status, "no memory for the types of blocks") : 0;
  if (!types->index && (status = hwi_block_index_init(&own, types->heap, error)) < 0) {
    hwi_block_index_release(&own);
    return status;
  }
  struct hwi_type_spread spread = {.types = types,
                                   .index = types->index ? types->index : &own,
                                   .reader = types->vtables.reader,
                                   .work = types->work_most ? types->work_most : HWI_BLOCK_TYPES_WORK_MOST};
  types->label_of = hwi_table_calloc(count, sizeof *types->label_of);
  spread.queue = hwi_table_calloc(count, sizeof *spread.queue);
  spread.is_queued = calloc(count / WORD_BITS + 1, sizeof *spread.is_queued);
  spread.slots = calloc(LABEL_SLOTS, sizeof *spread.slots);
  spread.failed = !types->label_of || !spread.queue || !spread.is_queued || !spread.slots;
  if (!spread.failed)
    spread_roots(&spread);
  if (!spread.failed)
    spread_objects(&spread);
  free(spread.queue);
  free(spread.is_queued);
  free(spread.slots);
  free(spread.facts);
  free(spread.member_names);
  hwi_block_index_release(&own);
  types->is_cut |= types->data.index.is_cut;
  return spread.failed || types->data.failed ? hwi_error_set(error, HW_ERR_MEMORY, "no memory for the types of blocks")
                                             : 0;
}

bool hwi_block_types_of(struct hwi_block_types *types, size_t block, struct hwi_block_label *label)
{
  *label = (struct hwi_block_label){0};
  if (types->label_of) {
    if (types->label_of[block])
      *label = *hwi_block_types_label(types, types->label_of[block]);
    return true;
  }
  const bool done = hwi_vtables_type_of(&types->vtables, &types->heap->blocks[block], &label->vtable);
  label->form = label->vtable ? HWI_FORM_VTABLE : HWI_FORM_UNKNOWN;
  return done;
}

/* --- as text --- */

/* "struct node", "char *" */
static void name_type(struct hwi_data_types *data, uint32_t number, char *text, size_t size)
{
  enum { STARS = 3 };
  const char *stars = "***";
  unsigned depth = 0;
  const struct hwi_data_type *of = number ? hwi_data_types_get(data, number) : NULL;
  while (of && of->kind == HWI_DATA_POINTER && depth < STARS) {
    depth++;
    of = of->target ? hwi_data_types_get(data, of->target) : NULL;
  }
  const char *name = !of                          ? "void"
                     : of->name                   ? of->name
                     : of->kind == HWI_DATA_ARRAY ? "array"
                                                  : "struct without a name";
  snprintf(text, size, "%s%s%.*s", name, depth ? " " : "", (int)depth, stars);
}

static void name_size(uint64_t bytes, char *text, size_t size)
{
  enum { EXACT_BYTES = 1024 };
  uint64_t class = EXACT_BYTES;
  if (bytes <= EXACT_BYTES) {
    snprintf(text, size, "type unknown, %" PRIu64 " bytes", bytes);
    return;
  }
  while (class < bytes && class <= UINT64_MAX / 4)
    class *= 2;
  snprintf(text, size, "type unknown, up to %" PRIu64 " %s", class < 1 << 20 ? class >> 10 : class >> 20,
           class < 1 << 20 ? "KiB" : "MiB");
}

void hwi_block_types_text(struct hwi_block_types *types, const struct hwi_block_label *label, uint64_t block_bytes,
                          char *text, size_t size)
{
  char name[HWI_BLOCK_TYPE_TEXT_BYTES];
  if (label->type)
    name_type(&types->data, label->type, name, sizeof name);
  switch ((enum hwi_block_form)label->form) {
  case HWI_FORM_UNKNOWN:
  case HWI_FORM_POINTED:
    name_size(block_bytes, text, size);
    return;
  case HWI_FORM_SCALARS:
  case HWI_FORM_ARRAY:
    snprintf(text, size, "%s[]", name);
    return;
  case HWI_FORM_BEGINS:
    snprintf(text, size, "%s and more", name);
    return;
  case HWI_FORM_STRING:
    snprintf(text, size, "characters of std::string");
    return;
  case HWI_FORM_ONE:
    snprintf(text, size, "%s", name);
    return;
  case HWI_FORM_VTABLE:
    break;
  }
  snprintf(text, size, HWI_VTABLE_PREFIX "%s", hwi_vtables_name(&types->vtables, label->vtable));
}

void hwi_block_types_release(struct hwi_block_types *types)
{
  free(types->label_of);
  hwi_store_release(&types->names);
  hwi_store_release(&types->labels);
  hwi_data_types_release(&types->data);
  hwi_vtables_release(&types->vtables);
  *types = (struct hwi_block_types){0};
}
