/* early_malloc.c - a program whose own malloc cannot serve before main, like some Lisp images: a call then ends the
 * process */
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

static int may_serve;
static char room[1 << 20];
static size_t used;

static void check(void)
{
  if (!may_serve)
    _exit(99);
}

void *malloc(size_t size)
{
  check();
  used = (used + 15) & ~(size_t)15;
  if (size > sizeof room - used)
    return NULL;
  used += size;
  return room + used - size;
}

void free(void *block)
{
  (void)block;
  check();
}

void *calloc(size_t count, size_t size)
{
  return malloc(count * size); /* never reused, so still zero */
}

void *realloc(void *old, size_t size)
{
  (void)old;
  return malloc(size);
}

int main(void)
{
  may_serve = 1;
  printf("served\n");
  fflush(stdout);
  may_serve = 0; /* nor after main */
  _exit(3);
}
