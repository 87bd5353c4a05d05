/* paths.c - paths as text: joins and normalizes them */
#include "symbols/paths.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

char *hwi_path_concat(const char *first, ...)
{
  size_t bytes = 1;
  va_list parts;
  va_start(parts, first);
  for (const char *part = first; part; part = va_arg(parts, const char *))
    bytes += strlen(part);
  va_end(parts);
  char *joined = malloc(bytes);
  if (!joined)
    return NULL;
  char *end = joined;
  va_start(parts, first);
  for (const char *part = first; part; part = va_arg(parts, const char *)) {
    size_t length = strlen(part);
    memcpy(end, part, length);
    end += length;
  }
  va_end(parts);
  *end = '\0';
  return joined;
}

/* Removes the last component of [path, end). Returns false if there is none, or if it is "..", which must stay. */
static bool drop_last(const char *path, char **end)
{
  const char *root = path + (path[0] == '/');
  char *slash = *end;
  while (slash > root && slash[-1] != '/')
    slash--;
  if (slash == *end)
    return path[0] == '/'; /* "/.." is "/" */
  if (*end - slash == 2 && slash[0] == '.' && slash[1] == '.')
    return false;
  *end = slash > root ? slash - 1 : slash;
  return true;
}

/* Normalizes a path in place: the result is never longer. */
static void make_plain(char *path)
{
  char *end = path + (path[0] == '/');
  const char *root = end;
  const char *at = path;
  while (*at) {
    at += strspn(at, "/");
    size_t bytes = strcspn(at, "/");
    bool here = bytes == 0 || (bytes == 1 && at[0] == '.');
    bool up = bytes == 2 && at[0] == '.' && at[1] == '.';
    if (!here && !(up && drop_last(path, &end))) {
      if (end > root)
        *end++ = '/';
      memmove(end, at, bytes);
      end += bytes;
    }
    at += bytes;
  }
  *end = '\0';
}

char *hwi_path_join(const char *dir, const char *name)
{
  bool alone = name[0] == '/' || !dir || !dir[0];
  char *joined = alone ? strdup(name) : hwi_path_concat(dir, "/", name, NULL);
  if (joined)
    make_plain(joined);
  return joined;
}

char *hwi_path_parent(const char *path)
{
  const char *slash = strrchr(path, '/');
  if (!slash)
    return strdup(".");
  return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}
