/* hold.c - keeps the packer of a trace from dropping sections while they are read */
#include "trace/read/hold.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "trace/format.h"

enum { TRIES = 500, PAUSE_NS = 2000000 };

static bool lock(int fd, short type)
{
  struct flock range = {.l_type = type,
                        .l_whence = SEEK_SET,
                        .l_start = offsetof(struct hw_trace_header, sections_off),
                        .l_len = sizeof(uint64_t)};
  return fcntl(fd, F_OFD_SETLK, &range) == 0;
}

/* The packer needs it for a moment only; it may be stopped in that moment. */
void hwi_hold_begin(int fd)
{
  static const struct timespec pause = {.tv_nsec = PAUSE_NS};
  for (int i = 0; i < TRIES && !lock(fd, F_RDLCK) && (errno == EAGAIN || errno == EACCES); i++)
    nanosleep(&pause, NULL);
}

void hwi_hold_end(int fd)
{
  (void)lock(fd, F_UNLCK);
}

void hwi_hold_apart(int fd, bool holds)
{
  char name[32];
  snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
  const int own = open(name, O_RDONLY | O_CLOEXEC);
  if (own < 0)
    return;
  if (holds)
    hwi_hold_begin(own);
  dup3(own, fd, O_CLOEXEC);
  close(own);
}

bool hwi_hold_try_drop(int fd)
{
  return lock(fd, F_WRLCK) || (errno != EAGAIN && errno != EACCES);
}
