/* user.c - heapwright-conform-user.so: a plug-in that uses the heap when it is loaded, used and unloaded */
#include <stdlib.h>
#include <string.h>

char *hwi_conform_give(void);

static char *kept;

__attribute__((constructor)) static void load(void)
{
  kept = malloc(5000);
  if (kept)
    memset(kept, 'k', 5000);
}

char *hwi_conform_give(void)
{
  return kept && kept[4999] == 'k' ? strdup("given") : NULL;
}

__attribute__((destructor)) static void unload(void)
{
  free(kept);
}
