/* same_counts.c - compares the counts of single traces with a full replay */
#include "same_counts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

void assert_counts_are(const struct hwi_counts *counts, const struct hwi_totals *totals)
{
  assert_int_equal(counts->allocation_calls, totals->allocation_calls);
  assert_int_equal(counts->free_calls, totals->free_calls);
  assert_int_equal(counts->failed_calls, totals->failed_calls);
  assert_int_equal(counts->temporary_calls, totals->temporary_calls);
  assert_int_equal(counts->allocated_bytes, totals->allocated_bytes);
  assert_int_equal(counts->peak_bytes, totals->peak_bytes);
  assert_int_equal(counts->peak_blocks, totals->peak_blocks);
  assert_int_equal(counts->live_blocks, totals->live_blocks_at_end);
  assert_int_equal(counts->live_bytes, totals->live_bytes_at_end);
  assert_int_equal(counts->unknown_frees, totals->unmatched_frees + totals->frees_of_silent_blocks);
  assert_int_equal(counts->missed_frees, totals->missed_frees);
  assert_int_equal(counts->inherited_frees, totals->inherited_frees);
}

void assert_same_counts(const struct hwi_profile *full)
{
  for (uint32_t i = 0; i < full->image_count; i++) {
    struct hwi_counts counts;
    struct hwi_error error;
    if (!full->images[i].counted)
      continue;
    assert_int_equal(hwi_count_trace(&counts, full->images[i].info->path, &error), 0);
    assert_counts_are(&counts, &full->images[i].totals);
  }
}
