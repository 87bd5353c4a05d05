/* sizes.h - the block sizes that a document shows each by itself, and the others by classes
 *
 * row        of one size, or the sum of all of a class that have none.
 * series row what is followed along time: sizes that hold most, and of each class the rest.
 */
#ifndef HWI_PAGE_SIZES_H
#define HWI_PAGE_SIZES_H

#include "page/row_series.h"
#include "profile/blocks/numbering.h"
#include "profile/profile.h"

/* uint64_t throughout, for they are columns of a table. */
struct hwi_page_size {
  uint64_t from, to; /* the same: one size; else those of `cut` sizes between these that have no row */
  uint64_t cut;
  uint64_t calls, bytes, temporary_calls;
  uint64_t live_blocks, live_bytes, peak_blocks, peak_bytes, peak_usable_bytes, own_peak_blocks;
  uint64_t series_row;
};

struct hwi_page_sizes {
  struct hwi_page_size *rows;
  uint32_t row_count;
  struct hwi_numbering followed;         /* sizes with a series of their own: its row */
  uint32_t class_rows[HWI_SIZE_CLASSES]; /* the series rows of the rest; UINT32_MAX: there is none */
  struct hwi_page_size *series;          /* what they are sums of */
  uint32_t series_count;
};

/* False: no memory. To be released, even after a failure. */
bool hwi_page_sizes_init(struct hwi_page_sizes *sizes, const struct hwi_profile *profile);
void hwi_page_sizes_release(struct hwi_page_sizes *sizes);

/* The series row of blocks of that size, which the profile has. */
static inline uint32_t hwi_page_sizes_row(const struct hwi_page_sizes *sizes, uint64_t size)
{
  uint32_t row = hwi_numbering_find(&sizes->followed, size);
  return row != UINT32_MAX ? row : sizes->class_rows[hwi_size_class(size)];
}

/* "sizes" and "size_series" into the object begun last. */
void hwi_json_page_sizes(struct hwi_json *json, const struct hwi_page_sizes *sizes,
                         const struct hwi_page_series *ledger);

#endif
