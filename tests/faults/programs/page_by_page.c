/* page_by_page.c - children that may map 0, 1, 2, ... more pages, limited before their first event
 * Usage: page_by_page MOST_PAGES BEGUN(0|1). With BEGUN the parent has allocated before. Prints which children
 * failed. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EVENTS = 100, PAGE = 4096 };

static void *volatile sink;

static __attribute__((noinline)) void allocate(int depth)
{
  sink = malloc(100);
  if (depth)
    allocate(depth - 1);
  free(sink);
  sink = malloc(200); /* at another depth than the call before: a new walk */
}

static rlim_t mapped_bytes(void)
{
  char text[64] = "";
  int fd = open("/proc/self/statm", O_RDONLY);
  if (fd < 0 || read(fd, text, sizeof text - 1) <= 0)
    _exit(9);
  close(fd);
  return strtoul(text, NULL, 10) * PAGE;
}

static void run_child(int pages)
{
  rlim_t limit = mapped_bytes() + (rlim_t)pages * PAGE;
  if (setrlimit(RLIMIT_AS, &(struct rlimit){limit, limit}))
    _exit(9);
  for (int i = 0; i < EVENTS; i++)
    allocate(i % 3);
  _exit(7);
}

int main(int argc, char **argv)
{
  int most = argc > 1 ? atoi(argv[1]) : 100;
  if (argc > 2 && argv[2][0] == '1')
    allocate(3);
  for (int pages = 0; pages < most; pages++) {
    int status;
    pid_t child = fork();
    if (child == 0)
      run_child(pages);
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 7)
      dprintf(STDOUT_FILENO, "%d pages: %x\n", pages, status);
  }
  return 0;
}
