/* known_stacks.c - allocates from stacks that are known, in frames of every form: plain, larger than a row can hold, of variable
 * size, interrupted in a function without a frame of its own. With KNOWN_STACKS_FORKS in the environment also in a child. Prints what it allocated: calls, bytes.
 * Usage: known_stacks ROUNDS [without]. "without": built without frame pointers, by which alone code without tables is passed. */
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define FRAME __attribute__((noinline, noclone))

static _Atomic unsigned long calls, bytes;
static void *volatile kept;

FRAME static void *take(size_t size)
{
  void *block = malloc(size);
  calls++;
  bytes += size;
  kept = block;
  return block;
}

FRAME static void plain(size_t size)
{
  free(take(size));
  __asm__ volatile("");
}

FRAME static void large_frame(size_t size)
{
  volatile char room[3 << 20];
  room[0] = room[sizeof room - 1] = (char)size;
  plain(size);
  room[1] = room[0];
}

FRAME static void middle_frame(size_t size)
{
  volatile char room[5000];
  room[0] = room[sizeof room - 1] = (char)size;
  plain(size);
  room[1] = room[0];
}

FRAME static void variable_frame(size_t size)
{
  volatile char *room = alloca(size);
  room[0] = room[size - 1] = 1;
  plain(size);
  room[0] = 0;
}

FRAME static int recursive(int depth, size_t size)
{
  if (depth == 0) {
    plain(size);
    return 1;
  }
  int result = recursive(depth - 1, size);
  __asm__ volatile("" : "+r"(result));
  return result + 1;
}

/* --- code without call frame information, as that of a JIT compiler --- */

#ifdef __aarch64__
void without_table(void (*function)(size_t), size_t size);
__asm__(
    ".text; .type without_table, %function; without_table: stp x29, x30, [sp, #-64]!; mov x29, sp; mov x2, x0; mov x0, x1;"
    "blr x2; ldp x29, x30, [sp], #64; ret; .size without_table, . - without_table");
#elif defined __riscv
void without_table(void (*function)(size_t), size_t size);
__asm__(
    ".text; .type without_table, %function; without_table: addi sp, sp, -64; sd ra, 56(sp); sd s0, 48(sp); addi s0, sp, 64; mv a2, a0;"
    "mv a0, a1; jalr a2; ld ra, 56(sp); ld s0, 48(sp); addi sp, sp, 64; ret; .size without_table, . - without_table");
#elif defined __arm__ /* the linker adds an entry to the table that says so */
void without_table(void (*function)(size_t), size_t size);
__asm__(
    ".text; .syntax unified; .arm; .type without_table, %function; without_table: push {r4, lr}; mov r2, r0; mov r0, r1;"
    "blx r2; pop {r4, pc}; .size without_table, . - without_table\n"
#ifdef __thumb__
    ".thumb"
#endif
);
#else
FRAME static void without_table(void (*function)(size_t), size_t size)
{
  function(size);
  __asm__ volatile("");
}
#endif

FRAME static void beyond(size_t size)
{
  volatile char room[700];
  room[0] = (char)size;
  without_table(plain, size);
  room[1] = room[0];
}

/* --- a function without a frame, which a signal interrupts --- */

FRAME static void in_handler(size_t size)
{
  free(take(size));
  __asm__ volatile("nop"); /* the compiler must not find that it is the same function as `plain` */
}

static void handler(int signal, siginfo_t *info, void *context)
{
  (void)signal, (void)info;
  in_handler(77);
#ifdef __aarch64__
  ((ucontext_t *)context)->uc_mcontext.pc += 4;
#elif defined __riscv
  ((ucontext_t *)context)->uc_mcontext.__gregs[REG_PC] += 4;
#elif defined __arm__
  const unsigned long is_thumb = ((ucontext_t *)context)->uc_mcontext.arm_cpsr & 0x20;
  ((ucontext_t *)context)->uc_mcontext.arm_pc += is_thumb ? 2 : 4;
#else
  (void)context; /* int3 is over */
#endif
}

#ifdef __aarch64__
#define TRAP "brk #7"
#elif defined __riscv
#define TRAP ".4byte 0x00100073" /* ebreak, in four bytes */
#elif defined __arm__
#define TRAP "bkpt"
#else
#define TRAP "int3"
#endif

FRAME static long leaf(long number)
{
  __asm__ volatile(TRAP);
  return number * 3;
}

FRAME static long interrupted(long number)
{
  long result = leaf(number);
  __asm__ volatile("" : "+r"(result));
  return result + 1;
}

/* --- threads and processes --- */

static void *thread(void *argument)
{
  for (int i = 0; i < 100; i++)
    plain(1000 + (size_t)(long)argument);
  return NULL;
}

FRAME static void threads(void)
{
  pthread_t all[4];
  for (long i = 0; i < 4; i++)
    pthread_create(&all[i], NULL, thread, (void *)i);
  for (int i = 0; i < 4; i++)
    pthread_join(all[i], NULL);
}

FRAME static void child(void)
{
  for (int i = 0; i < 10; i++)
    plain(31);
}

int main(int count, char **words)
{
  const int rounds = count > 1 ? atoi(words[1]) : 1;
  const struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
  sigaction(SIGTRAP, &action, NULL);
  for (int i = 0; i < rounds; i++) {
    plain(10);
    middle_frame(20);
    large_frame(30);
    variable_frame(40);
    recursive(20, 50);
    if (count <= 2)
      beyond(60);
    kept = (void *)interrupted(i);
  }
  const unsigned long calls_here = calls, bytes_here = bytes;
  threads();
  if (getenv("KNOWN_STACKS_FORKS")) {
    pid_t pid = fork();
    if (pid == 0) {
      child();
      _exit(0);
    }
    waitpid(pid, NULL, 0);
  }
  char line[64];
  int length = snprintf(line, sizeof line, "%lu %lu\n", calls_here, bytes_here);
  return write(1, line, (size_t)length) != length;
}
