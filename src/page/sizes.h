/* sizes.h - the block sizes with their own rows in a document, and the classes of all other sizes
 *
 * row        one size, or the sum of all sizes of a class without their own row.
 * series row a row that is followed over time: a size that holds most, or the rest of a class.
 */
#ifndef HWI_PAGE_SIZES_H
#define HWI_PAGE_SIZES_H

#include "page/row_series.h"
#include "profile/profile.h"
#include "trace/numbering.h"

/* All members are uint64_t, since they are columns of a table. */
struct hwi_page_size {
  uint64_t from, to; /* equal for one size; else the range of `cut` sizes without their own row */
  uint64_t cut;
  uint64_t calls, bytes, temporary_calls;
  uint64_t live_blocks, live_bytes, peak_blocks, peak_bytes, peak_usable_bytes, own_peak_blocks;
  uint64_t series_row;
};

struct hwi_page_sizes {
  struct hwi_page_size *rows;
  uint32_t row_count;
  struct hwi_numbering followed;         /* by size with its own series: the series row, plus 1 */
  uint32_t class_rows[HWI_SIZE_CLASSES]; /* series rows of the rest of each class; UINT32_MAX: none */
  struct hwi_page_size *series;          /* the sums of each series row */
  uint32_t series_count;
};

/* Returns false if there is no memory. Release `sizes` even after a failure. */
bool hwi_page_sizes_init(struct hwi_page_sizes *sizes, const struct hwi_profile *profile);
void hwi_page_sizes_release(struct hwi_page_sizes *sizes);

/* Returns the series row of a size, which must exist in the profile. */
static inline uint32_t hwi_page_sizes_row(const struct hwi_page_sizes *sizes, uint64_t size)
{
  uint32_t number = hwi_numbering_find(&sizes->followed, size, 0);
  return number ? number - 1 : sizes->class_rows[hwi_size_class(size)];
}

/* Writes "sizes" and "size_series" into the current object. */
void hwi_json_page_sizes(struct hwi_json *json, const struct hwi_page_sizes *sizes,
                         const struct hwi_page_series *row_series);

#endif
