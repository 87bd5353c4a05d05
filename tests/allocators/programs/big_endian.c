/* big_endian.c - board.c as a program for big-endian ARM under Linux without a libc: it writes its RAM to standard output, and ends */
#include "board.c"

extern unsigned char ram_begin[], ram_end[];

static long call(long number, long one, long two, long three)
{
  register long r7 __asm__("r7") = number, r0 __asm__("r0") = one, r1 __asm__("r1") = two, r2 __asm__("r2") = three;
  __asm__ volatile("svc 0" : "+r"(r0) : "r"(r7), "r"(r1), "r"(r2) : "memory");
  return r0;
}

__attribute__((noinline, noreturn, used)) static void run(void)
{
  enum { EXIT = 1, WRITE = 4 };
  start();
  for (unsigned char *at = ram_begin; at < ram_end;)
    at += call(WRITE, 1, (long)at, ram_end - at);
  for (;;)
    call(EXIT, 0, 0, 0);
}

/* On the stack in its RAM, as a board has it. */
__attribute__((naked, noreturn)) void _start(void)
{
  __asm__ volatile("ldr r0, =stack_end\n mov sp, r0\n bl run\n .pool");
}
