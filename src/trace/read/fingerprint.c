/* fingerprint.c - whether the files of a run have changed */
#include "trace/read/fingerprint.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "trace/read/alive.h"
#include "trace/read/trace.h"

static void mix_number(uint64_t *hash, uint64_t number)
{
  *hash = hwi_fnv(*hash, &number, sizeof number);
}

static bool mix_chunks(uint64_t *hash, int fd, const struct hw_trace_header *header, uint64_t file_bytes)
{
  struct hwi_index index;
  bool done = hwi_index_build(&index, fd, header, file_bytes) == 0;
  for (size_t i = 0; done && i < index.count; i++) {
    mix_number(hash, index.pieces[i].off);
    mix_number(hash, index.pieces[i].bytes);
  }
  hwi_index_release(&index);
  return done;
}

static bool mix_image(uint64_t *hash, const struct hwi_run_image *image)
{
  struct hw_trace_header header;
  struct stat about;
  int fd = hwi_trace_file_open(image->path, &header, NULL);
  if (fd < 0)
    return false;
  bool done = fstat(fd, &about) == 0 && !hwi_trace_writer(fd, &header) &&
              (header.kind != HW_TRACE_RAW || mix_chunks(hash, fd, &header, (uint64_t)about.st_size));
  close(fd);
  if (!done)
    return false;
  mix_number(hash, (uint64_t)about.st_size);
  mix_number(hash, (uint64_t)about.st_mtim.tv_sec);
  mix_number(hash, (uint64_t)about.st_mtim.tv_nsec);
  *hash = hwi_fnv(*hash, &header, sizeof header);
  return true;
}

bool hwi_run_fingerprint(const struct hwi_run *run, uint64_t *fingerprint)
{
  *fingerprint = HWI_FNV_BASIS;
  mix_number(fingerprint, run->unreadable);
  for (size_t i = 0; i < run->count; i++)
    if (!mix_image(fingerprint, &run->images[i]))
      return false;
  return true;
}
