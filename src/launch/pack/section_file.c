/* section_file.c - writes sections one after the other into a file */
#include "launch/pack/section_file.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/error.h"

uint32_t hwi_section_target(uint32_t streams)
{
  uint32_t share = streams ? HWI_SECTIONS_IN_MEMORY / streams : HWI_SECTION_BYTES;
  return share > HWI_SECTION_BYTES ? HWI_SECTION_BYTES : share < HWI_SECTION_MIN_BYTES ? HWI_SECTION_MIN_BYTES : share;
}

static int write_all(int fd, const void *from, size_t bytes, uint64_t off)
{
  size_t done = 0;
  while (done < bytes) {
    ssize_t put = pwrite(fd, (const uint8_t *)from + done, bytes - done, (off_t)(off + done));
    if (put < 0 && errno == EINTR)
      continue;
    if (put <= 0) {
      errno = put < 0 ? errno : ENOSPC;
      return HW_ERR_IO;
    }
    done += (size_t)put;
  }
  return 0;
}

static const uint8_t zeros[8];

/* Returns true if all of it was written. */
static bool write_at_once(const struct hwi_section_file *file, const struct hw_section_header *section,
                          const uint8_t *packed, size_t padding)
{
  struct iovec parts[] = {
      {(void *)section, sizeof *section}, {(void *)packed, section->packed_bytes}, {(void *)zeros, padding}};
  ssize_t all = (ssize_t)(sizeof *section + section->packed_bytes + padding);
  return pwritev(file->fd, parts, sizeof parts / sizeof *parts, (off_t)file->off) == all;
}

/* Writes the payload first, so that an incomplete section has no header. */
static int write_in_order(const struct hwi_section_file *file, const struct hw_section_header *section,
                          const uint8_t *packed, size_t padding)
{
  uint64_t start = file->off + sizeof *section;
  int status = write_all(file->fd, packed, section->packed_bytes, start);
  if (status == 0)
    status = write_all(file->fd, zeros, padding, start + section->packed_bytes);
  return status < 0 ? status : write_all(file->fd, section, sizeof *section, file->off);
}

int hwi_section_write(struct hwi_section_file *file, const struct hw_section_header *section, const uint8_t *packed)
{
  struct hw_section_header header = *section;
  uint64_t end = file->off + sizeof *section + section->packed_bytes;
  size_t padding = (size_t)(-end & 7);
  if (header.type == HW_SECTION_EVENTS && header.last_tick < file->least_tick)
    header.last_tick = file->least_tick;
  bool is_there = file->is_unnamed && write_at_once(file, &header, packed, padding);
  int status = is_there ? 0 : write_in_order(file, &header, packed, padding);
  if (status < 0)
    return status;
  file->off = end + padding;
  file->event_count += section->type == HW_SECTION_EVENTS ? section->event_count : 0;
  return 0;
}

int hwi_section_pack(struct hwi_section_file *file, const uint8_t *plain, size_t bytes)
{
  struct hw_section_header section;
  const uint8_t *packed = NULL;
  int status = hwi_pack_chunks(file->packer, plain, bytes, &section, &packed);
  return status < 0 ? status : hwi_section_write(file, &section, packed);
}
