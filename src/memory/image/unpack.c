/* unpack.c - makes a plain file of a compressed one, and of a core dump that systemd holds
 *
 * The plain bytes go to a file without a name, so that nothing is left whatever happens. A core dump is mostly zeros: whole
 * pages of them are not written.
 */
#include "memory/image/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "platform/os_tools.h"

enum { PIECE_BYTES = 1 << 17, PAGE_BYTES = 4096 };

/* The plain file while it is written. */
struct plain {
  const char *path; /* of the compressed one */
  struct hwi_error *error;
  char folder[HWI_OS_PATH_BYTES];
  int fd;
  off_t bytes;
};

/* --- the plain file --- */

static int create_plain(struct plain *plain)
{
  snprintf(plain->folder, sizeof plain->folder, "%s", hwi_os_folder_of_large_files());
  plain->fd = hwi_os_open_nameless(plain->folder, 0600);
  if (plain->fd < 0) {
    char name[HWI_OS_PATH_BYTES + 32];
    snprintf(name, sizeof name, "%s/heapwright-core-XXXXXX", plain->folder);
    plain->fd = mkostemp(name, O_CLOEXEC);
    if (plain->fd >= 0)
      unlink(name);
  }
  return plain->fd >= 0 ? 0
                        : hwi_error_set(plain->error, HW_ERR_IO,
                                        "cannot decompress %s into the folder %s: %s; set TMPDIR to another one",
                                        plain->path, plain->folder, strerror(errno));
}

static bool is_zero(const unsigned char *bytes, size_t count)
{
  return bytes[0] == 0 && memcmp(bytes, bytes + 1, count - 1) == 0;
}

static int write_piece(struct plain *plain, const unsigned char *from, size_t bytes)
{
  while (bytes) {
    const size_t page = bytes < PAGE_BYTES ? bytes : PAGE_BYTES;
    size_t count = page;
    if (is_zero(from, page)) {
      plain->bytes += (off_t)page;
    } else {
      while (count < bytes && !is_zero(from + count, bytes - count < PAGE_BYTES ? bytes - count : PAGE_BYTES))
        count += bytes - count < PAGE_BYTES ? bytes - count : PAGE_BYTES;
      const ssize_t put = pwrite(plain->fd, from, count, plain->bytes);
      if (put < 0 && errno == EINTR)
        continue;
      if (put <= 0)
        return hwi_error_set(plain->error, HW_ERR_IO,
                             "cannot decompress %s into the folder %s: %s; set TMPDIR to a folder with more room",
                             plain->path, plain->folder, strerror(put < 0 ? errno : ENOSPC));
      count = (size_t)put;
      plain->bytes += put;
    }
    from += count;
    bytes -= count;
  }
  return 0;
}

static int cannot_read(const struct plain *plain)
{
  return hwi_error_set(plain->error, HW_ERR_IO, "cannot read %s: %s", plain->path, strerror(errno));
}

static int is_damaged(const struct plain *plain, const char *why)
{
  return hwi_error_set(plain->error, HW_ERR_DAMAGED, "%s cannot be decompressed: %s", plain->path, why);
}

/* --- zstd and gzip --- */

static int unpack_zstd(struct plain *plain, int fd)
{
  static unsigned char in[PIECE_BYTES], out[PIECE_BYTES];
  ZSTD_DCtx *context = ZSTD_createDCtx();
  size_t left = 0;
  int status = context ? 0 : hwi_error_set(plain->error, HW_ERR_MEMORY, "no memory to decompress %s", plain->path);
  while (status == 0) {
    const ssize_t got = read(fd, in, sizeof in);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0) {
      status = got < 0 ? cannot_read(plain) : left ? is_damaged(plain, "it is truncated") : 0;
      break;
    }
    ZSTD_inBuffer from = {in, (size_t)got, 0};
    for (bool is_full = false; status == 0 && (from.pos < from.size || (is_full && left));) {
      ZSTD_outBuffer to = {out, sizeof out, 0};
      left = ZSTD_decompressStream(context, &to, &from);
      is_full = to.pos == to.size;
      status = ZSTD_isError(left) ? is_damaged(plain, ZSTD_getErrorName(left)) : write_piece(plain, out, to.pos);
    }
  }
  ZSTD_freeDCtx(context);
  return status;
}

static int unpack_gzip(struct plain *plain, int fd)
{
  static unsigned char out[PIECE_BYTES];
  const int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  gzFile file = own >= 0 ? gzdopen(own, "rb") : NULL;
  int status = 0, got, reason;
  if (!file) {
    if (own >= 0)
      close(own);
    return hwi_error_set(plain->error, HW_ERR_MEMORY, "no memory to decompress %s", plain->path);
  }
  while (status == 0 && (got = gzread(file, out, sizeof out)) != 0)
    status = got < 0 ? is_damaged(plain, gzerror(file, &reason)) : write_piece(plain, out, (size_t)got);
  const int closed = gzclose(file);
  return status == 0 && closed == Z_BUF_ERROR ? is_damaged(plain, "it is truncated") : status;
}

/* --- programs --- */

/* Starts a program that reads `from` (-1: nothing) and writes to *to, and its messages to `messages` (-1: stderr). Returns its PID,
 * or -1 with errno set. */
static pid_t start(const char *const *words, int from, int messages, int *to)
{
  extern char **environ;
  int ends[2], reason;
  pid_t pid;
  posix_spawn_file_actions_t actions;
  if (pipe2(ends, O_CLOEXEC) < 0)
    return -1;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  if (messages >= 0)
    posix_spawn_file_actions_adddup2(&actions, messages, STDERR_FILENO);
  if (from >= 0)
    posix_spawn_file_actions_adddup2(&actions, from, STDIN_FILENO);
  else
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  reason = posix_spawnp(&pid, words[0], &actions, NULL, (char *const *)(uintptr_t)words, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  *to = ends[0];
  if (reason == 0)
    return pid;
  close(ends[0]);
  errno = reason;
  return -1;
}

/* Copies what a program writes. Returns 0, a negative status, or 1 if the program failed. */
static int copy_from(struct plain *plain, const char *const *words, int fd, int messages)
{
  static unsigned char out[PIECE_BYTES];
  int from, result = 0, status = 0;
  const pid_t pid = start(words, fd, messages, &from);
  if (pid < 0)
    return hwi_error_set(plain->error, HW_ERR_IO, "cannot read %s: the program %s cannot be started: %s; install it",
                         plain->path, words[0], strerror(errno));
  while (status == 0) {
    const ssize_t got = read(from, out, sizeof out);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0) {
      status = got < 0 ? cannot_read(plain) : 0;
      break;
    }
    status = write_piece(plain, out, (size_t)got);
  }
  close(from);
  while (waitpid(pid, &result, 0) < 0 && errno == EINTR)
    ;
  return status < 0 ? status : result != 0;
}

static int unpack_by(struct plain *plain, int fd, const char *program)
{
  const char *const words[] = {program, "-dc", NULL};
  const int status = copy_from(plain, words, fd, -1);
  return status > 0 ? is_damaged(plain, "it is damaged or truncated") : status;
}

/* --- all of it --- */

enum packing { PLAIN, ZSTD, GZIP, LZ4, XZ };

static enum packing packing_of(int fd)
{
  static const struct {
    unsigned char bytes[6];
    size_t count;
    enum packing packing;
  } begins[] = {{{0x28, 0xb5, 0x2f, 0xfd}, 4, ZSTD},
                {{0x1f, 0x8b, 8}, 3, GZIP},
                {{4, 0x22, 0x4d, 0x18}, 4, LZ4},
                {{0xfd, '7', 'z', 'X', 'Z', 0}, 6, XZ}};
  unsigned char first[6];
  const ssize_t got = pread(fd, first, sizeof first, 0);
  for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
    if (got >= (ssize_t)begins[i].count && memcmp(first, begins[i].bytes, begins[i].count) == 0)
      return begins[i].packing;
  return PLAIN;
}

/* Zeros at the end were not written. Returns the descriptor or the status. */
static int finish(struct plain *plain, int status)
{
  if (status == 0 && ftruncate(plain->fd, plain->bytes) < 0)
    status = hwi_error_set(plain->error, HW_ERR_IO, "cannot decompress %s into the folder %s: %s", plain->path,
                           plain->folder, strerror(errno));
  if (status == 0)
    return plain->fd;
  close(plain->fd);
  return status;
}

int hwi_unpack(int fd, const char *path, struct hwi_error *error)
{
  struct plain plain = {.path = path, .error = error};
  const enum packing packing = packing_of(fd);
  if (packing == PLAIN)
    return fd;
  int status = create_plain(&plain);
  if (status == 0) {
    status = packing == ZSTD   ? unpack_zstd(&plain, fd)
             : packing == GZIP ? unpack_gzip(&plain, fd)
                               : unpack_by(&plain, fd, packing == LZ4 ? "lz4" : "xz");
    status = finish(&plain, status);
  }
  close(fd);
  return status;
}

/* coredumpctl writes what it knows of the core dump to stderr, and then, if it fails, why. `line` gets its last line. */
static void read_last_line(int messages, char *line, size_t size)
{
  const off_t end = lseek(messages, 0, SEEK_END), begin = end > (off_t)size - 1 ? end - (off_t)size + 1 : 0;
  const ssize_t got = end > 0 ? pread(messages, line, size - 1, begin) : 0;
  size_t bytes = got > 0 ? (size_t)got : 0;
  while (bytes > 0 && line[bytes - 1] == '\n')
    bytes--;
  line[bytes] = 0;
  const char *last = strrchr(line, '\n');
  if (last)
    memmove(line, last + 1, strlen(last));
}

int hwi_unpack_stored(const char *match, struct hwi_error *error)
{
  enum { LINE_BYTES = 256 };
  const char *const words[] = {"coredumpctl", "--quiet", "dump", match, NULL};
  struct plain plain = {.path = match, .error = error};
  char why[LINE_BYTES] = "";
  int status = create_plain(&plain);
  if (status < 0)
    return status;
  const int messages = memfd_create("messages", MFD_CLOEXEC);
  status = copy_from(&plain, words, -1, messages);
  if (messages >= 0) {
    read_last_line(messages, why, sizeof why);
    close(messages);
  }
  if (status > 0 || (status == 0 && plain.bytes == 0))
    status = hwi_error_set(error, HW_ERR_USAGE, "coredumpctl has no core dump of %s: %s; see `coredumpctl list`", match,
                           why[0] ? why : "it wrote nothing");
  return finish(&plain, status);
}
