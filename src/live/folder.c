/* folder.c - the user's folder of what outlives a server */
#include "live/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int hwi_live_folder_open(void)
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

/* --- a port that is wanted --- */

enum { NAME_BYTES = 32 };

static void put_name(char name[NAME_BYTES], uint16_t port)
{
  snprintf(name, NAME_BYTES, "live-%u.wanted", port);
}

void hwi_live_want_port(uint16_t port, bool is_wanted)
{
  char name[NAME_BYTES];
  const int folder = hwi_live_folder_open();
  put_name(name, port);
  if (folder < 0)
    return;
  const int fd = is_wanted ? openat(folder, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR) : -1;
  if (!is_wanted)
    unlinkat(folder, name, 0);
  if (fd >= 0)
    close(fd);
  close(folder);
}

bool hwi_live_is_port_wanted(uint16_t port)
{
  char name[NAME_BYTES];
  const int folder = hwi_live_folder_open();
  put_name(name, port);
  const bool is_wanted = folder >= 0 && faccessat(folder, name, F_OK, 0) == 0;
  if (folder >= 0)
    close(folder);
  return is_wanted;
}
