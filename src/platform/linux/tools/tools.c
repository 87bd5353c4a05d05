/* tools.c - the interface to the kernel for the tools on Linux: the calling process, and files */
#define _GNU_SOURCE
#include "platform/os_tools.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "platform/linux/tools/proc.h"

/* --- the calling process --- */

unsigned hwi_os_processors(void)
{
  cpu_set_t allowed; /* the call fails if the kernel has more processors than fit: then there are enough */
  if (sched_getaffinity(0, sizeof allowed, &allowed) < 0)
    return CPU_SETSIZE;
  return (unsigned)CPU_COUNT(&allowed);
}

void hwi_os_close_from(int fd)
{
  if (close_range((unsigned)fd, ~0U, 0) == 0)
    return;
  for (; fd < (int)sysconf(_SC_OPEN_MAX); fd++)
    close(fd);
}

void hwi_os_unblock_signals(void)
{
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
}

const char *hwi_os_platform(void)
{
  return (const char *)getauxval(AT_PLATFORM);
}

void hwi_os_end_with_parent(void)
{
  prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static void set_oom_score(const char *score)
{
  int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0)
    return;
  (void)!write(fd, score, strlen(score));
  close(fd);
}

void hwi_os_run_when_idle(void)
{
  (void)!sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){0});
}

void hwi_os_prefer_to_be_killed(void)
{
  set_oom_score("1000");
}

void hwi_os_be_killed_like(uint32_t pid)
{
  char score[16];
  FILE *file = hwi_proc_open(pid, "oom_score_adj");
  if (file && fgets(score, sizeof score, file))
    set_oom_score(score);
  if (file)
    fclose(file);
}

/* --- files --- */

void hwi_os_fd_path(char path[HWI_OS_LINK_PATH_BYTES], int fd)
{
  snprintf(path, HWI_OS_LINK_PATH_BYTES, "/proc/self/fd/%d", fd);
}

struct hwi_os_file hwi_os_file_of_fd(int fd, char path[HWI_OS_PATH_BYTES])
{
  char link[HWI_OS_LINK_PATH_BYTES];
  struct stat about = {0};
  hwi_os_fd_path(link, fd);
  ssize_t bytes = readlink(link, path, HWI_OS_PATH_BYTES - 1);
  path[bytes > 0 ? bytes : 0] = 0;
  (void)!fstat(fd, &about);
  return (struct hwi_os_file){path, about.st_ino};
}

bool hwi_os_gains_privileges(int fd)
{
  struct stat about;
  struct statvfs system;
  if (fstat(fd, &about) < 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
    return false;
  if (fstatvfs(fd, &system) == 0 && (system.f_flag & ST_NOSUID))
    return false;
  if ((about.st_mode & S_ISUID) && about.st_uid != getuid())
    return true;
  if ((about.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && about.st_gid != getgid())
    return true;
  return getuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0;
}

const char *hwi_os_folder_of_large_files(void)
{
  const char *folder = getenv("TMPDIR");
  return folder && *folder ? folder : "/var/tmp";
}

int hwi_os_open_nameless(const char *folder, unsigned mode)
{
  return open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, (mode_t)mode);
}

bool hwi_os_give_name(int fd, const char *path)
{
  char self[HWI_OS_LINK_PATH_BYTES];
  hwi_os_fd_path(self, fd);
  return linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0;
}

static bool write_all(int fd, const char *from, size_t bytes)
{
  for (size_t done = 0; done < bytes;) {
    ssize_t put = write(fd, from + done, bytes - done);
    if (put < 0 && errno != EINTR)
      return false;
    done += put > 0 ? (size_t)put : 0;
  }
  return true;
}

/* copy_file_range works if both file systems support it; read and write copy the rest, or all of it. */
bool hwi_os_copy_rest(int from, int to, uint64_t *copied)
{
  enum { PIECE = 1 << 16, RANGE = 1 << 30 };
  char buffer[PIECE];
  for (ssize_t got; (got = copy_file_range(from, NULL, to, NULL, RANGE, 0)) > 0;)
    *copied += (uint64_t)got;
  for (ssize_t got; (got = read(from, buffer, sizeof buffer)) != 0;) {
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0 || !write_all(to, buffer, (size_t)got))
      return false;
    *copied += (uint64_t)got;
  }
  return true;
}

/* File systems with a journal commit the blocks of written data no later than blocks that are freed after it, and
 * killing processes removes nothing from the page cache. fdatasync would also write all other changed data. */
bool hwi_os_write_out(int fd, uint64_t off, uint64_t bytes)
{
  int flags = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  return sync_file_range(fd, (off_t)off, (off_t)bytes, flags) == 0 ||
         (errno != EIO && errno != ENOSPC && fdatasync(fd) == 0);
}

void hwi_os_punch_hole(int fd, uint64_t off, uint64_t bytes)
{
  (void)!fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)off, (off_t)bytes);
}

struct hwi_os_disk hwi_os_disk(const char *folder)
{
  struct hwi_os_disk disk = {.free_bytes = UINT64_MAX};
  struct statfs system;
  if (statfs(folder, &system) == 0) {
    disk.is_memory = (uint32_t)system.f_type == TMPFS_MAGIC || (uint32_t)system.f_type == RAMFS_MAGIC;
    if (system.f_blocks) /* some file systems do not report sizes */
      disk.free_bytes = (uint64_t)system.f_bavail * (uint64_t)system.f_bsize;
  }
  return disk;
}
