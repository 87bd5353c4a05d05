/* broken.c - breaks its heap or crashes in the way that its argument names; prints addresses by name before */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCKS = 20, BYTES = 40, LARGE_BYTES = 3000 };

struct item {
  struct item *next;
  long numbers[4];
};

static char *blocks[BLOCKS];
static void *volatile kept; /* so that no call of malloc is left out */
static const char *volatile words = "words that run over the end of their block, into the next one, and so on";

static char *named(const char *name, char *block)
{
  printf("%s %p\n", name, (void *)block);
  return block;
}

/* Writes text beyond the end of a block, over the size of the next one. */
static void overflow(void)
{
  named("victim", blocks[10]);
  strcpy(named("culprit", blocks[9]), words);
  abort();
}

/* Writes one zero beyond the end: over the flags in the size of the next block, whose size is a multiple of 256. */
static void off_by_one(void)
{
  enum { PAGED = 248 };
  char *block = named("culprit", malloc(PAGED)), *next = named("victim", malloc(PAGED)), *fence = malloc(PAGED);
  memset(block, 'x', PAGED);
  *(volatile char *)(block + PAGED) = 0;
  kept = next, kept = fence;
  abort();
}

__attribute__((noinline)) static long follow(struct item *volatile item)
{
  return item->next->numbers[2];
}

/* The first word of a freed block, which malloc has changed, is followed. */
static void use_after_free(void)
{
  struct item *item = (struct item *)named("freed", malloc(sizeof *item));
  item->next = item;
  free(item);
  _exit((int)follow(item));
}

static void null(void)
{
  static struct item empty;
  _exit((int)follow(&empty));
}

/* A pointer was written over by text. */
static void text_as_pointer(void)
{
  struct item *item = (struct item *)named("item", blocks[3]);
  memcpy(item, "ABCDEFGHIJ", 10);
  _exit((int)follow(item));
}

__attribute__((noinline)) static int deeper(volatile char *above)
{
  volatile char frame[2000];
  frame[0] = above[0];
  return frame[0] + deeper(frame) + frame[1];
}

static void free_in_lists(void)
{
  char *fast[8], *large = malloc(LARGE_BYTES), *small = malloc(LARGE_BYTES / 2), *fence = malloc(BYTES);
  for (int i = 0; i < 8; i++)
    fast[i] = malloc(BYTES);
  for (int i = 0; i < 8; i++)
    free(fast[i]);
  named("tcache", fast[0]);
  named("fast", fast[7]);
  free(named("unsorted", large));
  kept = small, kept = fence;
  abort();
}

/* A larger block is asked for: what is in the unsorted bin is sorted. */
static void sorted(void)
{
  enum { SMALL_BYTES = 500, CACHED = 7 };
  char *large = malloc(LARGE_BYTES), *small[CACHED + 1];
  kept = malloc(BYTES);
  for (int i = 0; i <= CACHED; i++) {
    small[i] = malloc(SMALL_BYTES);
    kept = malloc(BYTES);
  }
  for (int i = 0; i <= CACHED; i++)
    free(small[i]);
  named("small", small[CACHED]);
  free(named("large", large));
  kept = malloc(2 * LARGE_BYTES);
  abort();
}

int main(int count, char **arguments)
{
  const char *way = count > 1 ? arguments[1] : "";
  setvbuf(stdout, NULL, _IONBF, 0);
  for (int i = 0; i < BLOCKS; i++)
    blocks[i] = memset(malloc(BYTES), 0, BYTES);
  if (!strcmp(way, "overflow"))
    overflow();
  if (!strcmp(way, "off-by-one"))
    off_by_one();
  if (!strcmp(way, "use-after-free"))
    use_after_free();
  if (!strcmp(way, "null"))
    null();
  if (!strcmp(way, "text"))
    text_as_pointer();
  if (!strcmp(way, "stack"))
    return deeper(blocks[0]);
  if (!strcmp(way, "lists"))
    free_in_lists();
  if (!strcmp(way, "sorted"))
    sorted();
  return 2;
}
