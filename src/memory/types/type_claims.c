/* type_claims.c - what pointers say of blocks: these get labels
 *
 * A claim is only listed when it is made. Many are handled together in the order of the addresses of their blocks, so that the index,
 * the labels and the blocks are read nearly in order: blocks are all over memory, and each look-up would miss the cache. Only the
 * order of the claims for one block decides on its label: that is the order in which they were made.
 *
 * Claims of variables and of single blocks can be handled at any time. For those of many blocks, see type_window.c.
 */
#include <stdlib.h>

#include "base/hash.h"
#include "memory/types/type_spread.h"
#include "trace/table.h"

enum {
  LABEL_SLOTS = 1024,
  KIND_SLOTS = 1024,
  CLAIMS_MOST = 1 << 24, /* that are listed */
  SORTED_FROM = 1024,    /* fewer are handled as they were made */
  TOGETHER = 64,         /* claims whose look-ups are fetched together */
  SHORT = 16,            /* a list that is sorted by insertion */
};

bool hwi_type_claims_init(struct hwi_type_spread *spread)
{
  spread->slots = calloc(LABEL_SLOTS, sizeof *spread->slots);
  spread->claims.slots = calloc(KIND_SLOTS, sizeof *spread->claims.slots);
  return spread->slots && spread->claims.slots;
}

void hwi_type_claims_release(struct hwi_type_spread *spread)
{
  struct hwi_type_claims *claims = &spread->claims;
  free(spread->slots);
  free(claims->slots);
  hwi_store_release(&claims->kinds);
  hwi_table_release(claims->list, claims->capacity * sizeof *claims->list);
}

/* --- labels --- */

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
  const struct hwi_queued queued = {block, elements < UINT32_MAX ? (uint32_t)elements : UINT32_MAX};
  const uint32_t number = number_label(spread, label);
  if (spread->window.is_open)
    hwi_type_window_change(spread, block);
  const uint32_t flags = spread->label_of[block] & ~HWI_TYPE_LABEL;
  const bool is_new = label->type && elements && !(flags & HWI_TYPE_QUEUED);
  spread->label_of[block] = number | flags | (is_new ? HWI_TYPE_QUEUED : 0);
  if (is_new && spread->window.is_open)
    hwi_type_window_push(spread, &queued);
  else if (is_new)
    hwi_type_queue_push(spread, &queued);
}

/* Returns whether a claim cannot give a better label. */
static bool is_settled(const struct hwi_block_label *label, const struct hwi_claim_kind *claim)
{
  return label->form >= HWI_FORM_ONE || !claim->target ||
         (label->form == HWI_FORM_BEGINS && label->type == claim->target && !claim->is_sequence);
}

/* Gives a label to a live block, if it is better than the one that is known. */
static void apply(struct hwi_type_spread *spread, uint32_t block, const struct hwi_block_label *known,
                  const struct hwi_claim_kind *claim)
{
  struct hwi_block_types *types = spread->types;
  enum hwi_block_form form = hwi_type_form_of(spread, claim, &types->heap->blocks[block]);
  if (form == HWI_FORM_SCALARS && claim->is_string)
    form = HWI_FORM_STRING;
  if (known && form <= known->form)
    return;
  const bool is_of_pointers =
      form == HWI_FORM_ARRAY && hwi_data_types_get(&types->data, claim->target)->kind == HWI_DATA_POINTER;
  const struct hwi_block_label label = {.form = form,
                                        .type = form == HWI_FORM_POINTED ? 0 : claim->target,
                                        .member = form < HWI_FORM_ARRAY || is_of_pointers ? claim->member : 0,
                                        .origin = claim->origin,
                                        .node = is_of_pointers ? claim->node : 0};
  hwi_type_spread_label(spread, block, &label, claim->is_sequence ? claim->elements : UINT64_MAX);
}

/* --- lists of claims --- */

static uint32_t number_kind(struct hwi_type_spread *spread, const struct hwi_claim_kind *kind)
{
  struct hwi_type_claims *claims = &spread->claims;
  const uint64_t mixed = (uint64_t)kind->target << 32 ^ (uint64_t)kind->member << 16 ^ kind->origin;
  struct hwi_kind_slot *slot = &claims->slots[hwi_hash_pair(mixed, kind->elements ^ kind->node) % KIND_SLOTS];
  if (!slot->number || memcmp(&slot->kind, kind, sizeof *kind) != 0)
    *slot = (struct hwi_kind_slot){*kind, hwi_store_intern(&claims->kinds, kind, sizeof *kind)};
  spread->failed |= !slot->number;
  return slot->number;
}

void hwi_type_spread_claim(struct hwi_type_spread *spread, const struct hwi_claim *claim,
                           const struct hwi_type_walk *walk)
{
  const struct hwi_block_index *index = spread->index;
  struct hwi_type_claims *claims = &spread->claims;
  const uint64_t off = claim->address - index->begin;
  if (off >= index->end - index->begin || off & (((uint64_t)1 << index->granule_shift) - 1) || claims->is_full)
    return;
  if (claims->count == CLAIMS_MOST && !claims->is_of_many)
    hwi_type_claims_handle(spread);
  claims->is_full = claims->count == CLAIMS_MOST;
  const struct hwi_claim_kind kind = {.elements = claim->elements,
                                      .target = claim->target,
                                      .origin = walk->origin,
                                      .member = walk->member,
                                      .node = walk->node,
                                      .is_sequence = claim->is_sequence,
                                      .is_string = walk->is_string};
  const uint32_t number = number_kind(spread, &kind);
  if (claims->is_full || !number)
    return;
  if (!hwi_table_grow((void **)&claims->list, &claims->capacity, claims->count + 1, sizeof *claims->list))
    spread->failed = true;
  else
    claims->list[claims->count++] =
        (struct hwi_sort_item){.key = off >> index->granule_shift,
                               .item = claims->is_of_many ? claims->maker : (uint32_t)claims->count,
                               .detail = number};
}

static int compare(const void *a, const void *b)
{
  const struct hwi_sort_item *x = a, *y = b;
  return x->item < y->item ? -1 : x->item > y->item;
}

/* Puts the claims for one block into the order in which they were made. */
static void put_in_order(struct hwi_sort_item *list, size_t count)
{
  if (count > SHORT) {
    qsort(list, count, sizeof *list, compare);
    return;
  }
  for (size_t i = 1; i < count; i++) {
    const struct hwi_sort_item item = list[i];
    size_t at = i;
    for (; at > 0 && list[at - 1].item > item.item; at--)
      list[at] = list[at - 1];
    list[at] = item;
  }
}

static bool sort(struct hwi_type_claims *claims)
{
  size_t begin = 0;
  if (!hwi_radix_sort(claims->list, claims->count))
    return false;
  for (size_t i = 1; i <= claims->count; i++)
    if (i == claims->count || claims->list[i].key != claims->list[begin].key) {
      put_in_order(claims->list + begin, i - begin);
      begin = i;
    }
  return true;
}

/* --- claims --- */

static uint64_t address_of(const struct hwi_type_spread *spread, const struct hwi_sort_item *claim)
{
  return spread->index->begin + (claim->key << spread->index->granule_shift);
}

static void handle(struct hwi_type_spread *spread, const struct hwi_sort_item *claim, uint32_t block)
{
  const struct hwi_claim_kind *kind =
      (const struct hwi_claim_kind *)(const void *)spread->claims.kinds.strings[claim->detail].text;
  const uint32_t number = spread->label_of[block] & HWI_TYPE_LABEL;
  const struct hwi_block_label *known = number ? hwi_block_types_label(spread->types, number) : NULL;
  if (known && is_settled(known, kind))
    return;
  const struct hwi_core_block *of = &spread->index->blocks[block];
  if (of->address != address_of(spread, claim) /* in a damaged heap, two are at one address */ ||
      hwi_core_block_state(of) != HWI_CORE_BLOCK_LIVE)
    return;
  spread->window.order = claim->item;
  if (known || !hwi_type_objects_label(spread, block, kind->origin))
    apply(spread, block, known, kind);
}

/* Handles some claims. Each step asks for the memory of the next one. */
static void handle_some(struct hwi_type_spread *spread, const struct hwi_sort_item *list, size_t count)
{
  const struct hwi_cell *cells[TOGETHER];
  uint32_t blocks[TOGETHER];
  for (size_t i = 0; i < count; i++) {
    cells[i] = hwi_block_index_cell(spread->index, &spread->span, address_of(spread, &list[i]));
    __builtin_prefetch(cells[i]);
  }
  for (size_t i = 0; i < count; i++) {
    blocks[i] = cells[i] ? hwi_block_index_start(spread->index, cells[i], address_of(spread, &list[i])) : HWI_NO_BLOCK;
    if (blocks[i] == HWI_NO_BLOCK)
      continue;
    __builtin_prefetch(&spread->label_of[blocks[i]], 1);
    __builtin_prefetch(&spread->index->blocks[blocks[i]]);
  }
  for (size_t i = 0; i < count && !spread->failed; i++)
    if (blocks[i] != HWI_NO_BLOCK)
      handle(spread, &list[i], blocks[i]);
}

void hwi_type_claims_handle(struct hwi_type_spread *spread)
{
  struct hwi_type_claims *claims = &spread->claims;
  const bool was_open = spread->window.is_open, is_sorted = was_open || claims->count >= SORTED_FROM;
  if (is_sorted && !sort(claims))
    spread->failed = true;
  spread->window.is_open = is_sorted;
  for (size_t i = 0; i < claims->count && !spread->failed && !spread->window.is_void; i += TOGETHER)
    handle_some(spread, claims->list + i, claims->count - i < TOGETHER ? claims->count - i : TOGETHER);
  claims->count = 0;
  if (is_sorted && !was_open)
    hwi_type_window_close(spread);
}
