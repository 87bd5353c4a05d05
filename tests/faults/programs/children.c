/* children.c - children made in every way, each with its own blocks. Usage: children KIND GENERATIONS
 * KIND: fork, vfork, _Fork, clone (raw, without CLONE_VM), threads (fork while other threads allocate) */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int stop;
static void *volatile sink; /* keeps the compiler from dropping pairs of malloc and free */

static void *allocate_always(void *argument)
{
  while (!stop) {
    void *volatile block = malloc(64);
    free(block);
  }
  return argument;
}

static pid_t make_child(const char *kind)
{
  if (!strcmp(kind, "_Fork"))
    return _Fork();
  if (!strcmp(kind, "clone"))
    return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
  return fork();
}

static __attribute__((noinline)) void use_heap(int generation)
{
  for (int i = 0; i < 100; i++) {
    sink = malloc((size_t)(100 + generation));
    free(sink);
  }
}

static __attribute__((noinline)) int descend(const char *kind, int generations)
{
  int status = 0;
  char *inherited = strdup("inherited");
  use_heap(generations);
  if (!generations) {
    free(inherited);
    return 0;
  }
  pid_t child = make_child(kind);
  if (child < 0)
    return 5;
  if (!child) {
    free(inherited);
    use_heap(generations);
    _exit(descend(kind, generations - 1));
  }
  if (waitpid(child, &status, 0) != child)
    return 6;
  free(inherited);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
  const char *kind = argc > 1 ? argv[1] : "fork";
  int generations = argc > 2 ? atoi(argv[2]) : 10, result = 0;
  pthread_t ids[3];
  if (!strcmp(kind, "vfork")) {
    for (int i = 0; i < generations; i++) {
      pid_t child = vfork();
      if (!child) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(7);
      }
      int status;
      waitpid(child, &status, 0);
      result |= status;
    }
  } else {
    if (!strcmp(kind, "threads"))
      for (int i = 0; i < 3; i++)
        pthread_create(&ids[i], NULL, allocate_always, NULL);
    result = descend(kind, generations);
    stop = 1;
    if (!strcmp(kind, "threads"))
      for (int i = 0; i < 3; i++)
        pthread_join(ids[i], NULL);
  }
  printf("done %d\n", result);
  return result;
}
