/* text_file.c - reads small text files that users write */
#include "report/input/text_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int hwi_text_file_read(const char *path, char **text, struct hwi_error *error)
{
  *text = NULL;
  FILE *in = fopen(path, "re");
  if (!in)
    return hwi_error_set(error, HW_ERR_IO, "%s: cannot be opened: %m", path);
  size_t room = 0;
  errno = 0;
  ssize_t bytes = getdelim(text, &room, '\0', in);
  bool failed = ferror(in) != 0, whole = feof(in) != 0;
  int status = HW_OK;
  if (failed)
    status = hwi_error_set(error, HW_ERR_IO, "%s: cannot be read: %m", path);
  else if (!whole)
    status = hwi_error_set(error, HW_ERR_USAGE, "%s: is not a text file", path);
  else if (bytes < 0 && *text)
    **text = '\0';
  fclose(in);
  return status;
}

char *hwi_text_file_line(char **line)
{
  static const char blanks[] = " \t\r";
  char *end = strchrnul(*line, '\n');
  char *next = *end != '\0' ? end + 1 : NULL;
  *end = '\0';
  *line += strspn(*line, blanks);
  while (end > *line && strchr(blanks, end[-1]))
    *--end = '\0';
  return next;
}
