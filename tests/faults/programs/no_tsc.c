/* no_tsc.c - linked into a program: reading the CPU's time stamp counter kills it, already before the first
 * constructor */
#include <stddef.h>
#include <sys/prctl.h>
#include <unistd.h>

static void forbid(int argc, char **argv, char **environment)
{
  (void)argc, (void)argv, (void)environment;
  if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV))
    _exit(77);
}

static void (*const before_all)(int, char **, char **) __attribute__((section(".preinit_array"), used)) = forbid;
