/* compressed.c - streams that compress the data written to them */
#include "export/compressed.h"

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
};

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
