/* epoch.c - how one epoch changed a run's counters: writes and reads its bytes, and the file of all epochs
 *
 * As in summary_result.c, the fields of each list are named once, for both directions.
 */
#include "profile/epochs/epoch.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "profile/columns/timeline_columns.h"

#define U64 sizeof(uint64_t)

static const struct hwi_field row_fields[] = {
    HWI_NEAR_FIELD(struct hwi_epoch_row, first_tick), HWI_NEAR_FIELD(struct hwi_epoch_row, first_ns),
    HWI_NEAR_FIELD(struct hwi_epoch_row, last_ns),    HWI_NEAR_FIELD(struct hwi_epoch_row, event_count),
    HWI_NEAR_FIELD(struct hwi_epoch_row, max_bytes),  HWI_FIELD(struct hwi_epoch_row, slice_width_ns),
    HWI_FIELD(struct hwi_epoch_row, class_width_ns),  HWI_NEAR_FIELD(struct hwi_epoch_row, cells),
    HWI_NEAR_FIELD(struct hwi_epoch_row, stacks),     HWI_NEAR_FIELD(struct hwi_epoch_row, sizes),
    HWI_NEAR_FIELD(struct hwi_epoch_row, threads),
};
_Static_assert(sizeof(struct hwi_epoch_row) == 9 * U64, "each field is above");
const struct hwi_fields hwi_epoch_row_fields = HWI_FIELDS_OF(struct hwi_epoch_row, row_fields);

static const struct hwi_field cell_fields[] = {
    HWI_NEAR_FIELD(struct hwi_epoch_cell, number),
    HWI_FIELD(struct hwi_epoch_cell, calls),
    HWI_FIELD(struct hwi_epoch_cell, temporary_calls),
    HWI_NEAR_FIELD(struct hwi_epoch_cell, live),
};
_Static_assert(sizeof(struct hwi_epoch_cell) == 4 * U64, "each field is above");

static const struct hwi_field stack_fields[] = {
    HWI_NEAR_FIELD(struct hwi_epoch_stack, number),  HWI_FIELD(struct hwi_epoch_stack, rise),
    HWI_FIELDS(struct hwi_epoch_stack, ended),       HWI_FIELD(struct hwi_epoch_stack, failed_calls),
    HWI_FIELD(struct hwi_epoch_stack, missed_frees), HWI_NEAR_FIELD(struct hwi_epoch_stack, first_ns),
    HWI_NEAR_FIELD(struct hwi_epoch_stack, last_ns), HWI_BOOL_FIELD(struct hwi_epoch_stack, called),
};
_Static_assert(sizeof(struct hwi_epoch_stack) == 11 * U64, "each field is above");

static const struct hwi_field size_fields[] = {
    HWI_NEAR_FIELD(struct hwi_epoch_size, number),
    HWI_FIELD(struct hwi_epoch_size, rise),
};
_Static_assert(sizeof(struct hwi_epoch_size) == 2 * U64, "each field is above");

static const struct hwi_field thread_fields[] = {
    HWI_NEAR_FIELD(struct hwi_epoch_thread, number),     HWI_FIELD(struct hwi_epoch_thread, rise),
    HWI_FIELD(struct hwi_epoch_thread, free_calls),      HWI_FIELD(struct hwi_epoch_thread, foreign_frees),
    HWI_FIELD(struct hwi_epoch_thread, failed_calls),    HWI_FIELD(struct hwi_epoch_thread, late_allocation_calls),
    HWI_FIELD(struct hwi_epoch_thread, late_free_calls), HWI_FIELD(struct hwi_epoch_thread, last_address),
    HWI_FIELD(struct hwi_epoch_thread, moving_address),  HWI_FIELD(struct hwi_epoch_thread, newest_cell),
    HWI_FIELD(struct hwi_epoch_thread, moving_cell),
};
_Static_assert(sizeof(struct hwi_epoch_thread) == 10 * U64, "each field is above");

static const struct hwi_field steps_fields[] = {
    HWI_FIELD(struct hwi_epoch_steps, cell),
    HWI_FIELD(struct hwi_epoch_steps, changes.steps.steps),
    HWI_FIELD(struct hwi_epoch_steps, changes.steps.moved),
    HWI_FIELD(struct hwi_epoch_steps, changes.steps.copied_bytes),
    HWI_FIELD(struct hwi_epoch_steps, changes.steps.grown),
    HWI_FIELD(struct hwi_epoch_steps, changes.steps.grown_copied_bytes),
    HWI_FIELD(struct hwi_epoch_steps, changes.ended),
};
_Static_assert(sizeof(struct hwi_epoch_steps) == 7 * U64, "each field is above");

static const struct hwi_field handover_fields[] = {
    HWI_FIELD(struct hwi_handover, owner),
    HWI_FIELD(struct hwi_handover, freer),
    HWI_FIELD(struct hwi_handover, blocks),
    HWI_FIELD(struct hwi_handover, bytes),
};

static const struct hwi_field block_fields[] = {
    HWI_NEAR_FIELD(struct hwi_epoch_block, address),
    HWI_NEAR_FIELD(struct hwi_epoch_block, cell),
    HWI_FIELD(struct hwi_epoch_block, lifetime),
};
_Static_assert(sizeof(struct hwi_epoch_block) == 2 * U64, "each field is above");

static const struct hwi_field temporary_fields[] = {
    HWI_FIELD(struct hwi_epoch_temporary, cell),
    HWI_FIELD(struct hwi_epoch_temporary, lifetime),
};
_Static_assert(sizeof(struct hwi_epoch_temporary) == U64, "each field is above");

static const struct hwi_fields fields_of[HWI_EPOCH_LISTS] = {
    [HWI_EPOCH_CELLS] = HWI_FIELDS_OF(struct hwi_epoch_cell, cell_fields),
    [HWI_EPOCH_STACKS] = HWI_FIELDS_OF(struct hwi_epoch_stack, stack_fields),
    [HWI_EPOCH_SIZES] = HWI_FIELDS_OF(struct hwi_epoch_size, size_fields),
    [HWI_EPOCH_THREADS] = HWI_FIELDS_OF(struct hwi_epoch_thread, thread_fields),
    [HWI_EPOCH_STEPS] = HWI_FIELDS_OF(struct hwi_epoch_steps, steps_fields),
    [HWI_EPOCH_HANDOVERS] = HWI_FIELDS_OF(struct hwi_handover, handover_fields),
    [HWI_EPOCH_BLOCKS] = HWI_FIELDS_OF(struct hwi_epoch_block, block_fields),
    [HWI_EPOCH_TEMPORARIES] = HWI_FIELDS_OF(struct hwi_epoch_temporary, temporary_fields),
};

size_t hwi_epoch_item_bytes(enum hwi_epoch_list list)
{
  return fields_of[list].item_bytes;
}

void hwi_epoch_release(struct hwi_epoch *epoch)
{
  for (int list = 0; list < HWI_EPOCH_LISTS; list++)
    hwi_list_release(&epoch->lists[list]);
}

static void pass_totals(struct hwi_pass *pass, struct hwi_totals *totals)
{
  uint64_t *const numbers[] = {&totals->allocation_calls, &totals->free_calls,      &totals->failed_calls,
                               &totals->temporary_calls,  &totals->allocated_bytes, &totals->usable_bytes,
                               &totals->unmatched_frees,  &totals->missed_frees,    &totals->frees_of_silent_blocks};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    hwi_pass_number(pass, numbers[i]);
}

void hwi_epoch_pass(struct hwi_pass *pass, struct hwi_epoch *epoch)
{
  for (int list = 0; list < HWI_EPOCH_LISTS; list++) {
    struct hwi_list *rows = &epoch->lists[list];
    hwi_pass_list(pass, &fields_of[list], &rows->items, &rows->count, 0);
    if (!pass->writes)
      rows->capacity = rows->count;
  }
  pass_totals(pass, &epoch->totals);
  hwi_pass_timelines(pass, &epoch->timeline, &epoch->classes);
}

/* --- in a file --- */

static bool write_length(int fd, uint64_t off, uint64_t bytes)
{
  return pwrite(fd, &bytes, sizeof bytes, (off_t)off) == (ssize_t)sizeof bytes;
}

static bool read_length(int fd, uint64_t off, uint64_t *bytes)
{
  return pread(fd, bytes, sizeof *bytes, (off_t)off) == (ssize_t)sizeof *bytes;
}

int hwi_epoch_file_add(int fd, uint64_t *end, struct hwi_epoch *epoch)
{
  struct hwi_pass pass;
  if (lseek(fd, (off_t)(*end + sizeof(uint64_t)), SEEK_SET) < 0)
    return HW_ERR_IO;
  hwi_pass_begin_write(&pass, fd);
  hwi_epoch_pass(&pass, epoch);
  int status = hwi_pass_end(&pass);
  if (status == 0 && !write_length(fd, *end, pass.packed_bytes))
    status = HW_ERR_IO;
  if (status == 0)
    *end += sizeof(uint64_t) + pass.packed_bytes;
  return status;
}

bool hwi_epoch_file_open(struct hwi_epoch_file *file, int fd, uint64_t off, uint64_t end, size_t count)
{
  *file = (struct hwi_epoch_file){.fd = fd, .offs = calloc(count + 1, sizeof *file->offs), .count = count};
  bool done = file->offs;
  for (size_t i = 0; i < count && done; i++) {
    uint64_t bytes = 0;
    file->offs[i] = off;
    done = off < end && read_length(fd, off, &bytes) && bytes < end - off;
    off += sizeof bytes + bytes;
  }
  done = done && off == end;
  if (done) {
    file->offs[count] = end;
    return true;
  }
  free(file->offs);
  *file = (struct hwi_epoch_file){0};
  return false;
}

void hwi_epoch_file_release(struct hwi_epoch_file *file)
{
  if (file->offs)
    close(file->fd);
  free(file->offs);
  *file = (struct hwi_epoch_file){0};
}

int hwi_epoch_file_read(const struct hwi_epoch_file *file, size_t number, uint64_t most_items, struct hwi_epoch *epoch)
{
  struct hwi_pass pass;
  uint64_t off = file->offs[number] + sizeof(uint64_t);
  if (off > file->offs[number + 1] || lseek(file->fd, (off_t)off, SEEK_SET) < 0)
    return HW_ERR_DAMAGED;
  hwi_pass_begin_read(&pass, file->fd, file->offs[number + 1] - off);
  if (pass.most_items < most_items) /* a series of adjacent blocks takes almost no bytes */
    pass.most_items = most_items < UINT32_MAX ? most_items : UINT32_MAX;
  hwi_epoch_pass(&pass, epoch);
  return hwi_pass_end(&pass);
}
