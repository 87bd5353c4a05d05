/* strict_seccomp.c - forbids itself the time stamp counter and, except for "tsc", nearly all system calls, and works on
 * Usage: strict_seccomp HOW ROUNDS [THREADS]. Rounds come before and after that. With THREADS, one
 * of them does this, and the others allocate meanwhile and afterwards. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { OTHERS_ROUNDS = 20000, STATUS = 3, CANNOT = 77 };

static unsigned rounds;

__attribute__((noinline)) static void before(void)
{
  for (unsigned i = 0; i < rounds; i++)
    free(malloc(100));
}

/* Each block is at the address of the one before: a reader that confuses their order finds missed frees. */
__attribute__((noinline)) static void after(void)
{
  for (unsigned i = 0; i < rounds; i++)
    free(malloc(200));
}

static void *work(void *argument)
{
  for (unsigned i = 0; i < OTHERS_ROUNDS; i++)
    free(malloc(300));
  return argument;
}

/* After a filter, even one that forbids nothing, strict seccomp is refused. */
static bool is_refused(void)
{
  struct sock_filter all = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  struct sock_fprog filter = {1, &all};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == -1 && errno == EINVAL;
}

static bool forbid(const char *how)
{
  if (strcmp(how, "prctl") == 0)
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0;
  if (strcmp(how, "seccomp") == 0)
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL) == 0;
  if (strcmp(how, "prctl-by-number") == 0)
    return syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) == 0;
  if (strcmp(how, "tsc") == 0)
    return prctl(PR_SET_TSC, PR_TSC_SIGSEGV) == 0;
  if (strcmp(how, "tsc-by-number") == 0)
    return syscall(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) == 0;
  return is_refused();
}

static void *shut(void *how)
{
  before();
  if (!forbid(how))
    _exit(CANNOT);
  after();
  (void)!write(1, "done\n", 5);
  syscall(SYS_exit, STATUS); /* which ends only the thread; there is no other way out */
  return NULL;
}

int main(int argc, char **argv)
{
  pthread_t ids[8], one;
  if (argc < 3)
    return 2;
  rounds = (unsigned)atoi(argv[2]);
  int threads = argc > 3 ? atoi(argv[3]) : 0;
  if (!threads)
    shut(argv[1]);
  pthread_create(&one, NULL, shut, argv[1]);
  for (int i = 0; i < threads; i++)
    pthread_create(&ids[i], NULL, work, NULL);
  for (int i = 0; i < threads; i++)
    pthread_join(ids[i], NULL);
  pthread_join(one, NULL);
  work(NULL);
  return STATUS;
}
