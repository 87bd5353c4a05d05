/* no_place.c - forked children that cannot create a file. Usage: no_place descriptors|chroot CHILDREN */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile sink; /* keeps the compiler from dropping pairs of malloc and free */

static int shut_in(const char *how)
{
  const struct rlimit none = {0, 0};
  if (!strcmp(how, "chroot"))
    return chroot("/proc") || chdir("/");
  return setrlimit(RLIMIT_NOFILE, &none);
}

static void use_heap(void)
{
  sink = malloc(1000);
  free(sink);
}

int main(int argc, char **argv)
{
  int children = argc > 2 ? atoi(argv[2]) : 1, result = 0, status;
  use_heap();
  for (int i = 0; i < children; i++) {
    pid_t child = fork();
    if (!child) {
      status = shut_in(argv[1]);
      use_heap();
      _exit(status != 0);
    }
    waitpid(child, &status, 0);
    result |= status;
  }
  use_heap();
  printf("done %d\n", result);
  return result;
}
