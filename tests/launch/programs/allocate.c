/* allocate.c - allocates and frees for a number of rounds, then ends as its arguments say
 *
 * allocate ROUNDS [PAUSE_US [EXIT_STATUS]]; on SIGTERM it prints a message and ends with 7. With 0 for ROUNDS it goes
 * on until its standard input ends, so that a test may wait for it for any time.
 */
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void terminated(int signal)
{
  (void)signal;
  static const char text[] = "terminated\n";
  (void)!write(STDOUT_FILENO, text, sizeof text - 1);
  _exit(7);
}

static bool goes_on(long round, long rounds)
{
  if (rounds)
    return round < rounds;
  return poll(&(struct pollfd){.fd = STDIN_FILENO, .events = POLLIN}, 1, 0) == 0;
}

int main(int argc, char **argv)
{
  long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
  long pause_us = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
  void *blocks[16] = {0};
  signal(SIGTERM, terminated);
  for (long i = 0; goes_on(i, rounds); i++) {
    free(blocks[i * 7 % 16]);
    blocks[i * 7 % 16] = malloc(16 + (size_t)(i * 31 % 500));
    if (pause_us)
      usleep((useconds_t)pause_us);
  }
  for (int i = 0; i < 16; i++)
    free(blocks[i]);
  return argc > 3 ? (int)strtol(argv[3], NULL, 10) : 0;
}
