/* sandbox_kills.c - enters a sandbox that kills for any system call except those of a plain program, and works on.
 * Usage: sandbox_kills early|late THREADS. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ROUNDS = 200000, BLOCKS = 64 };

/* System calls of malloc and of a program that reads, writes and exits, and those of pthread_create and
 * pthread_join. */
static const int alone[] = {SYS_mmap, SYS_munmap, SYS_mremap,     SYS_mprotect,     SYS_madvise,  SYS_brk,
                            SYS_read, SYS_write,  SYS_exit_group, SYS_rt_sigreturn, SYS_getrandom};
static const int threaded[] = {SYS_futex, SYS_clone3,         SYS_clone,        SYS_set_robust_list,
                               SYS_rseq,  SYS_rt_sigprocmask, SYS_rt_sigaction, SYS_sched_getaffinity,
                               SYS_exit};

static struct sock_filter program[64];
static unsigned short length;

static void put(unsigned short code, uint32_t k, uint8_t jt, uint8_t jf)
{
  program[length++] = (struct sock_filter){code, jt, jf, k};
}

static void allow(const int *calls, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    put(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)calls[i], 0, 1);
    put(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
  }
}

static void shut(int threads)
{
  put(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
  allow(alone, sizeof alone / sizeof *alone);
  if (threads)
    allow(threaded, sizeof threaded / sizeof *threaded);
  put(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, 0, 0);
  struct sock_fprog filter = {length, program};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
    _exit(77);
}

static void *work(void *argument)
{
  void *blocks[BLOCKS] = {0};
  for (unsigned i = 0; i < ROUNDS; i++) {
    free(blocks[i % BLOCKS]);
    blocks[i % BLOCKS] = malloc(16 + i % 1000);
  }
  for (int i = 0; i < BLOCKS; i++)
    free(blocks[i]);
  return argument;
}

int main(int argc, char **argv)
{
  if (argc != 3)
    return 2;
  int threads = atoi(argv[2]);
  if (threads)
    mallopt(M_ARENA_MAX, 1); /* glibc opens a file when a thread's arena shrinks */
  if (strcmp(argv[1], "late") == 0)
    work(NULL);
  shut(threads);
  work(NULL);
  for (int i = 0; i < threads; i++) {
    pthread_t id;
    if (pthread_create(&id, NULL, work, NULL) || pthread_join(id, NULL))
      return 1;
  }
  return write(1, "done\n", 5) != 5;
}
