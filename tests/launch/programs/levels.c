/* levels.c - holds as many MiB as each line of its standard input says, and answers with a line
 *
 * "exit N": as before, but it ends at once then. At the end of its input it frees all and ends.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MIB = 1 << 20, BLOCKS_MAX = 4096 };
static char *blocks[BLOCKS_MAX];

int main(void)
{
  static char line[64];
  static char buffer[BUFSIZ];
  long held = 0;
  setvbuf(stdin, buffer, _IOFBF, sizeof buffer);
  setvbuf(stdout, NULL, _IONBF, 0);
  mallopt(M_MMAP_THRESHOLD, MIB / 2); /* a block is given back when it is freed */
  while (fgets(line, sizeof line, stdin)) {
    const int ends = strncmp(line, "exit ", 5) == 0;
    const long wanted = strtol(line + (ends ? 5 : 0), NULL, 10);
    for (; held < wanted && held < BLOCKS_MAX; held++) {
      blocks[held] = malloc(MIB);
      memset(blocks[held], 1, MIB);
    }
    for (; held > wanted; held--)
      free(blocks[held - 1]);
    if (ends)
      return 0;
    puts("done");
  }
  while (held > 0)
    free(blocks[--held]);
  return 0;
}
