/* annotated.c - a program with known blocks from known functions. Its argument is what it then does wrong; without one it ends
 * normally.
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

/* What is wrong is to be found at once, or after the program's end. `block` has 100 bytes. */
static int misuse(const char *what, char *block)
{
  if (!strcmp(what, "overflow"))
    memset(block + 100, 'x', 20);
  if (!strcmp(what, "lose"))
    for (int i = 1; i < EACH * 6; i += 6) /* those of by_calloc */
      kept[THREADS][i] = NULL;
  if (!strcmp(what, "overflow-header"))
    memset(block + 112, 'x', 4); /* the first bytes of the next block's header: past the end of glibc's chunk */
  if (!strcmp(what, "overflow-free")) {
    memset(block + 100, 'x', 20);
    free(block);
  }
  if (!strcmp(what, "overflow-exit"))
    block[103] = 'x';
  if (!strncmp(what, "late", 4)) {
    free(block);
    block[50] = 'x';
  }
  if (!strcmp(what, "twice")) {
    free(block);
    free(block);
  }
  if (!strstr(what, "-exit"))
    abort();
  return 0;
}

/* Allocates and frees until it is killed. */
static void *churn(void *argument)
{
  unsigned seed = (unsigned)(intptr_t)argument;
  void *own[100] = {NULL};
  for (;;) {
    void **block = &own[rand_r(&seed) % 100];
    if (rand_r(&seed) & 1) {
      free(*block);
      *block = by_malloc(1 + rand_r(&seed) % 3000);
    } else {
      *block = realloc(*block, 1 + rand_r(&seed) % 3000);
    }
  }
  return NULL;
}

int main(int count, char **arguments)
{
  pthread_t threads[THREADS];
  if (count > 1 && !strcmp(arguments[1], "churn")) {
    for (intptr_t i = 0; i < THREADS; i++)
      pthread_create(&threads[i], NULL, churn, (void *)i);
    puts("ready");
    fflush(stdout);
    churn(NULL);
  }
  for (intptr_t i = 0; i < THREADS; i++)
    pthread_create(&threads[i], NULL, run, (void *)i);
  work(kept[THREADS]);
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  for (int t = 0; t <= THREADS; t++)
    for (int i = 0; i < EACH * 6; i++)
      if (((uintptr_t)kept[t][i] & 15) || malloc_usable_size(kept[t][i]) < 25)
        return 1;
  return count > 1 ? misuse(arguments[1], kept[THREADS][0]) : 0;
}
