/* annotated.c - a program with known blocks from known functions, which then ends itself by the signal that its argument
 * names: abort, or nothing
 */
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EACH = 100, THREADS = 4 };

static void *kept[THREADS + 1][EACH * 8];

#define OWNER __attribute__((noinline, noclone))

OWNER static void *by_malloc(size_t size)
{
  void *volatile block = malloc(size);
  return block;
}

OWNER static void *by_calloc(size_t size)
{
  void *volatile block = calloc(2, size);
  return block;
}

OWNER static void *by_realloc(size_t size)
{
  void *volatile block = realloc(by_malloc(10), size);
  return block;
}

OWNER static void *by_aligned(size_t align, size_t size)
{
  void *block = NULL;
  if (posix_memalign(&block, align, size) != 0)
    abort();
  return block;
}

OWNER static void *by_strdup(const char *text)
{
  void *volatile block = strdup(text);
  return block;
}

OWNER static void work(void **to)
{
  for (int i = 0; i < EACH; i++) {
    *to++ = by_malloc(100);
    *to++ = by_calloc(300);
    *to++ = by_realloc(5000);
    *to++ = by_aligned(64 << i % 5, 700);
    *to++ = by_strdup("some text of 24 bytes...");
    *to++ = by_malloc(200000); /* mapped alone */
    free(by_malloc(1000));
    free(by_aligned(4096, 50));
  }
}

static void *run(void *argument)
{
  work(kept[(intptr_t)argument]);
  return NULL;
}

int main(int count, char **arguments)
{
  pthread_t threads[THREADS];
  for (intptr_t i = 0; i < THREADS; i++)
    pthread_create(&threads[i], NULL, run, (void *)i);
  work(kept[THREADS]);
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  for (int t = 0; t <= THREADS; t++)
    for (int i = 0; i < EACH * 6; i++)
      if (((uintptr_t)kept[t][i] & 15) || malloc_usable_size(kept[t][i]) < 25)
        return 1;
  if (count > 1 && !strcmp(arguments[1], "overflow")) {
    memset((char *)kept[THREADS][0] + 100, 'x', 20); /* of the block, 4 bytes of the next header, or of a red zone */
  }
  if (count > 1 && !strcmp(arguments[1], "twice")) {
    free(kept[0][0]);
    free(kept[0][0]);
  }
  if (count > 1 && !strcmp(arguments[1], "late")) {
    free(kept[0][0]);
    ((char *)kept[0][0])[50] = 'x';
  }
  if (count > 1)
    abort();
  return 0;
}
