/* early.c - uses and frees a block that was allocated before the preloaded library was relocated */
#include <stdio.h>
#include <stdlib.h>

#include "entries_marks.h"

int early_seven(void);
void *early_block(void);

int main(void)
{
  void *volatile block = early_block();
  MARKED(block = realloc(block, 100); free(block));
  printf("%d %d\n", early_seven(), block != NULL);
  return 0;
}
