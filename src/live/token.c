/* token.c - the secret in the address of a live page */
#include "live/token.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static bool draw(char token[HWI_LIVE_TOKEN_CHARS + 1])
{
  uint8_t bytes[HWI_LIVE_TOKEN_CHARS / 2];
  if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
    return false;
  for (size_t i = 0; i < sizeof bytes; i++)
    snprintf(token + 2 * i, 3, "%02x", bytes[i]);
  return true;
}

/* Opens the folder of tokens, which nobody else can write to. Returns -1 if there is none. */
static int open_folder(void)
{
  const char *runtime = getenv("XDG_RUNTIME_DIR");
  struct stat about;
  const int parent = runtime && *runtime == '/' ? open(runtime, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
  if (parent < 0)
    return -1;
  int folder = mkdirat(parent, "heapwright", S_IRWXU) == 0 || errno == EEXIST
                   ? openat(parent, "heapwright", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                   : -1;
  close(parent);
  if (folder >= 0 &&
      (fstat(folder, &about) < 0 || about.st_uid != geteuid() || (about.st_mode & (S_IRWXG | S_IRWXO)))) {
    close(folder);
    folder = -1;
  }
  return folder;
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
  const int folder = port ? open_folder() : -1;
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
