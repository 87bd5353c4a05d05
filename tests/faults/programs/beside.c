/* beside.c - two adjacent coroutine stacks without a guard between them; one is unmapped while the other is in use
 *
 * The lower one was begun from the upper one, by code that no unwind table covers and that does not change the frame
 * pointer: it leads from one stack into the other. Prints "done".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { STACK_BYTES = 64 << 10, ROUNDS = 100 };

/* Saves what a callee must preserve, and continues where `to` was left. */
void switch_to(void **from, void *to);
void begin(void); /* calls the function in FUNCTION */
__asm__(".globl switch_to, begin");

#if defined __x86_64__
enum { FUNCTION = 3, FRAME_POINTER = 5, RETURN_ADDRESS = 6, SAVED_WORDS = 7 };

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
#elif defined __aarch64__
enum { FRAME_POINTER, RETURN_ADDRESS, FUNCTION, SAVED_WORDS = 12 };

__asm__(".text\n"
        "switch_to:\n"
        "  stp x27, x28, [sp, -16]!; stp x25, x26, [sp, -16]!; stp x23, x24, [sp, -16]!\n"
        "  stp x21, x22, [sp, -16]!; stp x19, x20, [sp, -16]!; stp x29, x30, [sp, -16]!\n"
        "  mov x2, sp; str x2, [x0]\n"
        "  mov sp, x1\n"
        "  ldp x29, x30, [sp], 16; ldp x19, x20, [sp], 16; ldp x21, x22, [sp], 16\n"
        "  ldp x23, x24, [sp], 16; ldp x25, x26, [sp], 16; ldp x27, x28, [sp], 16\n"
        "  ret\n"
        "begin:\n"
        "  blr x19\n"
        "  brk 0\n");
#endif

static char *stacks;
static void *of_main, *of_lower, *of_upper;
static void *volatile block;

static void *prepare(char *stack, void (*function)(void), void *frame)
{
  void **saved = (void **)(stack + STACK_BYTES - 64) - SAVED_WORDS; /* all 0 */
  saved[RETURN_ADDRESS] = (void *)begin;
  saved[FRAME_POINTER] = frame;
  saved[FUNCTION] = (void *)function;
  return saved;
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
