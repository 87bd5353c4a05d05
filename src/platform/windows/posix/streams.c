/* streams.c - streams whose bytes pass through functions, and texts of a stream (posix.h)
 *
 * msvcrt has no such streams. So each is a temporary file: what is to be written is there until fclose, which passes it to the
 * function in order; what is to be read is fetched first. Reading and writing fail where the functions failed.
 */
#include <pthread.h>
#include <windows.h>

#include "platform/windows/posix/wide.h"

#undef fclose

struct passed {
  FILE *stream;
  void *cookie;
  cookie_io_functions_t functions;
  bool is_read;
  struct passed *next;
};

static struct passed *all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

enum { BUFFER_BYTES = 1 << 16 };

static FILE *open_temporary(void)
{
  wchar_t folder[MAX_PATH + 1], path[MAX_PATH + 1];
  DWORD length = GetTempPathW(MAX_PATH + 1, folder);
  if (length == 0 || length > MAX_PATH || !GetTempFileNameW(folder, L"hwt", 0, path)) {
    hwi_windows_fail();
    return NULL;
  }
  HANDLE handle = CreateFileW(path, GENERIC_READ | GENERIC_WRITE, FILE_SHARE_DELETE, NULL, CREATE_ALWAYS,
                              FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, NULL);
  if (handle == INVALID_HANDLE_VALUE) {
    hwi_windows_fail();
    return NULL;
  }
  int fd = _open_osfhandle((intptr_t)handle, _O_BINARY);
  return fd >= 0 ? fdopen(fd, "w+") : NULL;
}

/* --- passing bytes on --- */

static int pass_on(FILE *stream, const struct passed *passed)
{
  char bytes[BUFFER_BYTES];
  size_t got;
  rewind(stream);
  while ((got = fread(bytes, 1, sizeof bytes, stream)) > 0)
    if (passed->functions.write(passed->cookie, bytes, got) != (ssize_t)got)
      return EOF;
  return ferror(stream) ? EOF : 0;
}

static bool fetch(FILE *stream, const struct passed *passed)
{
  char bytes[BUFFER_BYTES];
  ssize_t got;
  while ((got = passed->functions.read(passed->cookie, bytes, sizeof bytes)) > 0)
    if (fwrite(bytes, 1, (size_t)got, stream) != (size_t)got)
      return false;
  rewind(stream);
  return got == 0;
}

static FILE *note(struct passed passed)
{
  struct passed *kept = malloc(sizeof *kept);
  if (!kept) {
    fclose(passed.stream);
    return NULL;
  }
  *kept = passed;
  pthread_mutex_lock(&lock);
  kept->next = all;
  all = kept;
  pthread_mutex_unlock(&lock);
  return kept->stream;
}

static struct passed *forget(FILE *stream)
{
  pthread_mutex_lock(&lock);
  struct passed **link = &all, *found;
  while (*link && (*link)->stream != stream)
    link = &(*link)->next;
  found = *link;
  if (found)
    *link = found->next;
  pthread_mutex_unlock(&lock);
  return found;
}

FILE *fopencookie(void *cookie, const char *mode, cookie_io_functions_t functions)
{
  struct passed passed = {open_temporary(), cookie, functions, mode[0] == 'r', NULL};
  if (!passed.stream)
    return NULL;
  if (!passed.is_read || fetch(passed.stream, &passed))
    return note(passed);
  int os_error = errno;
  fclose(passed.stream);
  errno = os_error;
  return NULL;
}

int hwi_windows_fclose(FILE *stream)
{
  struct passed *passed = forget(stream);
  if (!passed)
    return fclose(stream);
  int status = passed->is_read ? 0 : fflush(stream) | pass_on(stream, passed);
  status |= passed->functions.close ? passed->functions.close(passed->cookie) : 0;
  fclose(stream);
  free(passed);
  return status ? EOF : 0;
}

/* --- texts --- */

struct text {
  char **text;
  size_t *bytes;
};

static ssize_t append(void *cookie, const char *from, size_t bytes)
{
  const struct text *to = cookie;
  char *longer = realloc(*to->text, *to->bytes + bytes + 1);
  if (!longer)
    return 0;
  *to->text = longer;
  memcpy(longer + *to->bytes, from, bytes);
  *to->bytes += bytes;
  longer[*to->bytes] = '\0';
  return (ssize_t)bytes;
}

static int end_text(void *cookie)
{
  bool done = append(cookie, "", 0) == 0 && *((const struct text *)cookie)->text;
  free(cookie);
  return done ? 0 : EOF;
}

FILE *open_memstream(char **text, size_t *bytes)
{
  struct text *to = malloc(sizeof *to);
  if (!to)
    return NULL;
  *text = NULL;
  *bytes = 0;
  *to = (struct text){text, bytes};
  FILE *stream = fopencookie(to, "w", (cookie_io_functions_t){.write = append, .close = end_text});
  if (!stream)
    free(to);
  return stream;
}

ssize_t getdelim(char **line, size_t *room, int end, FILE *stream)
{
  size_t bytes = 0;
  for (int byte; (byte = getc(stream)) != EOF;) {
    if (bytes + 2 > *room) {
      char *longer = realloc(*line, 2 * bytes + BUFSIZ);
      if (!longer)
        return -1;
      *line = longer;
      *room = 2 * bytes + BUFSIZ;
    }
    (*line)[bytes++] = (char)byte;
    (*line)[bytes] = '\0';
    if (byte == end)
      break;
  }
  return bytes > 0 && !ferror(stream) ? (ssize_t)bytes : -1;
}
