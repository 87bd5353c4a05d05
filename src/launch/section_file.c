/* section_file.c - sections written one behind the other into a file */
#include "launch/section_file.h"

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

/* The payload first: what is cut short has no header, or one that says more than the file has. */
int hwi_section_write(int fd, uint64_t *off, const struct hw_section_header *section, const uint8_t *packed)
{
  static const uint8_t zeros[8];
  uint64_t end = *off + sizeof *section + section->packed_bytes;
  size_t padding = (size_t)(-end & 7);
  int status = write_all(fd, packed, section->packed_bytes, *off + sizeof *section);
  if (status == 0)
    status = write_all(fd, zeros, padding, end);
  if (status == 0)
    status = write_all(fd, section, sizeof *section, *off);
  if (status == 0)
    *off = end + padding;
  return status;
}

int hwi_section_pack(struct hwi_packer *packer, int fd, uint64_t *off, const uint8_t *plain, size_t bytes,
                     uint64_t *event_count)
{
  struct hw_section_header section;
  const uint8_t *packed = NULL;
  int status = hwi_pack_chunks(packer, plain, bytes, &section, &packed);
  if (status == 0)
    status = hwi_section_write(fd, off, &section, packed);
  if (status == 0)
    *event_count += section.event_count;
  return status;
}
