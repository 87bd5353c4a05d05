/* deferred.c - defers the signals that would end the program until a piece of work is complete */
#include "launch/deferred.h"

#include <signal.h>
#include <stddef.h>

static const int ending_signals[] = {SIGHUP, SIGINT, SIGTERM};
enum { ENDING_SIGNALS = sizeof ending_signals / sizeof *ending_signals };

static struct sigaction before[ENDING_SIGNALS];
static volatile sig_atomic_t asked; /* the last signal noted; 0: none came */

static void note(int number)
{
  asked = number;
}

void hwi_deferred_begin(void)
{
  const struct sigaction action = {.sa_handler = note, .sa_flags = SA_RESTART};
  asked = 0;
  for (int i = 0; i < ENDING_SIGNALS; i++) {
    sigaction(ending_signals[i], NULL, &before[i]);
    if (before[i].sa_handler != SIG_IGN)
      sigaction(ending_signals[i], &action, NULL);
  }
}

bool hwi_deferred_is_asked(void)
{
  return asked != 0;
}

void hwi_deferred_end(void)
{
  for (int i = 0; i < ENDING_SIGNALS; i++)
    sigaction(ending_signals[i], &before[i], NULL);
  if (asked != 0)
    raise(asked);
}
