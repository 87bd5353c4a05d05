/* authority.c - who may ask a server of endpoints */
#include "live/authority.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "report/input/token_file.h"

int hwi_authority_init(struct hwi_authority *authority, const char *path, struct hwi_error *error)
{
  *authority = (struct hwi_authority){.token = ""};
  if (!path)
    return 0;
  char *token;
  const int status = hwi_token_file_read(&token, path, HWI_AUTHORITY_LEAST, HWI_AUTHORITY_MOST, error);
  if (status == 0)
    memcpy(authority->token, token, strlen(token) + 1);
  free(token);
  return status;
}

bool hwi_authority_allows(const struct hwi_authority *authority, const char *header)
{
  static const char scheme[] = "Bearer ";
  const size_t length = strlen(authority->token);
  unsigned difference = 0;
  if (length == 0)
    return true;
  if (!header || strncasecmp(header, scheme, sizeof scheme - 1) != 0)
    return false;
  header += sizeof scheme - 1;
  if (strlen(header) != length)
    return false;
  for (size_t i = 0; i < length; i++)
    difference |= (unsigned char)(header[i] ^ authority->token[i]);
  return difference == 0;
}
