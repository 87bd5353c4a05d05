/* decompressed.c - reads files that may be compressed */
#include "export/decompressed.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <zlib.h>
#include <zstd.h>

enum { INPUT_BYTES = 1 << 16, MAGIC_BYTES = 4 };
static const uint8_t zstd_magic[MAGIC_BYTES] = {0x28, 0xb5, 0x2f, 0xfd};

struct zstd_input {
  FILE *file;
  ZSTD_DCtx *context;
  ZSTD_inBuffer in;
  size_t left; /* 0: at the end of a frame */
  uint8_t bytes[INPUT_BYTES];
};

static ssize_t read_gzip(void *cookie, char *to, size_t bytes)
{
  int got = gzread(cookie, to, (unsigned)bytes), status = Z_OK; /* stdio's buffers are small */
  if (got == 0)
    gzerror(cookie, &status); /* only this shows that a file was truncated */
  if (got < 0)
    gzerror(cookie, &status);
  if (got >= 0 && status == Z_OK)
    return got;
  if (status != Z_ERRNO)
    errno = EBADMSG;
  return -1;
}

static int close_gzip(void *cookie)
{
  return gzclose(cookie) == Z_OK ? 0 : EOF;
}

static ssize_t read_zstd(void *cookie, char *to, size_t bytes)
{
  struct zstd_input *input = cookie;
  ZSTD_outBuffer out = {to, bytes, 0};
  while (out.pos == 0) {
    if (input->in.pos == input->in.size) {
      input->in.size = fread(input->bytes, 1, sizeof input->bytes, input->file);
      input->in.pos = 0;
      if (input->in.size == 0 && input->left == 0)
        return 0;
      if (input->in.size == 0) {
        errno = ferror(input->file) ? EIO : EBADMSG; /* cut short */
        return -1;
      }
    }
    input->left = ZSTD_decompressStream(input->context, &out, &input->in);
    if (ZSTD_isError(input->left)) {
      errno = EBADMSG;
      return -1;
    }
  }
  return (ssize_t)out.pos;
}

static int close_zstd(void *cookie)
{
  struct zstd_input *input = cookie;
  int status = fclose(input->file);
  ZSTD_freeDCtx(input->context);
  free(input);
  return status;
}

/* Takes ownership of the file. */
static FILE *open_zstd(FILE *file)
{
  struct zstd_input *input = calloc(1, sizeof *input);
  if (!input) {
    fclose(file);
    return NULL;
  }
  input->file = file;
  input->in.src = input->bytes;
  input->context = ZSTD_createDCtx();
  FILE *opened = NULL;
  if (input->context)
    opened = fopencookie(input, "r", (cookie_io_functions_t){.read = read_zstd, .close = close_zstd});
  if (!opened)
    close_zstd(input);
  return opened;
}

FILE *hwi_decompressed_open(const char *path)
{
  uint8_t magic[MAGIC_BYTES];
  FILE *file = fopen(path, "re");
  if (!file)
    return NULL;
  size_t got = fread(magic, 1, sizeof magic, file);
  rewind(file);
  if (got == sizeof magic && memcmp(magic, zstd_magic, sizeof magic) == 0)
    return open_zstd(file);
  fclose(file);
  gzFile gzip = gzopen(path, "rbe");
  FILE *opened = NULL;
  if (gzip)
    opened = fopencookie(gzip, "r", (cookie_io_functions_t){.read = read_gzip, .close = close_gzip});
  if (gzip && !opened)
    gzclose(gzip);
  return opened;
}
