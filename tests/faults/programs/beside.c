/* beside.c - two adjacent coroutine stacks without a guard between them; one is unmapped while the other is in use
 *
 * The lower one was begun from the upper one, by code that no unwind table covers and that does not change the frame
 * pointer: it leads from one stack into the other. Prints "done".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { STACK_BYTES = 64 << 10, SAVED_REGISTERS = 6, ROUNDS = 100 };

/* Saves what a callee must preserve, and continues where `to` was left. */
void switch_to(void **from, void *to);
void begin(void); /* calls the function in r12 */

__asm__(".text\n"
        "switch_to:\n"
        "  push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15\n"
        "  mov %rsp, (%rdi)\n"
        "  mov %rsi, %rsp\n"
        "  pop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp\n"
        "  ret\n"
        "begin:\n"
        "  call *%r12\n"
        "  hlt\n");

static char *stacks;
static void *of_main, *of_lower, *of_upper;
static void *volatile block;

static void *prepare(char *stack, void (*function)(void), void *frame)
{
  void **at = (void **)(stack + STACK_BYTES - 64);
  *--at = (void *)begin;
  *--at = frame; /* rbp */
  *--at = NULL;  /* rbx */
  *--at = (void *)function;
  for (int i = 0; i < SAVED_REGISTERS - 3; i++)
    *--at = NULL;
  return at;
}

static void work(void)
{
  for (int i = 0; i < ROUNDS; i++)
    free(block = malloc(10));
}

static void lower(void)
{
  work();
  switch_to(&of_lower, of_main);
  work();
  switch_to(&of_lower, of_main);
}

static void upper(void)
{
  work();
  of_lower = prepare(stacks, lower, __builtin_frame_address(0));
  switch_to(&of_upper, of_lower);
}

int main(void)
{
  stacks = mmap(NULL, 2 * STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(stacks, 0, 2 * STACK_BYTES);
  of_upper = prepare(stacks + STACK_BYTES, upper, NULL);
  switch_to(&of_main, of_upper);
  munmap(stacks + STACK_BYTES, STACK_BYTES);
  switch_to(&of_main, of_lower);
  puts("done");
}
