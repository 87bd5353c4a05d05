/* unfinished_file.c - Ctrl+C, and the end of the console, remove a file that is not complete (launch/ending_signals.h) */
#include <fcntl.h>
#include <stdlib.h>
#include <windows.h>

#include "launch/ending_signals.h"

static const char *volatile unfinished; /* NULL: none */

/* Runs in a thread of its own. The process ends after it, as usual. */
static BOOL WINAPI remove_it(DWORD event)
{
  (void)event;
  const char *path = unfinished;
  if (path)
    unlink(path);
  return FALSE;
}

int hwi_unfinished_make(char *path)
{
  SetConsoleCtrlHandler(remove_it, TRUE);
  int descriptor = mkostemp(path, O_CLOEXEC);
  if (descriptor >= 0)
    unfinished = path;
  return descriptor;
}

void hwi_unfinished_end(void)
{
  unfinished = NULL;
}
