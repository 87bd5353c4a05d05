/* file.c - the interface to the kernel on Linux: files */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h> /* RENAME_NOREPLACE */
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include "base/decimal.h"
#include "platform/linux/call.h"
#include "platform/linux/modules.h"
#include "platform/os.h"

static long map_part(long fd, struct hwi_os_part *part, int access)
{
  long at = hwi_call_map(NULL, part->bytes, access, MAP_SHARED | MAP_NORESERVE, fd, part->off);
  part->start = hwi_call_failed(at) ? NULL : (void *)at;
  if (part->start) /* else the first touch of a page would read megabytes of holes around it, the disk's read-ahead */
    CALL3(SYS_madvise, part->start, part->bytes, MADV_RANDOM);
  return hwi_call_failed(at) ? at : 0;
}

/* Does not write through the mapping: on a full disk that would raise SIGBUS. */
static long put_contents(long fd, const struct hwi_os_part *part)
{
  long put = part->contents ? hwi_call_write_at(fd, part->contents, part->contents_bytes, part->off) : 0;
  return put < 0 ? put : put < (long)part->contents_bytes ? -ENOSPC : 0;
}

static void unmap_part(const struct hwi_os_part *part)
{
  if (part->start)
    hwi_os_unmap(part->start, part->bytes);
}

static void unmake_file(const char *path, const struct hwi_os_part *head, const struct hwi_os_part *body)
{
  unmap_part(head);
  unmap_part(body);
  hwi_os_remove_file(path);
}

/* The new file is empty until its contents are written. */
static int make_file(const char *path, uint64_t bytes, struct hwi_os_part *head, struct hwi_os_part *body)
{
  long fd = CALL4(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0)
    return (int)fd;
  head->start = body->start = NULL;
  CALL2(SYS_fchmod, fd, 0600); /* whatever the umask is */
  long result = map_part(fd, head, PROT_READ | PROT_WRITE);
  if (result == 0)
    result = map_part(fd, body, PROT_NONE);
  if (result == 0)
    result = put_contents(fd, head);
  if (result == 0)
    result = hwi_call_truncate(fd, bytes);
  CALL1(SYS_close, fd);
  if (result)
    unmake_file(path, head, body);
  return (int)result;
}

/* Writes PATH.PID.new. Returns false if that is too long. */
static bool put_new_name(char to[HWI_OS_PATH_BYTES], const char *path)
{
  static const char suffix[] = ".new";
  char digits[HWI_DECIMAL_DIGITS];
  const char *first = hwi_decimal(digits, hwi_os_pid());
  size_t bytes = strlen(path), count = (size_t)(digits + sizeof digits - first);
  if (bytes + 1 + count + sizeof suffix > HWI_OS_PATH_BYTES)
    return false;
  memcpy(to, path, bytes);
  to[bytes] = '.';
  memcpy(to + bytes + 1, first, count);
  memcpy(to + bytes + 1 + count, suffix, sizeof suffix);
  return true;
}

/* The file is made under a temporary name, so that a killed process leaves no unfinished file under `path`, and two
 * images that start at the same time do not see each other's unfinished file. If the file system cannot rename without
 * replacing, or the temporary name is too long, the file has its final name from the start. */
int hwi_os_map_new_file(const char *path, uint64_t bytes, struct hwi_os_part *head, struct hwi_os_part *body)
{
  static char new_name[HWI_OS_PATH_BYTES];
  if (CALL3(SYS_faccessat, AT_FDCWD, path, F_OK) == 0)
    return -EEXIST;
  if (put_new_name(new_name, path) && make_file(new_name, bytes, head, body) == 0) {
    int result = (int)CALL(SYS_renameat2, AT_FDCWD, new_name, AT_FDCWD, path, RENAME_NOREPLACE, 0);
    if (result == 0)
      return 0;
    unmake_file(new_name, head, body);
    if (result == -EEXIST)
      return result;
  }
  return make_file(path, bytes, head, body);
}

int hwi_os_make_link(const char *path, const char *text)
{
  return (int)CALL3(SYS_symlinkat, text, AT_FDCWD, path);
}

long hwi_os_read_link(const char *path, char *to, size_t bytes)
{
  return CALL4(SYS_readlinkat, AT_FDCWD, path, to, bytes);
}

int hwi_os_remove_file(const char *path)
{
  return (int)CALL3(SYS_unlinkat, AT_FDCWD, path, 0);
}

long hwi_os_read_file(const char *path, void *to, size_t bytes)
{
  long fd = CALL4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
  if (fd < 0)
    return fd;
  size_t have = 0;
  long got = 0;
  while (have < bytes && (got = CALL3(SYS_read, fd, (char *)to + have, bytes - have)) > 0)
    have += (size_t)got;
  CALL1(SYS_close, fd);
  return got < 0 && have == 0 ? got : (long)have;
}

long hwi_os_executable_path(char *to, size_t bytes)
{
  enum { UNKNOWN, SEARCHING, FOUND, NONE };
  static char path[HWI_OS_PATH_BYTES]; /* found once: the name may depend on the folder in which the program began */
  static uint32_t state = UNKNOWN;
  uint32_t is = UNKNOWN;
  if (__atomic_compare_exchange_n(&state, &is, (uint32_t)SEARCHING, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
    const char *name = hwi_modules_program();
    is = name && hwi_os_real_path(name, path) == 0 ? FOUND : NONE;
    __atomic_store_n(&state, is, __ATOMIC_RELEASE);
  }
  if (is == FOUND) {
    const size_t length = strlen(path);
    memcpy(to, path, length < bytes ? length : bytes);
    return (long)(length < bytes ? length : bytes);
  }
  return CALL4(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", to, bytes);
}

const char *hwi_os_executed_path(void)
{
  static const char descriptors[] = "/dev/fd/"; /* the kernel's name for a program without a path */
  const char *path = (const char *)getauxval(AT_EXECFN);
  return path && strncmp(path, descriptors, sizeof descriptors - 1) != 0 ? path : "";
}

static bool is_elf(const char *path)
{
  static const char elf[] = "\177ELF";
  char magic[sizeof elf - 1];
  return hwi_os_read_file(path, magic, sizeof magic) == sizeof magic && memcmp(magic, elf, sizeof magic) == 0;
}

const char *hwi_os_program_path(void)
{
  static char interpreter[HWI_OS_PATH_BYTES];
  const char *path = hwi_os_executed_path();
  if (*path && is_elf(path))
    return path;
  long bytes = hwi_os_executable_path(interpreter, sizeof interpreter - 1);
  return bytes > 0 ? interpreter : "/proc/self/exe";
}

long hwi_os_folder_path(char *to, size_t bytes)
{
  return CALL4(SYS_readlinkat, AT_FDCWD, "/proc/self/cwd", to, bytes);
}

long hwi_os_command_line(char *to, size_t bytes)
{
  return hwi_os_read_file("/proc/self/cmdline", to, bytes);
}

long hwi_os_environment(char *to, size_t bytes)
{
  return hwi_os_read_file("/proc/self/environ", to, bytes);
}

enum { FD_PATH_BYTES = sizeof "/proc/self/fd/" + HWI_DECIMAL_DIGITS };

static void put_fd_path(char path[FD_PATH_BYTES], long fd)
{
  static const char folder[] = "/proc/self/fd/";
  char digits[HWI_DECIMAL_DIGITS];
  const char *first = hwi_decimal(digits, (uint32_t)fd);
  size_t count = (size_t)(digits + sizeof digits - first);
  memcpy(path, folder, sizeof folder - 1);
  memcpy(path + sizeof folder - 1, first, count);
  path[sizeof folder - 1 + count] = 0;
}

int hwi_os_real_path(const char *path, char to[HWI_OS_PATH_BYTES])
{
  char link[FD_PATH_BYTES];
  long fd = CALL4(SYS_openat, AT_FDCWD, path, O_PATH | O_CLOEXEC, 0);
  if (fd < 0)
    return (int)fd;
  put_fd_path(link, fd);
  long bytes = CALL4(SYS_readlinkat, AT_FDCWD, link, to, HWI_OS_PATH_BYTES - 1);
  CALL1(SYS_close, fd);
  if (bytes < 0)
    return (int)bytes;
  to[bytes] = 0;
  return 0;
}

/* Sets the mode of the open directory, since its name may belong to another one by now. */
static void make_private(long fd)
{
  char path[FD_PATH_BYTES];
  put_fd_path(path, fd);
  CALL3(SYS_fchmodat, AT_FDCWD, path, 0700);
}

int hwi_os_make_dir(const char *path)
{
  long made = CALL3(SYS_mkdirat, AT_FDCWD, path, 0700);
  if (made && made != -EEXIST)
    return (int)made;
  long fd = CALL4(SYS_openat, AT_FDCWD, path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
  if (fd < 0)
    return (int)fd;
  if (!made)
    make_private(fd); /* whatever the umask is */
  CALL1(SYS_close, fd);
  return 0;
}

long hwi_os_owner(const char *path)
{
  struct statx info;
  long result = CALL(SYS_statx, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_UID, &info, 0);
  return result < 0 ? result : (long)info.stx_uid;
}

bool hwi_os_file_is_mine(const char *path)
{
  struct statx info;
  long result = CALL(SYS_statx, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_TYPE | STATX_UID, &info, 0);
  return result == 0 && S_ISREG(info.stx_mode) && info.stx_uid == (uint32_t)CALL0(SYS_geteuid);
}

uint64_t hwi_os_free_disk_bytes(const char *dir)
{
  struct statfs64 fs;
  if (hwi_call_file_system(dir, &fs) < 0)
    return 0;
  return (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize;
}
