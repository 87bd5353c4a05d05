/* early_library.c - code that allocates while the loader is still relocating, before the preloaded library is
 * relocated */
#include <stdlib.h>

static void *early;

static int seven(void)
{
  return 7;
}

static void *choose(void)
{
  early = malloc(10);
  free(malloc(20));
  return seven;
}

int early_seven(void) __attribute__((ifunc("choose")));
void *early_block(void);

void *early_block(void)
{
  return early;
}
