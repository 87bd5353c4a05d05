/* handover_matrix.c - who frees what others allocated */
#define _GNU_SOURCE
#include "report/content/handover_matrix.h"

#include <stdlib.h>
#include <string.h>

static int compare_blocks(const void *left, const void *right, void *context)
{
  const uint64_t *blocks = context;
  uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
  if (blocks[a] != blocks[b])
    return blocks[a] > blocks[b] ? -1 : 1;
  return a < b ? -1 : a > b;
}

/* Chooses the threads with the most blocks, at most `max`. `order` has room for all threads. Returns how many
 * threads have any blocks. */
static uint32_t choose(uint32_t *chosen, uint32_t max, const uint64_t *blocks, uint32_t *order, uint32_t threads)
{
  uint32_t count = 0;
  for (uint32_t i = 0; i < threads; i++) {
    if (blocks[i] > 0)
      order[count++] = i;
  }
  qsort_r(order, count, sizeof *order, compare_blocks, (void *)blocks);
  memcpy(chosen, order, (count < max ? count : max) * sizeof *order);
  return count;
}

static uint32_t place_of(const uint32_t *chosen, uint32_t count, uint32_t thread)
{
  uint32_t place = 0;
  while (place < count && chosen[place] != thread)
    place++;
  return place;
}

static void add(struct hwi_handover_sum *sum, const struct hwi_handover *pair)
{
  sum->blocks += pair->blocks;
  sum->bytes += pair->bytes;
}

bool hwi_handover_matrix_init(struct hwi_handover_matrix *matrix, const struct hwi_profile *profile,
                              uint32_t freers_max)
{
  uint32_t threads = profile->thread_count;
  *matrix = (struct hwi_handover_matrix){0};
  uint64_t *given = calloc((size_t)threads + 1, sizeof *given), *taken = calloc((size_t)threads + 1, sizeof *taken);
  uint32_t *order = calloc((size_t)threads + 1, sizeof *order);
  bool done = given && taken && order;
  for (uint32_t i = 0; i < profile->handover_count && done; i++) {
    given[profile->handovers[i].owner] += profile->handovers[i].blocks;
    taken[profile->handovers[i].freer] += profile->handovers[i].blocks;
  }
  if (done) {
    freers_max = freers_max < HWI_MATRIX_MAX ? freers_max : HWI_MATRIX_MAX;
    matrix->all_owners = choose(matrix->owners, HWI_MATRIX_MAX, given, order, threads);
    matrix->all_freers = choose(matrix->freers, freers_max, taken, order, threads);
    matrix->owner_count = matrix->all_owners < HWI_MATRIX_MAX ? matrix->all_owners : HWI_MATRIX_MAX;
    matrix->freer_count = matrix->all_freers < freers_max ? matrix->all_freers : freers_max;
  }
  for (uint32_t i = 0; i < profile->handover_count && done; i++) {
    const struct hwi_handover *pair = &profile->handovers[i];
    uint32_t row = place_of(matrix->owners, matrix->owner_count, pair->owner);
    add(&matrix->cells[row][place_of(matrix->freers, matrix->freer_count, pair->freer)], pair);
    add(&matrix->of_owner[row], pair);
    add(&matrix->all, pair);
  }
  free(given);
  free(taken);
  free(order);
  return done;
}
