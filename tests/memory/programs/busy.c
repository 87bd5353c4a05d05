/* busy.c - for the tests: a program that must not notice that it is stopped
 *
 * It counts the signals it gets, starts threads and processes all the time, and allocates. When its input ends, it prints
 * how many signals came.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_int signals, is_over;

static void on_signal(int number)
{
  (void)number;
  atomic_fetch_add(&signals, 1);
}

static void *work(void *bytes)
{
  for (int i = 0; i < 100; i++)
    free(memset(malloc((size_t)bytes), i, (size_t)bytes));
  return NULL;
}

static void *start_threads(void *unused)
{
  pthread_t thread;
  while (!is_over)
    if (pthread_create(&thread, NULL, work, (void *)100) == 0)
      pthread_join(thread, NULL);
  return unused;
}

static void *start_processes(void *unused)
{
  while (!is_over) {
    const pid_t child = fork();
    if (child == 0)
      _exit(7);
    int status;
    while (waitpid(child, &status, 0) < 0)
      ;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 7)
      _exit(1);
    usleep(1000);
  }
  return unused;
}

int main(void)
{
  pthread_t threads[4];
  char byte;
  sigaction(SIGRTMIN, &(struct sigaction){.sa_handler = on_signal, .sa_flags = SA_RESTART}, NULL);
  for (int i = 0; i < 4; i++)
    pthread_create(&threads[i], NULL, i ? start_threads : start_processes, NULL);
  (void)!write(1, "ready\n", 6);
  while (read(0, &byte, 1) > 0)
    ;
  is_over = 1;
  for (int i = 0; i < 4; i++)
    pthread_join(threads[i], NULL);
  printf("%d\n", signals);
  return 0;
}
