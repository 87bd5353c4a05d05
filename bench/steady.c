/* steady.c - a steady rate of events: frees and allocates random ones of 1,000 blocks
 *
 * steady PAIRS_PER_S
 */
#include <stdlib.h>
#include <unistd.h>

enum { BLOCKS = 1000, SLEEP_US = 8000, US_PER_S = 1000000 };

static void *blocks[BLOCKS];

static unsigned next(unsigned *random)
{
  *random = *random * 1103515245 + 12345;
  return *random >> 8;
}

int main(int count, char **words)
{
  if (count != 2)
    return EXIT_FAILURE;
  const long pairs = strtol(words[1], NULL, 10) / (US_PER_S / SLEEP_US);
  for (unsigned random = 1;; usleep(SLEEP_US))
    for (long i = 0; i < pairs; i++) {
      void **block = &blocks[next(&random) % BLOCKS];
      free(*block);
      *block = malloc(16 + next(&random) % 500);
    }
}
