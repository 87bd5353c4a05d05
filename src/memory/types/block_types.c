/* block_types.c - the types of blocks: from C++ vtables, and from debug information
 *
 * Labels are few, blocks are many: a block has the number of its label, 4 bytes. Those that got a label wait in a queue
 * (type_queue.c) until the pointers in them are followed, many together (type_window.c); these say what other blocks are
 * (type_claims.c). A block that gets a better label is read again; labels only get better, so that this ends.
 */
#include "memory/types/block_types.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "memory/types/class_names.h"
#include "memory/types/type_spread.h"
#include "trace/table.h"

/* --- all blocks --- */

static void spread_roots(struct hwi_type_spread *spread)
{
  hwi_type_roots_spread_variables(spread);
  hwi_type_spread_run(spread);
  hwi_type_roots_spread_frames(spread);
  hwi_type_spread_run(spread);
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
  spread.label_of = types->label_of;
  spread.failed = !types->label_of || !hwi_type_claims_init(&spread) || !hwi_type_queue_init(&spread) ||
                  !hwi_type_objects_init(&spread);
  if (!spread.failed)
    spread_roots(&spread);
  if (!spread.failed)
    hwi_type_objects_spread(&spread);
  hwi_type_claims_release(&spread);
  hwi_type_queue_release(&spread);
  hwi_type_window_release(&spread.window);
  hwi_type_objects_release(&spread);
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
