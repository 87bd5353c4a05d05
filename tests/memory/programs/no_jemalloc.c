/* no_jemalloc.c - for the tests: under the name of jemalloc, the functions by which redis calls it, without an allocator
 *
 * redis then uses glibc's malloc. It asks for arenas and for statistics, and ends if it gets none: all of them are 0.
 */
#include <stdlib.h>
#include <string.h>

int mallctl(const char *name, void *value, size_t *bytes, void *new_value, size_t new_bytes)
{
  (void)name;
  (void)new_value;
  (void)new_bytes;
  if (value)
    memset(value, 0, *bytes);
  return 0;
}

void malloc_stats_print(void (*write)(void *, const char *), void *context, const char *options)
{
  (void)write;
  (void)context;
  (void)options;
}

size_t nallocx(size_t bytes, int flags)
{
  (void)flags;
  return bytes;
}

void *mallocx(size_t bytes, int flags)
{
  (void)flags;
  return malloc(bytes);
}

void *rallocx(void *block, size_t bytes, int flags)
{
  (void)flags;
  return realloc(block, bytes);
}

void dallocx(void *block, int flags)
{
  (void)flags;
  free(block);
}

void sdallocx(void *block, size_t bytes, int flags)
{
  (void)bytes;
  (void)flags;
  free(block);
}
