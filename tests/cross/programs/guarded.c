/* guarded.c - prints whether the code of own_allocator.c is guarded against calls by address to what has no landing pad */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>

void *je_malloc(size_t size);
void je_free(void *block);
void je_no_pad(void);

static sigjmp_buf before;

static void leave(int number)
{
  siglongjmp(before, number);
}

int main(void)
{
  void (*volatile function)(void) = je_no_pad;
  void (*volatile by_address)(void *) = je_free;
  by_address(je_malloc(1013));
  signal(SIGILL, leave);
  if (sigsetjmp(before, 1) == 0) {
    function();
    puts("open");
  } else {
    puts("guarded");
  }
  return 0;
}
