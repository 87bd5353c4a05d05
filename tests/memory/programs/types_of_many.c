/* types_of_many.c - so many blocks are at one distance from the variables that they are read in the order of their addresses: it prints
 * the types that they have in the order of the pointers, and waits
 *
 * The blocks of each list are allocated forwards in its first half, and backwards in its second half.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { COUNT = 3000, TARGET_BYTES = 104 };

/* They link to each other, so that larger blocks only begin with them. */
struct one {
  struct one *next;
};

struct two {
  struct two *next;
};

/* Two blocks refer to each target: what the first one of the list says remains. */
struct holder {
  struct one *first;
  struct two *second;
};

struct leaf {
  struct one *first;
  struct two *second;
};

/* The same, of blocks to which others lead: the order is that of those. */
struct middle {
  struct leaf *leaf;
};

/* Those of `owners` say that a block of `parts`, at the same distance, is more than that: then it is read as what it is. */
struct base {
  struct one *target;
  struct base *link;
};

struct whole {
  struct two *target;
  struct base *link;
  char more[64];
};

struct owner {
  struct whole *whole;
};

struct holder *holders[COUNT];
struct middle *middles[COUNT];
struct owner *owners[COUNT];
struct base *parts[COUNT];

/* Returns the place in a list of the block that is allocated next. */
static int place(int i)
{
  return i < COUNT / 2 ? i : COUNT - 1 - (i - COUNT / 2);
}

static void make_holders(void)
{
  for (int i = 0; i < COUNT; i++)
    holders[place(i)] = calloc(1, sizeof(struct holder));
  for (int i = 0; i < COUNT; i += 2) {
    void *target = calloc(1, TARGET_BYTES);
    holders[i]->first = target;
    holders[i + 1]->second = target;
  }
  printf("%d struct holder|variable holders\n", COUNT);
  printf("%d struct one and more|member first of struct holder|variable holders\n", COUNT / 2);
}

static void make_middles(void)
{
  struct leaf *leaves[COUNT];
  for (int i = 0; i < COUNT; i++)
    leaves[place(i)] = calloc(1, sizeof(struct leaf));
  for (int i = 0; i < COUNT; i++) {
    middles[i] = calloc(1, sizeof(struct middle));
    middles[i]->leaf = leaves[i];
  }
  for (int i = 0; i < COUNT; i += 2) {
    void *target = calloc(1, TARGET_BYTES);
    leaves[i]->first = target;
    leaves[i + 1]->second = target;
  }
  printf("%d struct middle|variable middles\n", COUNT);
  printf("%d struct leaf|variable middles\n", COUNT);
  printf("%d struct one and more|member first of struct leaf|variable middles\n", COUNT / 2);
}

static void make_owners(void)
{
  for (int i = 0; i < COUNT; i++) {
    struct whole *whole = calloc(1, sizeof(struct whole));
    owners[i] = calloc(1, sizeof(struct owner));
    owners[i]->whole = whole;
    parts[i] = (struct base *)whole;
    whole->target = calloc(1, TARGET_BYTES);
  }
  printf("%d struct owner|variable owners\n", COUNT);
  printf("%d struct whole|variable owners\n", COUNT);
  printf("%d struct two and more|member target of struct whole|variable owners\n", COUNT);
}

int main(void)
{
  setvbuf(stdout, NULL, _IONBF, 0);
  make_holders();
  make_middles();
  make_owners();
  puts("ready");
  pause();
  return 0;
}
