/* wipes_on_fork.c - prints whether the child of a fork sees zeros in a page that is to be wiped */
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
  int *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), status = 0;
  *page = 1;
  madvise(page, 4096, MADV_WIPEONFORK);
  if (fork() == 0)
    _exit(*page);
  wait(&status);
  puts(WEXITSTATUS(status) ? "kept" : "wiped");
  return 0;
}
