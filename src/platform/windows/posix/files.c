/* files.c - POSIX' functions for files, by Windows' own (posix.h) */
#include <windows.h>

#include "platform/windows/posix/wide.h"

enum { MODE_READ_ONLY = 0444, MODE_ALL = 0666, MODE_EXECUTE = 0111, MODE_OWNER_WRITES = 0200, RANDOM_LETTERS = 6 };

/* Others may read, write, rename and remove a file that is open. */
enum { SHARE_ALL = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE };

static HANDLE handle_of(int fd)
{
  return (HANDLE)_get_osfhandle(fd);
}

/* --- opening --- */

static bool is_folder(const wchar_t *wide)
{
  DWORD attributes = GetFileAttributesW(wide);
  return attributes != INVALID_FILE_ATTRIBUTES && attributes & FILE_ATTRIBUTE_DIRECTORY;
}

static DWORD access_of(int flags)
{
  int access = flags & (O_RDONLY | O_WRONLY | O_RDWR);
  return access == O_RDWR ? GENERIC_READ | GENERIC_WRITE : access == O_WRONLY ? GENERIC_WRITE : GENERIC_READ;
}

static DWORD disposition_of(int flags)
{
  if (flags & O_CREAT)
    return flags & O_EXCL ? CREATE_NEW : flags & O_TRUNC ? CREATE_ALWAYS : OPEN_ALWAYS;
  return flags & O_TRUNC ? TRUNCATE_EXISTING : OPEN_EXISTING;
}

/* A folder is opened too, as on POSIX, for fstat to say what it is. */
static int open_wide(const wchar_t *wide, int flags)
{
  DWORD attributes = FILE_ATTRIBUTE_NORMAL | FILE_FLAG_BACKUP_SEMANTICS;
  if ((flags & (O_WRONLY | O_RDWR | O_CREAT)) && is_folder(wide)) {
    errno = EISDIR;
    return -1;
  }
  HANDLE handle = CreateFileW(wide, access_of(flags), SHARE_ALL, NULL, disposition_of(flags), attributes, NULL);
  if (handle == INVALID_HANDLE_VALUE)
    return hwi_windows_fail();
  int fd = _open_osfhandle((intptr_t)handle, (flags & O_APPEND) | _O_BINARY | _O_NOINHERIT);
  if (fd < 0)
    CloseHandle(handle);
  return fd;
}

int hwi_windows_open(const char *path, int flags, ...)
{
  wchar_t *wide = hwi_wide_of(path);
  int fd = wide ? open_wide(wide, flags) : -1;
  free(wide);
  return fd;
}

static int flags_of_mode(const char *mode)
{
  bool both = strchr(mode, '+');
  switch (mode[0]) {
  case 'w':
    return O_CREAT | O_TRUNC | (both ? O_RDWR : O_WRONLY);
  case 'a':
    return O_CREAT | O_APPEND | (both ? O_RDWR : O_WRONLY);
  default:
    return both ? O_RDWR : O_RDONLY;
  }
}

FILE *hwi_windows_fdopen(int fd, const char *mode)
{
  const char plain[] = {mode[0], 'b', strchr(mode, '+') ? '+' : '\0', '\0'};
  return _fdopen(fd, plain);
}

/* Reading a folder fails with EISDIR, as on POSIX; there it fails later, which callers do not tell apart. */
FILE *hwi_windows_fopen(const char *path, const char *mode)
{
  int fd = hwi_windows_open(path, flags_of_mode(mode));
  FILE *stream = fd >= 0 ? hwi_windows_fdopen(fd, mode) : NULL;
  if (fd >= 0 && !stream)
    close(fd);
  return stream;
}

/* --- what a file is --- */

/* Windows counts units of 100 ns since 1601. */
static struct timespec time_of(FILETIME time)
{
  enum { UNITS_PER_S = 10000000, NS_PER_UNIT = 100 };
  static const int64_t s_to_1970 = 11644473600;
  const int64_t units = (int64_t)((uint64_t)time.dwHighDateTime << 32 | time.dwLowDateTime);
  return (struct timespec){.tv_sec = units / UNITS_PER_S - s_to_1970,
                           .tv_nsec = (long)(units % UNITS_PER_S * NS_PER_UNIT)};
}

static mode_t mode_of(DWORD attributes)
{
  unsigned mode = attributes & FILE_ATTRIBUTE_READONLY ? MODE_READ_ONLY : MODE_ALL;
  return (mode_t)(attributes & FILE_ATTRIBUTE_DIRECTORY ? S_IFDIR | mode | MODE_EXECUTE : S_IFREG | mode);
}

static int stat_handle(HANDLE handle, struct hwi_windows_stat *about)
{
  BY_HANDLE_FILE_INFORMATION information;
  *about = (struct hwi_windows_stat){.st_mode = GetFileType(handle) == FILE_TYPE_PIPE ? S_IFIFO : S_IFCHR};
  if (GetFileType(handle) != FILE_TYPE_DISK)
    return 0;
  if (!GetFileInformationByHandle(handle, &information))
    return hwi_windows_fail();
  *about = (struct hwi_windows_stat){
      .st_dev = information.dwVolumeSerialNumber,
      .st_ino = (uint64_t)information.nFileIndexHigh << 32 | information.nFileIndexLow,
      .st_mode = mode_of(information.dwFileAttributes),
      .st_nlink = information.nNumberOfLinks,
      .st_size = (int64_t)((uint64_t)information.nFileSizeHigh << 32 | information.nFileSizeLow),
      .st_mtim = time_of(information.ftLastWriteTime),
      .st_ctim = time_of(information.ftCreationTime),
  };
  return 0;
}

int hwi_windows_fstat(int fd, struct hwi_windows_stat *about)
{
  return stat_handle(handle_of(fd), about);
}

int hwi_windows_stat(const char *path, struct hwi_windows_stat *about)
{
  wchar_t *wide = hwi_wide_of(path);
  if (!wide)
    return -1;
  HANDLE handle =
      CreateFileW(wide, FILE_READ_ATTRIBUTES, SHARE_ALL, NULL, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);
  free(wide);
  if (handle == INVALID_HANDLE_VALUE)
    return hwi_windows_fail();
  int status = stat_handle(handle, about);
  CloseHandle(handle);
  return status;
}

int hwi_windows_access(const char *path, int mode)
{
  struct hwi_windows_stat about;
  if (hwi_windows_stat(path, &about) != 0)
    return -1;
  if (!(mode & W_OK) || about.st_mode & MODE_OWNER_WRITES)
    return 0;
  errno = EACCES;
  return -1;
}

/* All files that one sees count as one's own. */
unsigned hwi_windows_user(void)
{
  return 0;
}

/* Files get the rights of their folder: there is nothing to be changed. */
int hwi_windows_fchmod(int fd, mode_t mode)
{
  (void)fd, (void)mode;
  return 0;
}

mode_t hwi_windows_umask(mode_t mask)
{
  (void)mask;
  return 0;
}

/* --- contents --- */

int64_t hwi_windows_seek(int fd, int64_t off, int whence)
{
  if (whence != SEEK_DATA)
    return _lseeki64(fd, off, whence);
  struct hwi_windows_stat about;
  if (hwi_windows_fstat(fd, &about) != 0)
    return -1;
  errno = ENXIO;
  return off < about.st_size ? off : -1;
}

static unsigned at_most_int(size_t bytes)
{
  return bytes < INT_MAX ? (unsigned)bytes : INT_MAX;
}

ssize_t hwi_windows_read(int fd, void *to, size_t bytes)
{
  return _read(fd, to, at_most_int(bytes));
}

ssize_t hwi_windows_write(int fd, const void *from, size_t bytes)
{
  return _write(fd, from, at_most_int(bytes));
}

static OVERLAPPED place_of(int64_t off)
{
  return (OVERLAPPED){.Offset = (DWORD)off, .OffsetHigh = (DWORD)(off >> 32)};
}

/* These two move the file's position, other than on POSIX: who uses them sets it before each read and write. */
ssize_t hwi_windows_pread(int fd, void *to, size_t bytes, int64_t off)
{
  OVERLAPPED place = place_of(off);
  DWORD done = 0;
  if (ReadFile(handle_of(fd), to, at_most_int(bytes), &done, &place) || GetLastError() == ERROR_HANDLE_EOF)
    return done;
  return hwi_windows_fail();
}

ssize_t hwi_windows_pwrite(int fd, const void *from, size_t bytes, int64_t off)
{
  OVERLAPPED place = place_of(off);
  DWORD done = 0;
  return WriteFile(handle_of(fd), from, at_most_int(bytes), &done, &place) ? (ssize_t)done : hwi_windows_fail();
}

/* --- names --- */

/* Traces that link to other ones are Linux's. */
ssize_t hwi_windows_readlink(const char *path, char *to, size_t bytes)
{
  (void)path, (void)to, (void)bytes;
  errno = EINVAL;
  return -1;
}

int hwi_windows_rename(const char *from, const char *to)
{
  wchar_t *wide_from = hwi_wide_of(from), *wide_to = hwi_wide_of(to);
  int status = -1;
  if (wide_from && wide_to)
    status = MoveFileExW(wide_from, wide_to, MOVEFILE_REPLACE_EXISTING) ? 0 : hwi_windows_fail();
  free(wide_from);
  free(wide_to);
  return status;
}

int hwi_windows_unlink(const char *path)
{
  wchar_t *wide = hwi_wide_of(path);
  int status = !wide ? -1 : DeleteFileW(wide) ? 0 : hwi_windows_fail();
  free(wide);
  return status;
}

int hwi_windows_mkdir(const char *path, mode_t mode)
{
  (void)mode;
  wchar_t *wide = hwi_wide_of(path);
  int status = !wide ? -1 : CreateDirectoryW(wide, NULL) ? 0 : hwi_windows_fail();
  free(wide);
  return status;
}

static void choose_letters(char *letters)
{
  static const char all[] = "abcdefghijklmnopqrstuvwxyz0123456789";
  unsigned number;
  for (int i = 0; i < RANDOM_LETTERS; i++)
    letters[i] = all[rand_s(&number) == 0 ? number % (sizeof all - 1) : 0];
}

int hwi_windows_mkostemp(char *path, int flags)
{
  enum { TRIES = 100 };
  int fd = -1;
  errno = EEXIST;
  for (int i = 0; i < TRIES && fd < 0 && errno == EEXIST; i++) {
    choose_letters(path + strlen(path) - RANDOM_LETTERS);
    fd = hwi_windows_open(path, flags | O_CREAT | O_EXCL | O_RDWR, MODE_ALL);
  }
  return fd;
}

/* `to` is NULL: the caller frees the result. The file must exist. */
char *hwi_windows_realpath(const char *path, char *to)
{
  struct hwi_windows_stat about;
  wchar_t *wide = !to && hwi_windows_stat(path, &about) == 0 ? hwi_wide_of(path) : NULL;
  wchar_t *full = wide ? _wfullpath(NULL, wide, 0) : NULL;
  char *found = full ? hwi_wide_to_utf8(full) : NULL;
  free(full);
  free(wide);
  return found;
}

/* --- folders --- */

struct hwi_windows_folder {
  HANDLE search; /* NULL: at the end */
  WIN32_FIND_DATAW found;
  struct hwi_windows_entry entry;
};

static struct hwi_windows_folder *search_in(const wchar_t *pattern)
{
  struct hwi_windows_folder *folder = calloc(1, sizeof *folder);
  if (!folder)
    return NULL;
  folder->search = FindFirstFileW(pattern, &folder->found);
  if (folder->search != INVALID_HANDLE_VALUE)
    return folder;
  hwi_windows_fail();
  free(folder);
  return NULL;
}

struct hwi_windows_folder *hwi_windows_opendir(const char *path)
{
  char *pattern = NULL;
  wchar_t *wide = asprintf(&pattern, "%s/*", path) >= 0 ? hwi_wide_of(pattern) : NULL;
  struct hwi_windows_folder *folder = wide ? search_in(wide) : NULL;
  int os_error = errno;
  free(wide);
  free(pattern);
  errno = os_error;
  return folder;
}

struct hwi_windows_entry *hwi_windows_readdir(struct hwi_windows_folder *folder)
{
  if (!folder->search)
    return NULL;
  char *name = hwi_wide_to_utf8(folder->found.cFileName);
  snprintf(folder->entry.d_name, sizeof folder->entry.d_name, "%s", name ? name : "");
  free(name);
  if (!FindNextFileW(folder->search, &folder->found)) {
    FindClose(folder->search);
    folder->search = NULL;
  }
  return &folder->entry;
}

int hwi_windows_closedir(struct hwi_windows_folder *folder)
{
  if (folder->search)
    FindClose(folder->search);
  free(folder);
  return 0;
}
