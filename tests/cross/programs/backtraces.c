/* backtraces.c - allocates from frames of many forms, and prints for each the size and what glibc's backtrace() finds there */
#include <alloca.h>
#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __clang__
#define FRAME __attribute__((noinline))
#else
#define FRAME __attribute__((noinline, noclone))
#endif

enum { DEPTH = 100, OWN_FRAMES = 1, SHAPES = 10, FIRST_SIZE = 5000, LINE_BYTES = 2000 };

static char lines[LINE_BYTES * 4 * SHAPES];
static size_t line_bytes, next_size = FIRST_SIZE;
static void *volatile kept;
static int may_take;

/* The first address is left out: it is another one than in the stack of the block. */
FRAME static void take(void)
{
  void *frames[DEPTH];
  kept = malloc(next_size);
  const int count = backtrace(frames, DEPTH);
  free(kept);
  line_bytes += (size_t)sprintf(lines + line_bytes, "%zu", next_size++);
  for (int i = OWN_FRAMES; i < count; i++)
    line_bytes += (size_t)sprintf(lines + line_bytes, " %lx", (unsigned long)frames[i]);
  lines[line_bytes++] = '\n';
}

FRAME static double with_doubles(double a, double b, double c)
{
  double d = a * b, e = b * c, f = a * c;
  take();
  __asm__ volatile("" : "+w"(d), "+w"(e), "+w"(f));
  return a + b + c + d + e + f;
}

FRAME static void with_arguments(int count, ...)
{
  __builtin_va_list arguments;
  __builtin_va_start(arguments, count);
  take();
  kept = &arguments;
  __builtin_va_end(arguments);
}

FRAME static void with_alloca(size_t bytes)
{
  volatile char *room = alloca(bytes);
  room[0] = 1;
  take();
  room[bytes - 1] = room[0];
}

FRAME static void with_room(int bytes)
{
  switch (bytes) {
  case 300: {
    volatile char room[300];
    room[0] = 1;
    take();
    room[1] = room[0];
    break;
  }
  default: {
    volatile char room[9000];
    room[0] = 1;
    take();
    room[1] = room[0];
  }
  }
}

FRAME static long with_registers(long a, long b, long c, long d)
{
  long e = a * b, f = b * c, g = c * d, h = a * d;
  take();
  __asm__ volatile("" : "+r"(e), "+r"(f), "+r"(g), "+r"(h));
  return a + b + c + d + e + f + g + h;
}

static int compare(const void *a, const void *b)
{
  if (may_take) {
    may_take = 0;
    take();
  }
  return *(const int *)a - *(const int *)b;
}

FRAME static void recursive(int depth)
{
  if (depth)
    recursive(depth - 1);
  else
    take();
  __asm__ volatile("" : : : "memory");
}

FRAME static void shape(int which)
{
  int pair[] = {2, 1};
  may_take = 1;
  switch (which) {
  case 0:
    take();
    break;
  case 1:
    with_doubles(1, 2, 3);
    break;
  case 2:
    with_arguments(3, 1, 2, 3);
    break;
  case 3:
    with_alloca(100 + (size_t)which);
    break;
  case 4:
    with_room(300);
    break;
  case 5:
    with_room(9000);
    break;
  case 6:
    with_registers(1, 2, 3, 4);
    break;
  case 7:
    qsort(pair, 2, sizeof *pair, compare);
    break;
  case 8:
    recursive(30);
    break;
  default:
    bsearch(pair, pair, 1, sizeof *pair, compare);
  }
  __asm__ volatile("" : : : "memory");
}

int main(void)
{
  void *first[2];
  backtrace(first, 2); /* loads libgcc */
  for (volatile int call = 0; call < 4 * SHAPES; call++)
    shape(call / 4);
  return fwrite(lines, 1, line_bytes, stdout) != line_bytes;
}
