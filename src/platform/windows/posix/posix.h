/* posix.h - what the tools use of POSIX and glibc, and mingw-w64 does not have or has in another way; the build forces it into every C
 * file for Windows
 *
 * path     UTF-8, with / or \ between folders. Windows' own functions get it as UTF-16; msvcrt's would take it in the code page of the
 *          user's language.
 * file     is opened in binary mode, and others may rename or remove it meanwhile, as on POSIX.
 * stream   a FILE. Those of the functions that glibc alone has, fopencookie and open_memstream, are temporary files; the text moves on
 *          when fclose is called.
 * Functions and structures of this header have names of their own, so that those of mingw-w64 remain; macros give them the usual names.
 */
#ifndef HWI_PLATFORM_WINDOWS_POSIX_POSIX_H
#define HWI_PLATFORM_WINDOWS_POSIX_POSIX_H

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

typedef unsigned uid_t, gid_t;

/* --- files --- */

#define O_CLOEXEC _O_NOINHERIT
#define O_NONBLOCK 0
#define O_NOCTTY 0
#define O_NOFOLLOW 0
#define SEEK_DATA 3 /* a file has no holes that could be left out: data begins where one looks for it */

#undef S_ISLNK
#undef S_ISSOCK
#define S_ISLNK(mode) ((void)(mode), 0)
#define S_ISSOCK(mode) ((void)(mode), 0)

struct hwi_windows_stat {
  uint64_t st_dev, st_ino;
  mode_t st_mode;
  unsigned st_nlink, st_uid;
  int64_t st_size;
  struct timespec st_mtim, st_ctim;
};

int hwi_windows_open(const char *path, int flags, ...);
FILE *hwi_windows_fopen(const char *path, const char *mode);
FILE *hwi_windows_fdopen(int fd, const char *mode);
int hwi_windows_fclose(FILE *stream);
int hwi_windows_stat(const char *path, struct hwi_windows_stat *about);
int hwi_windows_fstat(int fd, struct hwi_windows_stat *about);
int64_t hwi_windows_seek(int fd, int64_t off, int whence);
ssize_t hwi_windows_read(int fd, void *to, size_t bytes);
ssize_t hwi_windows_write(int fd, const void *from, size_t bytes);
ssize_t hwi_windows_pread(int fd, void *to, size_t bytes, int64_t off);
ssize_t hwi_windows_pwrite(int fd, const void *from, size_t bytes, int64_t off);
ssize_t hwi_windows_readlink(const char *path, char *to, size_t bytes);
int hwi_windows_rename(const char *from, const char *to);
int hwi_windows_unlink(const char *path);
int hwi_windows_mkdir(const char *path, mode_t mode);
int hwi_windows_access(const char *path, int mode);
int hwi_windows_fchmod(int fd, mode_t mode);
mode_t hwi_windows_umask(mode_t mask);
int hwi_windows_mkostemp(char *path, int flags);
char *hwi_windows_realpath(const char *path, char *to);
unsigned hwi_windows_user(void);
int hwi_windows_isatty(int fd);

#undef stat
#undef fstat
#undef lseek
#define stat hwi_windows_stat
#define lstat hwi_windows_stat
#define fstat hwi_windows_fstat
#define open hwi_windows_open
#define fopen hwi_windows_fopen
#define fdopen hwi_windows_fdopen
#define isatty hwi_windows_isatty
#define fclose hwi_windows_fclose
#define lseek hwi_windows_seek
#define read hwi_windows_read
#define write hwi_windows_write
#define pread hwi_windows_pread
#define pwrite hwi_windows_pwrite
#define readlink hwi_windows_readlink
#define rename hwi_windows_rename
#define unlink hwi_windows_unlink
#define mkdir hwi_windows_mkdir
#define access hwi_windows_access
#define fchmod hwi_windows_fchmod
#define umask hwi_windows_umask
#define mkostemp hwi_windows_mkostemp
#define realpath hwi_windows_realpath
#define geteuid hwi_windows_user

struct hwi_windows_entry {
  char d_name[1024];
};
struct hwi_windows_folder;
struct hwi_windows_folder *hwi_windows_opendir(const char *path);
struct hwi_windows_entry *hwi_windows_readdir(struct hwi_windows_folder *folder);
int hwi_windows_closedir(struct hwi_windows_folder *folder);

/* --- streams --- */

typedef struct {
  ssize_t (*read)(void *cookie, char *to, size_t bytes);
  ssize_t (*write)(void *cookie, const char *from, size_t bytes);
  int (*seek)(void *cookie, int64_t *off, int whence);
  int (*close)(void *cookie);
} cookie_io_functions_t;

FILE *fopencookie(void *cookie, const char *mode, cookie_io_functions_t functions);
FILE *open_memstream(char **text, size_t *bytes);
ssize_t getdelim(char **line, size_t *room, int end, FILE *stream);
int hwi_windows_vsnprintf(char *to, size_t room, const char *format, va_list arguments);
#define vsnprintf hwi_windows_vsnprintf

/* --- texts and lists --- */

char *strndup(const char *text, size_t most);
char *strchrnul(const char *text, int letter);
void *memrchr(const void *bytes, int byte, size_t count);
const char *sigabbrev_np(int number);
int wcwidth(wchar_t point);
void hwi_windows_qsort(void *list, size_t count, size_t item_bytes, int (*compare)(const void *, const void *));
#define qsort hwi_windows_qsort /* items that compare equal keep their order, as with glibc: reports are the same */
void qsort_r(void *list, size_t count, size_t item_bytes, int (*compare)(const void *, const void *, void *),
             void *context);
void *hwi_windows_aligned_alloc(size_t align, size_t bytes);
#define aligned_alloc hwi_windows_aligned_alloc
#define secure_getenv getenv

/* --- Linux's numbers, which traces have --- */

#define SCHED_BATCH 3
#define SCHED_IDLE 5
#define SCHED_DEADLINE 6
#define SIGHUP 1
#define SIGKILL 9
#define SIGXFSZ 22 /* SIGABRT: there is no limit of file sizes: the setting has no effect */

#endif
