/* start.c - the program's start: arguments in UTF-8; text to the console in UTF-8, and without changed ends of lines */
#include <fcntl.h>
#include <io.h>
#include <sys/ioctl.h>
#include <windows.h>

#include "platform/windows/posix/wide.h"

int main(int argc, char **argv);

static HANDLE handle_of(int fd)
{
  return (HANDLE)_get_osfhandle(fd);
}

int hwi_windows_isatty(int fd)
{
  DWORD mode;
  return GetConsoleMode(handle_of(fd), &mode) != 0;
}

int ioctl(int fd, int request, struct winsize *size)
{
  CONSOLE_SCREEN_BUFFER_INFO screen;
  (void)request;
  if (!GetConsoleScreenBufferInfo(handle_of(fd), &screen))
    return -1;
  size->ws_col = (unsigned short)(screen.srWindow.Right - screen.srWindow.Left + 1);
  size->ws_row = (unsigned short)(screen.srWindow.Bottom - screen.srWindow.Top + 1);
  return 0;
}

/* --- the console --- */

static UINT earlier_encoding;

static void restore_encoding(void)
{
  SetConsoleOutputCP(earlier_encoding);
}

static void use_utf8(void)
{
  earlier_encoding = GetConsoleOutputCP();
  if (earlier_encoding && earlier_encoding != CP_UTF8 && SetConsoleOutputCP(CP_UTF8))
    atexit(restore_encoding);
}

/* Escape sequences have an effect from Windows 10 on. */
static void use_sequences(int fd)
{
  DWORD mode;
  if (GetConsoleMode(handle_of(fd), &mode))
    SetConsoleMode(handle_of(fd), mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
}

/* --- the start --- */

static char **to_utf8(int count, wchar_t **wide)
{
  char **arguments = calloc((size_t)count + 1, sizeof *arguments);
  for (int i = 0; arguments && i < count; i++)
    if (!(arguments[i] = hwi_wide_to_utf8(wide[i])))
      return NULL;
  return arguments;
}

int wmain(int count, wchar_t **wide);

int wmain(int count, wchar_t **wide)
{
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
    _setmode(fd, _O_BINARY);
  use_utf8();
  use_sequences(STDOUT_FILENO);
  use_sequences(STDERR_FILENO);
  char **arguments = to_utf8(count, wide);
  if (!arguments) {
    fputs("heapwright: the arguments cannot be read\n", stderr);
    return EXIT_FAILURE;
  }
  return main(count, arguments); /* they are needed up to the end */
}
