/* own.c - the memory of this process, as /proc and the kernel show it */
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "platform/linux/call.h"
#include "platform/os.h"

enum { LINE_BYTES = 8192 };

/* Parses START-END RIGHTS at the start of a line. Returns false if it is another kind of line. */
static bool parse(const char *line, uintptr_t *start, uintptr_t *end, const char **rights)
{
  uintptr_t numbers[2] = {0};
  for (int i = 0; i < 2; i++, line++) {
    for (; (*line >= '0' && *line <= '9') || (*line >= 'a' && *line <= 'f'); line++)
      numbers[i] = numbers[i] << 4 | (uintptr_t)(*line <= '9' ? *line - '0' : *line - 'a' + 10);
    if (*line != (i ? ' ' : '-'))
      return false;
  }
  *start = numbers[0];
  *end = numbers[1];
  *rights = line;
  return true;
}

static void pass_on(const char *line, void (*found)(void *context, uintptr_t start, uintptr_t end), void *context)
{
  uintptr_t start, end;
  const char *rights;
  if (parse(line, &start, &end, &rights) && strncmp(rights, "rw", 2) == 0 && strncmp(rights + 3, "p ", 2) == 0)
    found(context, start, end);
}

void hwi_os_writable_mappings(void (*found)(void *context, uintptr_t start, uintptr_t end), void *context)
{
  static char buffer[LINE_BYTES + 1];
  size_t have = 0;
  long got;
  const long fd = CALL4(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
  while (fd >= 0 && (got = CALL3(SYS_read, fd, buffer + have, LINE_BYTES - have)) > 0) {
    char *line = buffer, *newline;
    have += (size_t)got;
    buffer[have] = 0;
    for (; (newline = strchr(line, '\n')); line = newline + 1)
      pass_on(line, found, context);
    have = strlen(line);
    if (have == LINE_BYTES)
      break; /* no line of the kernel is that long */
    memmove(buffer, line, have);
  }
  if (fd >= 0)
    CALL1(SYS_close, fd);
}

size_t hwi_os_copy_memory(void *to, uintptr_t from, size_t bytes)
{
  const struct iovec local = {to, bytes}, remote = {(void *)from, bytes};
  const long got = CALL(SYS_process_vm_readv, hwi_os_pid(), &local, 1, &remote, 1, 0);
  return got > 0 ? (size_t)got : 0;
}
