/* stats.c - the figures of a general heap: of all of it, of each class, and as a table */
#include "allocators/heap/heap_lock.h"
#include "allocators/heap/libc_blocks.h"
#include "allocators/heap/process_owner.h"
#include "allocators/heap/space.h"
#include "allocators/heap/walk.h"

#include <string.h>

#include "allocators/message.h"
#include "platform/os_heap.h"

enum { ROWS = HW_HEAP_MOST_CLASSES + 1 };

/* --- counting ---
 *
 * Other threads change their pages and lists meanwhile. A number that is read is one that was true a moment ago;
 * links are checked before they are followed. */

static void subtract(struct hw_heap_class_stats *row, size_t count)
{
  count = count < row->used_count ? count : row->used_count;
  row->used_count -= count;
  row->used_bytes -= count * row->block_bytes;
}

/* Blocks that other threads have freed count as used in their page. */
__attribute__((no_sanitize("thread"))) static bool add_page(void *context, const struct hwi_page *page)
{
  struct hw_heap_class_stats *rows = (struct hw_heap_class_stats *)context;
  struct hw_heap_class_stats *row = &rows[page->kind == HWI_PAGE_SMALL ? page->class_index : HW_HEAP_MOST_CLASSES];
  size_t used = 1, room = 1, page_bytes = page->block_bytes;
  if (page->kind == HWI_PAGE_SMALL) {
    room = page->capacity;
    used = hwi_page_used_count(page);
    page_bytes = page->slice_count * HWI_SLICE_BYTES;
  }
  row->page_count++;
  row->page_bytes += page_bytes;
  row->block_count += room;
  row->used_count += used;
  row->used_bytes += used * page->block_bytes;
  if (page->kind == HWI_PAGE_SMALL)
    subtract(row, hwi_remote_count(__atomic_load_n(&page->remote, __ATOMIC_RELAXED)));
  return true;
}

static bool subtract_free(void *context, const struct hwi_free_block *block)
{
  struct hw_heap_class_stats *rows = (struct hw_heap_class_stats *)context;
  subtract(&rows[hwi_page_of(block)->class_index], 1);
  return true;
}

/* The blocks of the owners' lists are free, but their pages count them as used. */
static void subtract_lists(const struct hw_heap *heap, struct hw_heap_class_stats *rows)
{
  for (const struct hwi_owner *owner = heap->owners; owner; owner = owner->next) {
    for (size_t i = 0; i < heap->class_count; i++)
      hwi_owner_each_free(owner, i, subtract_free, rows);
    hwi_owner_each_saved(owner, subtract_free, rows);
  }
}

static bool add_libc_block(void *context, void *block, size_t bytes)
{
  struct hw_heap_class_stats *row = (struct hw_heap_class_stats *)context;
  (void)block;
  row->block_count++;
  row->used_count++;
  row->used_bytes += bytes;
  row->page_bytes += bytes;
  row->taken_page_count = row->peak_page_count = row->peak_used_count = ++row->page_count;
  return true;
}

/* The last row is that of the larger blocks. To be called with the lock. */
static void count(struct hw_heap *heap, struct hw_heap_class_stats rows[ROWS])
{
  memset(rows, 0, ROWS * sizeof *rows);
  for (size_t i = 0; i < heap->class_count; i++)
    rows[i].block_bytes = heap->class_bytes[i];
  hwi_heap_each_page(heap, add_page, rows);
  subtract_lists(heap, rows);
  for (size_t i = 0; i < ROWS; i++) {
    rows[i].peak_page_count = heap->peak_page_counts[i];
    rows[i].taken_page_count = heap->taken_page_counts[i];
    rows[i].peak_used_count = i < HW_HEAP_MOST_CLASSES ? __atomic_load_n(&heap->peak_given_counts[i], __ATOMIC_RELAXED)
                                                       : heap->peak_page_counts[i];
  }
  hwi_libc_each(heap, add_libc_block, &rows[HW_HEAP_MOST_CLASSES]);
}

static void get_all(struct hw_heap *heap, struct hw_heap_stats *stats, struct hw_heap_class_stats rows[ROWS])
{
  enum hwi_lock_result result = hwi_heap_lock_always(heap);
  count(heap, rows);
  *stats = (struct hw_heap_stats){.mapped_bytes = heap->mapped_bytes,
                                  .peak_mapped_bytes = heap->peak_mapped_bytes,
                                  .thread_count = heap->owner_count,
                                  .table_bytes = hwi_space_table_bytes()};
  hwi_heap_unlock(heap, result);
  for (size_t i = 0; i < ROWS; i++)
    stats->used_bytes += rows[i].used_bytes;
}

void hw_heap_get_stats(struct hw_heap *heap, struct hw_heap_stats *stats)
{
  struct hw_heap_class_stats rows[ROWS];
  get_all(heap, stats, rows);
}

size_t hw_heap_get_class_stats(struct hw_heap *heap, struct hw_heap_class_stats *stats, size_t count)
{
  struct hw_heap_stats all;
  struct hw_heap_class_stats rows[ROWS];
  get_all(heap, &all, rows);
  for (size_t i = 0; i < count && i <= heap->class_count; i++)
    stats[i] = rows[i < heap->class_count ? i : HW_HEAP_MOST_CLASSES];
  return heap->class_count + 1;
}

/* --- the table --- */

/* PEAK_USED: of the columns. */
enum { PEAK_USED = 6, COLUMNS = 9 };

static void put_text(struct hwi_heap_table *table, const char *text, size_t width)
{
  size_t bytes = strlen(text), blanks = bytes < width ? width - bytes : 0;
  if (blanks + bytes > sizeof table->text - table->bytes)
    return;
  memset(table->text + table->bytes, ' ', blanks);
  memcpy(table->text + table->bytes + blanks, text, bytes);
  table->bytes += blanks + bytes;
}

static void put_number(struct hwi_heap_table *table, size_t number, size_t width)
{
  struct hwi_message digits;
  digits.bytes = 0;
  hwi_message_number(&digits, number);
  digits.text[digits.bytes] = 0;
  put_text(table, digits.text, width);
}

static const char prefix[] = "heapwright: ";
static const struct {
  const char *title;
  size_t width;
} columns[COLUMNS] = {{"block", 8}, {"pages", 8},      {"peak pages", 12}, {"taken", 10},       {"room", 10},
                      {"used", 10}, {"peak used", 11}, {"used bytes", 14}, {"unused bytes", 14}};

static void put_row(struct hwi_heap_table *table, const struct hw_heap_class_stats *row)
{
  const size_t cells[COLUMNS] = {row->block_bytes,      row->page_count,  row->peak_page_count,
                                 row->taken_page_count, row->block_count, row->used_count,
                                 row->peak_used_count,  row->used_bytes,  row->page_bytes - row->used_bytes};
  put_text(table, prefix, 0);
  for (size_t i = 0; i < COLUMNS; i++)
    if (i == 0 && !row->block_bytes)
      put_text(table, "larger", columns[i].width);
    else if (i == PEAK_USED && !cells[i])
      put_text(table, "-", columns[i].width);
    else
      put_number(table, cells[i], columns[i].width);
  put_text(table, "\n", 0);
}

static void put_head(struct hwi_heap_table *table, const struct hw_heap_stats *stats)
{
  put_text(table, prefix, 0);
  put_text(table, "heap: used ", 0);
  put_number(table, stats->used_bytes, 0);
  put_text(table, " bytes, mapped ", 0);
  put_number(table, stats->mapped_bytes, 0);
  put_text(table, ", at most ", 0);
  put_number(table, stats->peak_mapped_bytes, 0);
  put_text(table, "; threads ", 0);
  put_number(table, stats->thread_count, 0);
  put_text(table, "; the table of all heaps ", 0);
  put_number(table, stats->table_bytes, 0);
  put_text(table, " bytes\n", 0);
  put_text(table, prefix, 0);
  for (size_t i = 0; i < COLUMNS; i++)
    put_text(table, columns[i].title, columns[i].width);
  put_text(table, "\n", 0);
}

void hwi_heap_make_table(struct hw_heap *heap, struct hwi_heap_table *table)
{
  struct hw_heap_stats stats;
  struct hw_heap_class_stats rows[ROWS];
  get_all(heap, &stats, rows);
  table->bytes = 0;
  if (!heap->is_alive) {
    put_text(table, prefix, 0);
    put_text(table, "the heap was destroyed\n", 0);
    return;
  }
  put_head(table, &stats);
  for (size_t i = 0; i < ROWS; i++)
    if (rows[i].peak_page_count)
      put_row(table, &rows[i]);
}

void hw_heap_print_stats(struct hw_heap *heap, int fd)
{
  struct hwi_heap_table table;
  hwi_heap_make_table(heap, &table);
  hwi_os_write(fd, table.text, table.bytes);
}
