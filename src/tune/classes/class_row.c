/* class_row.c - adds up the blocks and partly filled pages of a size class */
#include "tune/classes/class_row.h"

#include <stdlib.h>

#include "allocators/heap/classes.h"
#include "platform/os.h"

enum { PART_BYTES = HWI_OS_PAGE_BYTES / 2 };

double hwi_class_part_bytes(const struct hwi_class_share *share, size_t class_bytes)
{
  if (!share->is_used)
    return 0;
  const size_t page = hwi_class_slices(class_bytes) * HWI_SLICE_BYTES;
  const size_t blocks = share->most_blocks < page ? (size_t)share->most_blocks : page;
  size_t touched = (blocks * class_bytes + HWI_OS_PAGE_BYTES - 1) & ~(size_t)(HWI_OS_PAGE_BYTES - 1);
  touched = touched < page ? touched : page;
  const double used = share->peak_blocks * hwi_class_block_bytes(class_bytes);
  return PART_BYTES + ((double)touched > used ? (double)touched - used : 0);
}

bool hwi_class_row_init(struct hwi_class_row *row, const struct hwi_class_problem *problem)
{
  const size_t owners = (size_t)problem->demand->owner_count + 1;
  *row = (struct hwi_class_row){.problem = problem};
  row->shares = calloc(owners, sizeof *row->shares);
  row->filled = calloc(owners, sizeof *row->filled);
  row->saved = calloc(problem->demand->use_count + 1, sizeof *row->saved);
  bool done = row->shares && row->filled && row->saved;
  if (!done)
    hwi_class_row_release(row);
  return done;
}

void hwi_class_row_release(struct hwi_class_row *row)
{
  free(row->shares);
  free(row->filled);
  free(row->saved);
}

/* Returns the share of the use's owner in the row's class. */
static struct hwi_class_share *share_of(const struct hwi_class_row *row, struct hwi_class_share *shares,
                                        const struct hwi_class_use *use)
{
  struct hwi_class_share *share = &shares[use->owner];
  if (share->row_id != row->id)
    *share = (struct hwi_class_share){.row_id = row->id};
  return share;
}

void hwi_class_row_begin(struct hwi_class_row *row, unsigned number)
{
  const struct hwi_class_problem *problem = row->problem;
  row->id++;
  row->number = row->after = number;
  row->level_count = hwi_class_level_count(problem, number);
  row->use_count = problem->until[number];
  row->blocks = row->parts = row->least_parts = 0;
  for (unsigned i = 0; i < row->level_count; i++)
    for (size_t k = 0; k < problem->levels[i].until[number]; k++) {
      const struct hwi_class_use *use = problem->levels[i].uses[k];
      share_of(row, row->filled, use)->peak_blocks += (double)use->peak_blocks;
    }
}

/* Returns by how much the partly filled pages grow; it may be less than 0. */
static double grow_share(const struct hwi_class_row *row, struct hwi_class_share *share,
                         const struct hwi_class_use *use)
{
  const size_t class_bytes = (size_t)row->number * HWI_CLASS_GRANULE_BYTES;
  const double before = hwi_class_part_bytes(share, class_bytes);
  hwi_class_share_add(share, use);
  return hwi_class_part_bytes(share, class_bytes) - before;
}

static void add_use(struct hwi_class_row *row, const struct hwi_class_use *use)
{
  row->blocks += hwi_class_weight(use);
  row->parts += grow_share(row, share_of(row, row->shares, use), use);
  if (row->level_count == 0)
    return;
  struct hwi_class_use counted = *use;
  counted.peak_blocks =
      use->align_log2 ? 0 : use->peak_blocks; /* those of aligned blocks are in it from the beginning */
  row->least_parts += grow_share(row, share_of(row, row->filled, use), &counted);
}

void hwi_class_row_widen(struct hwi_class_row *row)
{
  const struct hwi_class_use *uses = row->problem->demand->uses;
  const size_t least = row->problem->until[row->after - 1];
  row->blocks += row->problem->other[row->after];
  for (; row->use_count > least; row->use_count--)
    if (hwi_class_fits(&uses[row->use_count - 1], row->number))
      add_use(row, &uses[row->use_count - 1]);
  row->after--;
  if (row->level_count == 0)
    row->least_parts = row->parts;
}

double hwi_class_row_waited(struct hwi_class_row *row, const size_t *waiting)
{
  const struct hwi_class_problem *problem = row->problem;
  double cost = 0;
  size_t count = 0;
  for (unsigned i = 0; i < row->level_count; i++)
    for (size_t k = waiting[i]; k < problem->levels[i].until[row->after]; k++) {
      const struct hwi_class_use *use = problem->levels[i].uses[k];
      struct hwi_class_share *share = share_of(row, row->shares, use);
      row->saved[count++] = *share;
      cost += hwi_class_weight(use) * problem->block_bytes[row->number] + grow_share(row, share, use);
    }
  for (unsigned i = row->level_count; i-- > 0;) /* back, in the opposite order */
    for (size_t k = problem->levels[i].until[row->after]; k-- > waiting[i];)
      row->shares[problem->levels[i].uses[k]->owner] = row->saved[--count];
  return cost;
}
