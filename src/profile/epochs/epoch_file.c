/* epoch_file.c - epochs in a file, one after the other */
#include "profile/epochs/epoch_file.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"

static bool write_length(int fd, uint64_t off, uint64_t bytes)
{
  return pwrite(fd, &bytes, sizeof bytes, (off_t)off) == (ssize_t)sizeof bytes;
}

static bool read_length(int fd, uint64_t off, uint64_t *bytes)
{
  return pread(fd, bytes, sizeof *bytes, (off_t)off) == (ssize_t)sizeof *bytes;
}

int hwi_epoch_file_add(int fd, uint64_t *end, struct hwi_epoch *epoch)
{
  struct hwi_pass pass;
  if (lseek(fd, (off_t)(*end + sizeof(uint64_t)), SEEK_SET) < 0)
    return HW_ERR_IO;
  hwi_pass_begin_write(&pass, fd);
  hwi_epoch_pass(&pass, epoch);
  int status = hwi_pass_end(&pass);
  if (status == 0 && !write_length(fd, *end, pass.packed_bytes))
    status = HW_ERR_IO;
  if (status == 0)
    *end += sizeof(uint64_t) + pass.packed_bytes;
  return status;
}

bool hwi_epoch_file_open(struct hwi_epoch_file *file, int fd, uint64_t off, uint64_t end, size_t count)
{
  *file = (struct hwi_epoch_file){.fd = fd, .offs = calloc(count + 1, sizeof *file->offs), .count = count};
  bool done = file->offs;
  for (size_t i = 0; i < count && done; i++) {
    uint64_t bytes = 0;
    file->offs[i] = off;
    done = off < end && read_length(fd, off, &bytes) && bytes < end - off;
    off += sizeof bytes + bytes;
  }
  done = done && off == end;
  if (done)
    file->offs[count] = end;
  else
    hwi_epoch_file_release(file);
  return done;
}

void hwi_epoch_file_release(struct hwi_epoch_file *file)
{
  free(file->offs);
  *file = (struct hwi_epoch_file){0};
}

int hwi_epoch_file_read(const struct hwi_epoch_file *file, size_t number, uint64_t most_items, struct hwi_epoch *epoch)
{
  struct hwi_pass pass;
  uint64_t off = file->offs[number] + sizeof(uint64_t);
  if (off > file->offs[number + 1] || lseek(file->fd, (off_t)off, SEEK_SET) < 0)
    return HW_ERR_DAMAGED;
  hwi_pass_begin_read(&pass, file->fd, file->offs[number + 1] - off);
  if (pass.most_items < most_items) /* a series of adjacent blocks takes almost no bytes */
    pass.most_items = most_items < UINT32_MAX ? most_items : UINT32_MAX;
  hwi_epoch_pass(&pass, epoch);
  return hwi_pass_end(&pass);
}
