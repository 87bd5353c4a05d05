/* no_packer.c - on Windows no process writes to a trace: its sections need not be held while they are read */
#include "trace/read/hold.h"

void hwi_hold_begin(int fd)
{
  (void)fd;
}

void hwi_hold_end(int fd)
{
  (void)fd;
}

void hwi_hold_apart(int fd, bool holds)
{
  (void)fd;
  (void)holds;
}

bool hwi_hold_try_drop(int fd)
{
  (void)fd;
  return true;
}
