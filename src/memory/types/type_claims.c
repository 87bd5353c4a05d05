/* type_claims.c - what pointers say of blocks: these get labels
 *
 * Blocks are all over memory, and for each pointer several look-ups would miss the cache. Therefore a claim waits until they are
 * fetched: the cell of the index, then the label of the block, then the block. In many heaps most pointers lead back to blocks that
 * have their label, so that the block itself is not looked at.
 *
 * Labels are those that claims would give at once: claims are handled in the order in which they were made, and before a block is
 * read for which one may be waiting, all are. Nothing else depends on a label.
 */
#include <stdlib.h>

#include "base/hash.h"
#include "memory/types/type_spread.h"

enum { LABEL_SLOTS = 1024 };

/* --- labels --- */

bool hwi_type_claims_init(struct hwi_type_spread *spread)
{
  spread->slots = calloc(LABEL_SLOTS, sizeof *spread->slots);
  return spread->slots;
}

void hwi_type_claims_release(struct hwi_type_spread *spread)
{
  free(spread->slots);
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

void hwi_type_spread_label(struct hwi_type_spread *spread, uint32_t block, const struct hwi_block_label *label,
                           uint64_t elements)
{
  spread->label_of[block] = number_label(spread, label) | (spread->label_of[block] & HWI_TYPE_QUEUED);
  if (label->type && elements)
    hwi_type_queue_push(spread, block, elements);
}

/* Returns whether a claim cannot give a better label. */
static bool is_settled(const struct hwi_block_label *label, const struct hwi_claim *claim)
{
  return label->form >= HWI_FORM_ONE || !claim->target ||
         (label->form == HWI_FORM_BEGINS && label->type == claim->target && !claim->is_sequence);
}

/* Gives a label to a live block. */
static void apply(struct hwi_type_spread *spread, uint32_t block, const struct hwi_block_label *known,
                  const struct hwi_waiting_claim *waiting)
{
  struct hwi_block_types *types = spread->types;
  const struct hwi_claim *claim = &waiting->claim;
  const struct hwi_type_walk *walk = &waiting->walk;
  enum hwi_block_form form = hwi_type_form_of(spread, claim, &types->heap->blocks[block]);
  if (form == HWI_FORM_SCALARS && walk->is_string)
    form = HWI_FORM_STRING;
  if (known && form <= known->form)
    return;
  const bool is_of_pointers =
      form == HWI_FORM_ARRAY && hwi_data_types_get(&types->data, claim->target)->kind == HWI_DATA_POINTER;
  hwi_type_spread_label(spread, block,
                        &(struct hwi_block_label){.form = form,
                                                  .type = form == HWI_FORM_POINTED ? 0 : claim->target,
                                                  .member = form < HWI_FORM_ARRAY || is_of_pointers ? walk->member : 0,
                                                  .origin = walk->origin,
                                                  .node = is_of_pointers ? walk->node : 0},
                        claim->is_sequence ? claim->elements : UINT64_MAX);
}

/* --- claims --- */

static struct hwi_waiting_claim *claim_of(struct hwi_type_spread *spread, uint32_t number)
{
  return &spread->claims[number % HWI_CLAIMS_WAITING];
}

static uint8_t *claims_for(struct hwi_type_spread *spread, uint64_t address)
{
  return &spread->claims_for[hwi_hash_number(address) % HWI_CLAIM_COUNTERS];
}

static void handle(struct hwi_type_spread *spread, const struct hwi_waiting_claim *waiting)
{
  const uint32_t block = hwi_block_index_start(spread->index, waiting->cell, waiting->claim.address);
  if (block == HWI_NO_BLOCK)
    return;
  const uint32_t number = spread->label_of[block] & ~HWI_TYPE_QUEUED;
  const struct hwi_block_label *known = number ? hwi_block_types_label(spread->types, number) : NULL;
  if (known && is_settled(known, &waiting->claim))
    return;
  if (spread->index->blocks[block].address != waiting->claim.address /* in a damaged heap, two are at one address */ ||
      hwi_core_block_state(&spread->index->blocks[block]) != HWI_CORE_BLOCK_LIVE)
    return;
  if (known || !hwi_type_objects_label(spread, block, waiting->walk.origin))
    apply(spread, block, known, waiting);
}

static void handle_oldest(struct hwi_type_spread *spread)
{
  const struct hwi_waiting_claim oldest = *claim_of(spread, spread->claims_done++);
  --*claims_for(spread, oldest.claim.address);
  handle(spread, &oldest);
}

void hwi_type_claims_finish(struct hwi_type_spread *spread)
{
  while (spread->claims_done != spread->claims_made && !spread->failed)
    handle_oldest(spread);
}

void hwi_type_claims_finish_for(struct hwi_type_spread *spread, uint64_t address)
{
  if (*claims_for(spread, address))
    hwi_type_claims_finish(spread);
}

/* Each step asks for the memory of the next one. */
static void fetch_for_claims(struct hwi_type_spread *spread)
{
  enum { STEP = HWI_CLAIMS_WAITING / 3 };
  const uint32_t waiting = spread->claims_made - spread->claims_done;
  if (waiting > STEP) {
    const struct hwi_waiting_claim *next = claim_of(spread, spread->claims_made - 1 - STEP);
    const uint32_t block = hwi_block_index_start(spread->index, next->cell, next->claim.address);
    if (block != HWI_NO_BLOCK)
      __builtin_prefetch(&spread->label_of[block], 1);
  }
  if (waiting > 2 * STEP) {
    const struct hwi_waiting_claim *next = claim_of(spread, spread->claims_made - 1 - 2 * STEP);
    const uint32_t block = hwi_block_index_start(spread->index, next->cell, next->claim.address);
    if (block != HWI_NO_BLOCK && !spread->label_of[block])
      __builtin_prefetch(&spread->index->blocks[block]);
  }
}

void hwi_type_spread_claim(struct hwi_type_spread *spread, const struct hwi_claim *claim,
                           const struct hwi_type_walk *walk)
{
  const struct hwi_cell *cell = hwi_block_index_cell(spread->index, &spread->span, claim->address);
  if (!cell)
    return;
  __builtin_prefetch(cell);
  if (spread->claims_made - spread->claims_done == HWI_CLAIMS_WAITING)
    handle_oldest(spread);
  *claim_of(spread, spread->claims_made++) = (struct hwi_waiting_claim){*claim, *walk, cell};
  ++*claims_for(spread, claim->address);
  fetch_for_claims(spread);
}
