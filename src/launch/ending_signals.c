/* ending_signals.c - SIGHUP, SIGINT and SIGTERM end the program only when its files are whole */
#include "launch/ending_signals.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

static const int ending_signals[] = {SIGHUP, SIGINT, SIGTERM};
enum { ENDING_SIGNALS = sizeof ending_signals / sizeof *ending_signals };

/* --- deferred until a piece of work is complete --- */

static struct sigaction earlier[ENDING_SIGNALS]; /* dispositions */
static volatile sig_atomic_t asked;              /* the last signal noted; 0: none came */

static void note_signal(int number)
{
  asked = number;
}

void hwi_deferred_begin(void)
{
  const struct sigaction action = {.sa_handler = note_signal, .sa_flags = SA_RESTART};
  asked = 0;
  for (int i = 0; i < ENDING_SIGNALS; i++) {
    sigaction(ending_signals[i], NULL, &earlier[i]);
    if (earlier[i].sa_handler != SIG_IGN)
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
    sigaction(ending_signals[i], &earlier[i], NULL);
  if (asked != 0)
    raise(asked);
}

/* --- an unfinished file is removed --- */

static const char *volatile unfinished; /* NULL: none */

static void remove_and_end(int number)
{
  if (unfinished)
    unlink(unfinished);
  raise(number); /* the disposition was reset: this ends the program when the handler returns */
}

static void handle_signals(const sigset_t *signals)
{
  struct sigaction action = {.sa_handler = remove_and_end, .sa_flags = (int)SA_RESETHAND, .sa_mask = *signals}, before;
  for (int i = 0; i < ENDING_SIGNALS; i++) {
    if (sigaction(ending_signals[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
      sigaction(ending_signals[i], &action, NULL);
  }
}

/* Blocks signals while the file exists and is not noted yet. */
static void hold(sigset_t *before)
{
  sigset_t signals;
  sigemptyset(&signals);
  for (int i = 0; i < ENDING_SIGNALS; i++)
    sigaddset(&signals, ending_signals[i]);
  handle_signals(&signals);
  sigprocmask(SIG_BLOCK, &signals, before);
}

int hwi_unfinished_make(char *path)
{
  sigset_t before;
  hold(&before);
  int descriptor = mkostemp(path, O_CLOEXEC), os_error = errno;
  if (descriptor >= 0)
    unfinished = path;
  sigprocmask(SIG_SETMASK, &before, NULL);
  errno = os_error;
  return descriptor;
}

void hwi_unfinished_end(void)
{
  unfinished = NULL;
}
