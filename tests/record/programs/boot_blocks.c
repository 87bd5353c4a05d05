/* boot_blocks.c - uses blocks that were allocated before libc was ready in every way in which a program may use a block
 *
 * The blocks come from the preloaded library, like those that the loader gets while the real malloc is looked up.
 */
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "entries_marks.h"

enum { MANY = 100, LARGE = 40000 };

int main(void)
{
  char *block = entries_boot_block(30), *old = entries_boot_block(10), *kept, *aside = entries_boot_block(20);
  strcpy(old, "boot");
  strcpy(aside, "array");
  printf("usable %zu\n", malloc_usable_size(block));
  void *large[MANY];
  for (int i = 0; i < MANY; i++) {
    large[i] = entries_boot_block(LARGE);
    if (!large[i] || (uintptr_t)large[i] % 16)
      return 1;
    memset(large[i], i, LARGE);
  }
  MARKED(free(block); free(large[MANY - 1]); kept = realloc(old, 100));
  printf("moved %s\n", kept);
  MARKED(free(kept); kept = reallocarray(aside, 7, 9));
  printf("moved %s\n", kept);
  MARKED(free(kept); kept = realloc(large[0], 0));
  printf("gone %d, neighbour %d\n", kept == NULL, *(char *)large[1]);
  return 0;
}
