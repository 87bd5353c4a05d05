/* types_more.c - the part of types.c that defines what the other part only declares */
#include <stddef.h>

struct elsewhere {
  struct elsewhere *next;
  char *text;
  long numbers[3];
};

struct elsewhere *elsewhere;

void make_elsewhere(void *(*make)(size_t bytes, const char *label));

void make_elsewhere(void *(*make)(size_t bytes, const char *label))
{
  elsewhere = make(sizeof *elsewhere, "struct elsewhere|variable elsewhere");
  elsewhere->next = make(sizeof *elsewhere, "struct elsewhere|variable elsewhere");
  elsewhere->next->text = make(10, "char[]|member text of struct elsewhere|variable elsewhere");
}
