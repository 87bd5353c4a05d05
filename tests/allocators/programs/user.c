/* user.c - a program with four threads that allocate until they end, and two forks whose handlers allocate, too
 *
 * Prints the figures of <malloc.h> if its argument is "figures"; frees blocks of libc's own malloc if it is "foreign".
 */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void *__libc_malloc(size_t size);

static pthread_key_t key;

static void use(void)
{
  char *volatile block = malloc(100);
  block = realloc(block, 1000);
  free(block);
}

/* Allocates in every round of destructors. */
static void at_thread_end(void *round)
{
  use();
  pthread_setspecific(key, (char *)round + 1);
}

static void *work(void *unused)
{
  (void)unused;
  pthread_setspecific(key, (void *)1);
  use();
  return strdup("x");
}

static void fork_and_wait(void)
{
  pid_t child = fork();
  if (child == 0) {
    use();
    _exit(3);
  }
  int status = 0;
  waitpid(child, &status, 0);
  printf("child %d\n", WEXITSTATUS(status));
}

static void figures(void)
{
  struct mallinfo2 now = mallinfo2();
  printf("%zu %zu %zu\n", now.arena, now.uordblks, now.fordblks);
  printf("%d %d %d\n", mallinfo().arena, mallopt(M_ARENA_MAX, 1), malloc_trim(0));
  printf("%d\n", malloc_info(1, stdout));
  printf("%d\n", malloc_info(0, stdout));
  malloc_stats();
}

static void foreign(void)
{
  char *volatile block = __libc_malloc(40);
  printf("%d ", malloc_usable_size(block) >= 40);
  memcpy(block, "foreign", 8);
  block = realloc(block, 100000);
  printf("%s ", block);
  free(block);
  free(__libc_malloc(10));
  puts("freed");
}

int main(int argc, char **argv)
{
  if (argc > 1 && !strcmp(argv[1], "figures"))
    figures();
  if (argc > 1 && !strcmp(argv[1], "foreign"))
    foreign();
  if (argc > 1)
    return 0;
  pthread_t threads[4];
  pthread_key_create(&key, at_thread_end);
  pthread_atfork(use, use, use);
  for (int i = 0; i < 4; i++)
    pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < 4; i++) {
    void *text;
    pthread_join(threads[i], &text);
    free(text);
  }
  fork_and_wait();
  fork_and_wait();
  return 0;
}
