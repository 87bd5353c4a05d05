/* compression.c - files that are compressed while they are written, or decompressed while they are read */
#include "export/compression.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <zlib.h>
#include <zstd.h>

#include "base/suffix.h"

enum {
  BUFFER_BYTES = 1 << 16,
  GZIP_WINDOW_BITS = 15 + 16, /* the largest window, with a gzip header */
  GZIP_MEMORY_LEVEL = 8,
  ZSTD_LEVEL = 3,
  MAGIC_BYTES = 4,
};
static const uint8_t zstd_magic[MAGIC_BYTES] = {0x28, 0xb5, 0x2f, 0xfd};

/* --- writing --- */

struct stream {
  FILE *out;
  z_stream gzip;
  ZSTD_CCtx *zstd; /* NULL: gzip */
  uint8_t buffer[BUFFER_BYTES];
};

static const char *const suffixes[] = {[HWI_COMPRESSION_GZIP] = ".gz", [HWI_COMPRESSION_ZSTD] = ".zst"};

enum hwi_compression hwi_compression_of(const char *path)
{
  size_t bytes = strlen(path);
  for (int i = HWI_COMPRESSION_GZIP; i <= HWI_COMPRESSION_ZSTD; i++) {
    if (hwi_has_suffix(path, bytes, suffixes[i]))
      return (enum hwi_compression)i;
  }
  return HWI_COMPRESSION_NONE;
}

size_t hwi_compression_stem(const char *path)
{
  enum hwi_compression compression = hwi_compression_of(path);
  return strlen(path) - (compression != HWI_COMPRESSION_NONE ? strlen(suffixes[compression]) : 0);
}

static bool write_gzip(struct stream *stream, const void *bytes, size_t count, int flush)
{
  stream->gzip.next_in = (void *)(uintptr_t)bytes;
  stream->gzip.avail_in = (uInt)count; /* stdio's buffers are small */
  do {
    stream->gzip.next_out = stream->buffer;
    stream->gzip.avail_out = sizeof stream->buffer;
    if (deflate(&stream->gzip, flush) == Z_STREAM_ERROR)
      return false;
    size_t made = sizeof stream->buffer - stream->gzip.avail_out;
    if (fwrite(stream->buffer, 1, made, stream->out) != made)
      return false;
  } while (stream->gzip.avail_out == 0);
  return true;
}

static bool write_zstd(struct stream *stream, const void *bytes, size_t count, ZSTD_EndDirective directive)
{
  ZSTD_inBuffer in = {bytes, count, 0};
  size_t left;
  do {
    ZSTD_outBuffer out = {stream->buffer, sizeof stream->buffer, 0};
    left = ZSTD_compressStream2(stream->zstd, &out, &in, directive);
    if (ZSTD_isError(left) || fwrite(stream->buffer, 1, out.pos, stream->out) != out.pos)
      return false;
  } while (directive == ZSTD_e_end ? left > 0 : in.pos < in.size);
  return true;
}

static ssize_t write_stream(void *cookie, const char *bytes, size_t count)
{
  struct stream *stream = cookie;
  bool done =
      stream->zstd ? write_zstd(stream, bytes, count, ZSTD_e_continue) : write_gzip(stream, bytes, count, Z_NO_FLUSH);
  return done ? (ssize_t)count : 0; /* such a stream reports a failure by 0 */
}

static int close_stream(void *cookie)
{
  struct stream *stream = cookie;
  bool done = stream->zstd ? write_zstd(stream, NULL, 0, ZSTD_e_end) : write_gzip(stream, NULL, 0, Z_FINISH);
  int os_error = errno;
  if (stream->zstd)
    ZSTD_freeCCtx(stream->zstd);
  else
    deflateEnd(&stream->gzip);
  free(stream);
  errno = os_error;
  return done ? 0 : EOF;
}

static bool init_stream(struct stream *stream, enum hwi_compression compression)
{
  if (compression == HWI_COMPRESSION_GZIP)
    return deflateInit2(&stream->gzip, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW_BITS, GZIP_MEMORY_LEVEL,
                        Z_DEFAULT_STRATEGY) == Z_OK;
  stream->zstd = ZSTD_createCCtx();
  return stream->zstd && !ZSTD_isError(ZSTD_CCtx_setParameter(stream->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL));
}

FILE *hwi_compressed_open(FILE *out, enum hwi_compression compression)
{
  struct stream *stream = calloc(1, sizeof *stream);
  if (!stream)
    return NULL;
  stream->out = out;
  FILE *opened = NULL;
  if (init_stream(stream, compression))
    opened = fopencookie(stream, "w", (cookie_io_functions_t){.write = write_stream, .close = close_stream});
  if (!opened) {
    ZSTD_freeCCtx(stream->zstd);
    free(stream);
  }
  return opened;
}

int hwi_compressed_close(FILE *compressed, FILE *out, struct hwi_error *error)
{
  bool failed = ferror(compressed);
  failed |= fclose(compressed) != 0;
  return failed && !ferror(out) ? hwi_error_set(error, HW_ERR_IO, "compressing what was written failed: %m") : HW_OK;
}

/* --- reading --- */

struct zstd_input {
  FILE *file;
  ZSTD_DCtx *context;
  ZSTD_inBuffer in;
  size_t left; /* 0: at the end of a frame */
  uint8_t bytes[BUFFER_BYTES];
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
