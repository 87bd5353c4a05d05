/* handover_matrix.h - who frees what others allocated, as a matrix of the threads that do most of it
 *
 * row        an owner: the thread that allocated.
 * column     a thread that freed.
 * rest       the last row and column, if there are more threads than the matrix has places: all others together.
 */
#ifndef HWI_REPORT_CONTENT_HANDOVER_MATRIX_H
#define HWI_REPORT_CONTENT_HANDOVER_MATRIX_H

#include "report/report.h"

enum { HWI_MATRIX_MAX = 10 };

struct hwi_handover_sum {
  uint64_t blocks, bytes;
};

struct hwi_handover_matrix {
  uint32_t owners[HWI_MATRIX_MAX], freers[HWI_MATRIX_MAX]; /* threads of the profile, the most blocks first */
  uint32_t owner_count, freer_count;                       /* shown */
  uint32_t all_owners, all_freers;
  struct hwi_handover_sum cells[HWI_MATRIX_MAX + 1]
                               [HWI_MATRIX_MAX + 1];    /* [owner][freer]; the rest after those shown */
  struct hwi_handover_sum of_owner[HWI_MATRIX_MAX + 1]; /* by all freers */
  struct hwi_handover_sum all;
};

/* With at most `freers_max` columns, up to HWI_MATRIX_MAX. False: no memory. */
bool hwi_handover_matrix_init(struct hwi_handover_matrix *matrix, const struct hwi_profile *profile,
                              uint32_t freers_max);

#endif
