/* authority.c - who may ask a server of endpoints */
#include "live/authority.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

int hwi_authority_init(struct hwi_authority *authority, const char *path, struct hwi_error *error)
{
  char bytes[HWI_AUTHORITY_MOST + 3] = "";
  *authority = (struct hwi_authority){.token = ""};
  if (!path)
    return 0;
  FILE *file = fopen(path, "re");
  const size_t got = file ? fread(bytes, 1, sizeof bytes - 1, file) : 0;
  const bool is_read = file && !ferror(file);
  if (!is_read)
    hwi_error_set(error, HW_ERR_IO, "--token: cannot read %s: %s", path, strerror(errno));
  if (file)
    fclose(file);
  if (!is_read)
    return HW_ERR_IO;
  const size_t length = strcspn(bytes, "\r\n");
  if (strspn(bytes + length, "\r\n") != got - length)
    return hwi_error_set(error, HW_ERR_USAGE, "--token: %s must have one line of at most %d characters", path,
                         HWI_AUTHORITY_MOST);
  for (size_t i = 0; i < length; i++)
    if (bytes[i] <= ' ' || bytes[i] > '~')
      return hwi_error_set(error, HW_ERR_USAGE,
                           "--token: the token in %s has a blank, or a character that is not ASCII", path);
  if (length < HWI_AUTHORITY_LEAST || length > HWI_AUTHORITY_MOST)
    return hwi_error_set(
        error, HW_ERR_USAGE,
        "--token: the token in %s must have %d to %d characters, such as those of: openssl rand -hex 16", path,
        HWI_AUTHORITY_LEAST, HWI_AUTHORITY_MOST);
  memcpy(authority->token, bytes, length);
  return 0;
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
