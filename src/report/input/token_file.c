/* token_file.c - reads a file with a token, which users do not write into a command line, where others see it */
#include "report/input/token_file.h"

#include <stdlib.h>
#include <string.h>

#include "report/input/text_file.h"

static int check(const char *text, const char *path, size_t least, size_t most, struct hwi_error *error)
{
  const size_t bytes = strcspn(text, "\r\n");
  if (bytes == 0 || text[bytes + strspn(text + bytes, "\r\n")])
    return hwi_error_set(error, HW_ERR_USAGE, "--token: %s must have one line, the token", path);
  for (size_t i = 0; i < bytes; i++)
    if (text[i] <= ' ' || text[i] > '~')
      return hwi_error_set(error, HW_ERR_USAGE,
                           "--token: the token in %s has a blank, or a character that is not ASCII", path);
  if (bytes < least || bytes > most)
    return hwi_error_set(
        error, HW_ERR_USAGE,
        "--token: the token in %s must have %zu to %zu characters, such as those of: openssl rand -hex 16", path, least,
        most);
  return 0;
}

int hwi_token_file_read(char **token, const char *path, size_t least, size_t most, struct hwi_error *error)
{
  struct hwi_error why = {0};
  int status = hwi_text_file_read(path, token, &why);
  if (status < 0)
    hwi_error_set(error, status, "--token: %s", why.text);
  else
    status = check(*token, path, least, most, error);
  if (status < 0) {
    free(*token);
    *token = NULL;
  } else {
    (*token)[strcspn(*token, "\r\n")] = 0;
  }
  return status;
}
