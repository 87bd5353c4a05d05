/* ioctl.h - the size of the console (platform/windows/posix/start.c) */
#ifndef HWI_PLATFORM_WINDOWS_POSIX_INCLUDE_SYS_IOCTL_H
#define HWI_PLATFORM_WINDOWS_POSIX_INCLUDE_SYS_IOCTL_H

enum { TIOCGWINSZ };

struct winsize {
  unsigned short ws_row, ws_col;
};

/* Returns 0, or -1 if `fd` is no console. */
int ioctl(int fd, int request, struct winsize *size);

#endif
