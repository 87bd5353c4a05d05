/* types.c - makes blocks of many types that variables lead to, prints how many of each, and waits
 *
 * Each line is a count, and what heapwright should say of the blocks: the type, and the variables or members that lead there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct person {
  char *name;
  int age;
  struct person *next;
  void *data;
};
struct tree {
  struct tree *left, *right;
  int key;
};
typedef struct {
  double x, y, z;
} point;
struct slot {
  const char *key;
  struct tree *value;
};
struct packet {
  int type;
  struct slot slots[];
};
union number {
  double *reals;
  long integer;
};
union ambiguous {
  struct tree *tree;
  struct person *person;
};
struct config {
  struct {
    char *path;
  } inner;
  int (*callback)(void);
  const volatile point *origin;
  struct person **guests;
};
struct head { /* the first part of larger blocks */
  int kind;
  struct tree *tree;
};
struct line {
  struct head head;
  char *text;
  long more[5];
};
struct link { /* in the middle of nothing: records begin with it */
  struct link *next;
};
struct chained {
  struct link link;
  char *secret;
  long more[9];
};
struct opaque;
struct elsewhere; /* defined in types_more.c */

struct person *people;
struct tree *root;
point *points;
struct slot *table;
struct packet *packet;
struct opaque *hidden;
extern struct elsewhere *elsewhere;
union number number;
union ambiguous ambiguous;
struct config config;
struct head *heads[3];
struct link chain;
void *anything;
char **words;
static __thread struct tree *of_thread __attribute__((used));
static __thread long other __attribute__((used)) = 3;
static struct person *matrix[4][5] __attribute__((used));

extern void make_elsewhere(void *(*make)(size_t bytes, const char *label));

/* --- the counts --- */

enum { LABELS = 64 };
static struct {
  const char *text;
  int count;
} labels[LABELS];

static void *make(size_t bytes, const char *label)
{
  int i = 0;
  while (labels[i].text && strcmp(labels[i].text, label) != 0)
    i++;
  labels[i].text = label;
  labels[i].count++;
  return calloc(1, bytes);
}

static char *make_text(const char *text, const char *label)
{
  char *copy = make(strlen(text) + 1, label);
  return strcpy(copy, text);
}

/* --- the blocks --- */

static struct person *make_person(int age, const char *label)
{
  struct person *person = make(sizeof *person, label);
  person->age = age;
  return person;
}

static struct tree *make_tree(int depth, const char *label)
{
  if (depth == 0)
    return NULL;
  struct tree *tree = make(sizeof *tree, label);
  tree->left = make_tree(depth - 1, label);
  tree->right = make_tree(depth - 1, label);
  return tree;
}

static void make_lists(void)
{
  for (int i = 0; i < 1000; i++) {
    struct person *person = make_person(i, "struct person|variable people");
    person->name =
        make_text("a person with a name of some length", "char[]|member name of struct person|variable people");
    if (i % 3 == 0)
      person->data = make(100, "type unknown, 104 bytes|member data of struct person|variable people");
    person->next = people;
    people = person;
  }
  root = make_tree(9, "struct tree|variable root");
  for (struct chained *at, *before = NULL, *i = NULL; (char *)i < (char *)NULL + 10;
       i = (void *)((char *)i + 1), before = at) {
    at = make(sizeof *at, "struct link and more|member next of struct link|variable chain");
    at->secret = make_text("nothing with a type leads here", "type unknown, 40 bytes");
    *(before ? &before->link.next : &chain.next) = &at->link;
  }
}

static void make_arrays(void)
{
  points = make(50 * sizeof *points, "point[]|variable points");
  table = make(64 * sizeof *table, "struct slot[]|variable table");
  for (int i = 0; i < 64; i += 2) {
    table[i].key = make_text("a key", "char[]|member key of struct slot|variable table");
    table[i].value = make_tree(2, "struct tree|variable table");
  }
  packet = make(sizeof *packet + 20 * sizeof packet->slots[0], "struct packet|variable packet");
  for (int i = 0; i < 20; i++)
    packet->slots[i].value = make_tree(1, "struct tree|variable packet");
  words = make(100 * sizeof *words, "char *[]|variable words");
  for (int i = 0; i < 90; i++)
    words[i] = make_text("word", "char[]|variable words");
  for (int i = 0; i < 4; i++)
    for (int k = 0; k < 5; k++)
      matrix[i][k] = make_person(i * k, "struct person|variable matrix");
}

static void make_others(void)
{
  static struct person *once __attribute__((used)); /* a variable in a function */
  once = make_person(1, "struct person|variable once");
  once->data = once;
  hidden = make(40, "type unknown, 40 bytes|variable hidden");
  number.reals = make(80 * sizeof *number.reals, "double[]|member reals of union number|variable number");
  ambiguous.person = make_person(2, "type unknown, 40 bytes");
  anything = make(200, "type unknown, 200 bytes|variable anything");
  config.inner.path = make_text("/etc/program", "char[]|member inner of struct config|variable config");
  config.origin = make(sizeof *config.origin, "point|variable config");
  config.guests = make(8 * sizeof *config.guests, "struct person *[]|member guests of struct config|variable config");
  for (int i = 0; i < 8; i++)
    config.guests[i] = make_person(i, "struct person|variable config");
  for (int i = 0; i < 3; i++) {
    struct line *line = make(sizeof *line, "struct head and more|variable heads");
    line->head.tree = make_tree(1, "struct tree|variable heads");
    line->text = make_text("also not known", "type unknown, 24 bytes");
    heads[i] = &line->head;
  }
#ifndef WITHOUT_LOCAL
  of_thread = make_tree(3, "struct tree|variable of_thread");
#endif
  make_elsewhere(make);
}

int main(void)
{
  make_lists();
  make_arrays();
  make_others();
  setvbuf(stdout, NULL, _IONBF, 0);
  for (int i = 0; labels[i].text; i++)
    printf("%d %s\n", labels[i].count, labels[i].text);
  puts("ready");
  pause();
  return 0;
}
