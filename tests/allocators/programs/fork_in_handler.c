/* fork_in_handler.c - a signal's handler forks while its thread is in malloc or fork. Prints "done"
 *
 * alone: the process has one thread, which allocates and forks. forks: it only forks. threads: it only allocates, and
 * so do other threads. Every other child goes on where the handler had interrupted its parent; the others end at once.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FORKS = 300, BLOCKS = 300, TURNS_OF_COPY = 5 };

static volatile sig_atomic_t forks;
static volatile bool is_copy;
static atomic_bool is_over;

static void fail(const char *what)
{
  printf("wrong: %s\n", what);
  fflush(stdout);
  _exit(1);
}

static void reap(pid_t child)
{
  int status = 0;
  pid_t found = waitpid(child, &status, 0);
  bool is_the_parents = is_copy && found < 0 && errno == ECHILD; /* the handler ran during the wait */
  if (child < 0 || (found != child && !is_the_parents) || status)
    fail("a child did not come through");
}

static void fork_here(int number)
{
  (void)number;
  if (is_copy || forks >= FORKS)
    return;
  pid_t child = fork();
  if (child) {
    reap(child);
  } else if (forks % 2) {
    is_copy = true;
    return;
  } else {
    _exit(0);
  }
  forks++;
}

static void use_malloc(unsigned seed)
{
  static __thread unsigned char *blocks[BLOCKS];
  for (int i = 0; i < BLOCKS; i++) {
    size_t bytes = (seed + (unsigned)i * 37) % 2000 + 1;
    blocks[i] = realloc(blocks[i], bytes);
    if (!blocks[i])
      fail("no memory");
    memset(blocks[i], i, bytes);
  }
  for (int i = 0; i < BLOCKS; i++) {
    if (*blocks[i] != (unsigned char)i)
      fail("a block was overwritten");
    if (i % 3) {
      free(blocks[i]);
      blocks[i] = NULL;
    }
  }
}

static void *use_malloc_until_over(void *argument)
{
  while (!is_over)
    use_malloc(7);
  return argument;
}

/* From another process, so that they come at any time. */
static pid_t send_signals(void)
{
  pid_t target = getpid(), sender = fork();
  if (sender)
    return sender;
  while (kill(target, SIGUSR1) == 0)
    usleep(100);
  _exit(0);
}

/* They are only for the first thread. */
static pthread_t start_thread(void)
{
  pthread_t thread;
  sigset_t own, before;
  sigemptyset(&own);
  sigaddset(&own, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &own, &before);
  if (pthread_create(&thread, NULL, use_malloc_until_over, NULL))
    fail("pthread_create");
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return thread;
}

static void fork_plainly(void)
{
  pid_t child = fork();
  if (!child)
    _exit(0);
  reap(child);
}

int main(int argc, char **argv)
{
  const char *what = argc > 1 ? argv[1] : "";
  bool is_alone = strcmp(what, "threads"), only_forks = !strcmp(what, "forks");
  pthread_t thread = pthread_self();
  struct sigaction action = {.sa_handler = fork_here, .sa_flags = SA_RESTART};
  sigaction(SIGUSR1, &action, NULL);
  pid_t sender = send_signals(); /* with a second thread, a handler must not interrupt libc's own fork */
  if (!is_alone)
    thread = start_thread();
  int turns_of_copy = 0;
  for (unsigned i = 0; forks < FORKS; i++) {
    if (!only_forks)
      use_malloc(i);
    if (is_alone)
      fork_plainly();
    if (is_copy && ++turns_of_copy > TURNS_OF_COPY)
      _exit(0);
  }
  kill(sender, SIGKILL);
  waitpid(sender, NULL, 0);
  is_over = true;
  if (!is_alone)
    pthread_join(thread, NULL);
  puts("done");
  return 0;
}
