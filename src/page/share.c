/* share.c - ranks items by their largest share */
#include "page/share.h"

#include <stdlib.h>

static int compare(const void *left, const void *right)
{
  const struct hwi_ranked *a = left, *b = right;
  if (a->share != b->share)
    return a->share > b->share ? -1 : 1;
  return a->index < b->index ? -1 : a->index > b->index;
}

void hwi_rank(struct hwi_ranked *ranked, size_t count)
{
  if (count > 1)
    qsort(ranked, count, sizeof *ranked, compare);
}
