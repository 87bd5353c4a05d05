/* token.c - the secret in the address of a live page */
#include "live/token.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "live/folder.h"

static bool draw(char token[HWI_LIVE_TOKEN_CHARS + 1])
{
  uint8_t bytes[HWI_LIVE_TOKEN_CHARS / 2];
  if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
    return false;
  for (size_t i = 0; i < sizeof bytes; i++)
    snprintf(token + 2 * i, 3, "%02x", bytes[i]);
  return true;
}

/* Reads the file's token; or writes `token` into it, if it has none. */
static void keep(int fd, char token[HWI_LIVE_TOKEN_CHARS + 1])
{
  char kept[HWI_LIVE_TOKEN_CHARS + 1] = "";
  if (read(fd, kept, HWI_LIVE_TOKEN_CHARS) == HWI_LIVE_TOKEN_CHARS &&
      strspn(kept, "0123456789abcdef") == HWI_LIVE_TOKEN_CHARS)
    memcpy(token, kept, sizeof kept);
  else
    (void)!pwrite(fd, token, HWI_LIVE_TOKEN_CHARS, 0);
}

bool hwi_live_token_make(char token[HWI_LIVE_TOKEN_CHARS + 1], uint16_t port)
{
  char name[32];
  if (!draw(token))
    return false;
  const int folder = port ? hwi_live_folder_open() : -1;
  if (folder < 0)
    return true;
  snprintf(name, sizeof name, "live-%u.token", port);
  const int fd = openat(folder, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (fd >= 0) {
    keep(fd, token);
    close(fd);
  }
  close(folder);
  return true;
}

bool hwi_live_token_is(const char token[HWI_LIVE_TOKEN_CHARS + 1], const char *given)
{
  unsigned difference = 0;
  if (!given || strlen(given) != HWI_LIVE_TOKEN_CHARS)
    return false;
  for (size_t i = 0; i < HWI_LIVE_TOKEN_CHARS; i++)
    difference |= (unsigned char)(given[i] ^ token[i]);
  return difference == 0;
}
