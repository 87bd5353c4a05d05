/* heap_subject.c - a program for the heap of a process, whose figures a test knows: its first argument selects what it does */
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LEAKED = 7, LEAKED_BYTES = 5000, MIB = 1 << 20, BLOCKS = 2000, BYTES = 30000 };

static long resident_mib(void)
{
  long all, resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file || fscanf(file, "%ld %ld", &all, &resident) != 2)
    return -1;
  fclose(file);
  return resident * 4096 / MIB;
}

/* Seven blocks are not freed, one is freed twice, and the program leaves its folder and all its descriptors. */
static void leak(void)
{
  for (int i = 0; i < LEAKED; i++)
    memset(malloc(LEAKED_BYTES), 1, LEAKED_BYTES);
  void *volatile block = malloc(100);
  free(block);
  free(block);
  printf("done\n");
  fflush(stdout);
  if (chdir("/") != 0)
    exit(1);
  for (int fd = 0; fd < 1024; fd++)
    close(fd);
}

/* Prints what malloc_trim returns, and how much memory went back. */
static void trim(void)
{
  static void *blocks[BLOCKS];
  for (int i = 0; i < BLOCKS; i++)
    memset(blocks[i] = malloc(BYTES), 1, BYTES);
  for (int i = 0; i < BLOCKS; i++)
    free(blocks[i]);
  long before = resident_mib();
  int first = malloc_trim(0), second = malloc_trim(0);
  long back = before - resident_mib();
  printf("trim: %d, %d; back: %s\n", first, second, back >= (long)BLOCKS * BYTES / 2 / MIB ? "much" : "little");
  struct mallinfo2 info = mallinfo2();
  printf("mallinfo: %s\n",
         info.arena >= info.uordblks && info.arena == info.uordblks + info.fordblks ? "right" : "wrong");
  printf("mallopt: %d\n", mallopt(M_TRIM_THRESHOLD, MIB));
  malloc_info(0, stdout);
}

/* Prints whether requests that are too large for any machine fail, and how much of what was free went back because of them. */
static void impossible(void)
{
  static void *blocks[BLOCKS];
  static const size_t sizes[] = {SIZE_MAX, SIZE_MAX / 2 + 2, SIZE_MAX / 2 - 100, SIZE_MAX / 8};
  int failed = 0;
  for (int i = 0; i < BLOCKS; i++)
    memset(blocks[i] = malloc(BYTES), 1, BYTES);
  for (int i = 0; i < BLOCKS; i++)
    free(blocks[i]);
  long before = resident_mib();
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    volatile size_t bytes = sizes[i];
    errno = 0;
    failed += !malloc(bytes) && errno == ENOMEM && !calloc(1, bytes) && !realloc(blocks[0] = malloc(9), bytes);
  }
  printf("failed: %d; back: %s\n", failed, before - resident_mib() > 2 ? "much" : "nothing");
}

/* For a checker of memory: a leak, and a write past the end. */
static void err(void)
{
  static char *volatile lost;
  lost = malloc(123);
  lost = NULL;
  char *volatile block = calloc(1, 77);
  block[77] = 1;
  free(block);
}

int main(int argc, char **argv)
{
  const char *what = argc > 1 ? argv[1] : "";
  if (!strcmp(what, "leak"))
    leak();
  else if (!strcmp(what, "trim"))
    trim();
  else if (!strcmp(what, "impossible"))
    impossible();
  else if (!strcmp(what, "err"))
    err();
  else if (!strcmp(what, "stats") && malloc(2000))
    malloc_stats();
  else if (!strcmp(what, "quick") || (!strcmp(what, "quick-stats") && at_quick_exit(malloc_stats) == 0))
    quick_exit(malloc(2000) ? 3 : 4);
  else
    printf("%zu\n", malloc_usable_size(malloc(24)));
  return 0;
}
