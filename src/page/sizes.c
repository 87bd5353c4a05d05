/* sizes.c - the block sizes with their own rows in a document, and the classes of all other sizes */
#include "page/sizes.h"

#include <stdlib.h>
#include <string.h>

#include "page/largest_share.h"
#include "trace/radix_sort.h"

enum { ROWS_MAX = 1000, FOLLOWED_MAX = 120 };

static double share_of(const struct hwi_size *size, const struct hwi_totals *totals)
{
  double share = hwi_larger_share(0, size->calls, totals->allocation_calls);
  share = hwi_larger_share(share, size->calls * size->size, totals->allocated_bytes);
  share = hwi_larger_share(share, size->temporary_calls, totals->temporary_calls);
  share = hwi_larger_share(share, size->live_blocks * size->size, totals->live_bytes_at_end);
  return hwi_larger_share(share, size->own_peak_blocks * size->size, totals->peak_bytes);
}

/* Returns the indices of the sizes, ranked by share, or NULL if there is no memory. */
static struct hwi_sort_item *rank(const struct hwi_profile *profile)
{
  struct hwi_sort_item *ranked = calloc((size_t)profile->size_count + 1, sizeof *ranked);
  for (uint32_t i = 0; i < profile->size_count && ranked; i++)
    ranked[i] = (struct hwi_sort_item){.key = hwi_share_key(share_of(&profile->sizes[i], &profile->totals)), .item = i};
  if (ranked && hwi_radix_sort(ranked, profile->size_count))
    return ranked;
  free(ranked);
  return NULL;
}

static void add_size(struct hwi_page_size *row, const struct hwi_size *size)
{
  row->from = row->cut == 0 || size->size < row->from ? size->size : row->from;
  row->to = size->size > row->to ? size->size : row->to;
  row->cut++;
  row->calls += size->calls;
  row->bytes += size->calls * size->size;
  row->temporary_calls += size->temporary_calls;
  row->live_blocks += size->live_blocks;
  row->live_bytes += size->live_blocks * size->size;
  row->peak_blocks += size->peak_blocks;
  row->peak_bytes += size->peak_blocks * size->size;
  row->peak_usable_bytes += size->peak_usable;
}

static int compare_rows(const void *left, const void *right)
{
  const struct hwi_page_size *a = left, *b = right;
  if (a->from != b->from)
    return a->from < b->from ? -1 : 1;
  return a->cut < b->cut ? -1 : a->cut > b->cut;
}

/* Makes rows for the first sizes, and for the classes of all others. */
static void fill_rows(struct hwi_page_sizes *sizes, const struct hwi_profile *profile,
                      const struct hwi_sort_item *ranked)
{
  struct hwi_page_size rest[HWI_SIZE_CLASSES] = {0};
  for (uint32_t i = 0; i < profile->size_count; i++) {
    const struct hwi_size *size = &profile->sizes[ranked[i].item];
    struct hwi_page_size *row = i < ROWS_MAX ? &sizes->rows[sizes->row_count++] : &rest[hwi_size_class(size->size)];
    add_size(row, size);
    row->series_row = hwi_page_sizes_row(sizes, size->size);
    if (i >= ROWS_MAX)
      continue;
    row->cut = 0;
    row->own_peak_blocks = size->own_peak_blocks;
  }
  for (int i = 0; i < HWI_SIZE_CLASSES; i++)
    if (rest[i].cut > 0)
      sizes->rows[sizes->row_count++] = rest[i];
  qsort(sizes->rows, sizes->row_count, sizeof *sizes->rows, compare_rows);
}

static bool follow(struct hwi_page_sizes *sizes, const struct hwi_profile *profile, const struct hwi_sort_item *ranked)
{
  memset(sizes->class_rows, 0xff, sizeof sizes->class_rows);
  for (uint32_t i = 0; i < profile->size_count; i++) {
    const struct hwi_size *size = &profile->sizes[ranked[i].item];
    uint32_t *class_row = &sizes->class_rows[hwi_size_class(size->size)];
    if (i < FOLLOWED_MAX && hwi_numbering_of(&sizes->followed, size->size, 0) != i + 1)
      return false;
    if (i >= FOLLOWED_MAX && *class_row == UINT32_MAX)
      *class_row = sizes->series_count;
    uint32_t row = i < FOLLOWED_MAX ? i : *class_row;
    add_size(&sizes->series[row], size);
    sizes->series_count = row + 1 > sizes->series_count ? row + 1 : sizes->series_count;
  }
  return true;
}

bool hwi_page_sizes_init(struct hwi_page_sizes *sizes, const struct hwi_profile *profile)
{
  *sizes = (struct hwi_page_sizes){0};
  struct hwi_sort_item *ranked = rank(profile);
  sizes->rows = calloc(ROWS_MAX + HWI_SIZE_CLASSES, sizeof *sizes->rows);
  sizes->series = calloc(FOLLOWED_MAX + HWI_SIZE_CLASSES, sizeof *sizes->series);
  bool done = ranked && sizes->rows && sizes->series && follow(sizes, profile, ranked);
  if (done)
    fill_rows(sizes, profile, ranked);
  free(ranked);
  return done;
}

void hwi_page_sizes_release(struct hwi_page_sizes *sizes)
{
  free(sizes->rows);
  free(sizes->series);
  hwi_numbering_release(&sizes->followed);
  *sizes = (struct hwi_page_sizes){0};
}

void hwi_json_page_sizes(struct hwi_json *json, const struct hwi_page_sizes *sizes,
                         const struct hwi_page_series *row_series)
{
  static const struct hwi_column columns[] = {
      HWI_COLUMN(struct hwi_page_size, from),
      HWI_COLUMN(struct hwi_page_size, to),
      HWI_COLUMN(struct hwi_page_size, cut),
      HWI_COLUMN(struct hwi_page_size, calls),
      HWI_COLUMN(struct hwi_page_size, bytes),
      HWI_COLUMN(struct hwi_page_size, temporary_calls),
      HWI_COLUMN(struct hwi_page_size, live_blocks),
      HWI_COLUMN(struct hwi_page_size, live_bytes),
      HWI_COLUMN(struct hwi_page_size, peak_blocks),
      HWI_COLUMN(struct hwi_page_size, peak_bytes),
      HWI_COLUMN(struct hwi_page_size, peak_usable_bytes),
      HWI_COLUMN(struct hwi_page_size, own_peak_blocks),
      HWI_COLUMN(struct hwi_page_size, series_row),
      {NULL, 0},
  };
  static const struct hwi_column bounds[] = {
      HWI_COLUMN(struct hwi_page_size, from), HWI_COLUMN(struct hwi_page_size, to), {NULL, 0}};
  const struct hwi_table_rows rows = {sizes->rows, sizes->row_count, sizeof *sizes->rows};
  const struct hwi_table_rows series = {sizes->series, sizes->series_count, sizeof *sizes->series};
  hwi_json_begin_object(json, "sizes");
  hwi_json_number(json, "count", sizes->row_count);
  hwi_json_packed_columns(json, &rows, columns);
  hwi_json_end_object(json);
  hwi_json_begin_object(json, "size_series");
  hwi_json_plain_columns(json, &series, bounds);
  hwi_json_page_series(json, row_series, sizes->series_count, NULL);
  hwi_json_end_object(json);
}
