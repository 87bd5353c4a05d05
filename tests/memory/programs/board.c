/* board.c - a pool as a board has it: writes its memory to a file, and lists its blocks
 *
 *   board FILE    Prints "BASE", then "ADDRESS USABLE STATE" for each block.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "heapwright/pool.h"

enum { BYTES = 100000, BLOCKS = 300 };

static _Alignas(16) char memory[BYTES + 64];

static bool print(void *context, void *block, size_t bytes, bool is_used)
{
  (void)context;
  printf("%#jx %zu %s\n", (uintmax_t)(uintptr_t)block, bytes, is_used ? "live" : "free");
  return true;
}

int main(int count, char **words)
{
  void *blocks[BLOCKS];
  struct hw_pool *pool = hw_pool_init(memory + 24, BYTES, 0);
  for (unsigned i = 0; i < BLOCKS; i++)
    blocks[i] = hw_pool_alloc(pool, i * 7 % 500);
  for (unsigned i = 0; i < BLOCKS; i += 3)
    hw_pool_free(pool, blocks[i]);
  printf("%#jx\n", (uintmax_t)(uintptr_t)memory);
  hw_pool_walk(pool, print, NULL);
  FILE *file = count == 2 ? fopen(words[1], "w") : NULL;
  return !file || fwrite(memory, sizeof memory, 1, file) != 1 || fclose(file);
}
