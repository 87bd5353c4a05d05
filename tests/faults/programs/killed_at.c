/* killed_at.c - runs a program and kills it at its N-th stop at a system call: killed_at N LIBRARY PROGRAM
 *
 * LIBRARY is preloaded into it. Each system call has two stops, one before and one after it. Prints "killed", or
 * "ended" if the program ended before that. Exit status 3: tracing is not possible here.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
  if (argc != 4)
    return 2;
  int status, left = atoi(argv[1]);
  pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, 0, 0) < 0)
      _exit(3);
    setenv("LD_PRELOAD", argv[2], 1);
    execv(argv[3], argv + 3);
    _exit(4);
  }
  waitpid(child, &status, 0);
  if (!WIFSTOPPED(status))
    return 3;
  ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_EXITKILL);
  while (left-- > 0 && WIFSTOPPED(status)) {
    if (ptrace(PTRACE_SYSCALL, child, 0, 0) < 0)
      return 3;
    waitpid(child, &status, 0);
  }
  puts(WIFSTOPPED(status) ? "killed" : "ended");
  if (WIFSTOPPED(status)) {
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
  }
  return 0;
}
