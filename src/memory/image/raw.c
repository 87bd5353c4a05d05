/* raw.c - memory from files of raw bytes, as debugger probes and emulators write them
 *
 * The files are read, not mapped: such images are small.
 */
#include "memory/image/raw.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Opens a file. Returns its descriptor and its length, or a negative status. */
static int open_map(const struct hwi_raw_map *map, uint64_t *bytes, struct hwi_error *error)
{
  struct stat about;
  const int fd = open(map->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0 || fstat(fd, &about) < 0) {
    const int status = hwi_error_set(error, HW_ERR_IO, "cannot open %s: %s", map->path, strerror(errno));
    if (fd >= 0)
      close(fd);
    return status;
  }
  if (!S_ISREG(about.st_mode) || about.st_size == 0) {
    close(fd);
    return hwi_error_set(error, HW_ERR_USAGE, "%s is no image of memory: it is %s", map->path,
                         S_ISREG(about.st_mode) ? "empty" : "not a regular file");
  }
  *bytes = (uint64_t)about.st_size;
  return fd;
}

static int check_range(const struct hwi_raw_image *image, const struct hwi_raw_map *map, uint64_t bytes,
                       struct hwi_error *error)
{
  const uint64_t last = image->word_bits == 32 ? UINT32_MAX : UINT64_MAX;
  if (map->base <= last && bytes - 1 <= last - map->base && map->base + bytes > map->base)
    return 0;
  return hwi_error_set(error, HW_ERR_USAGE,
                       "%s has %" PRIu64 " bytes, which do not fit behind the base %#" PRIx64
                       " in addresses of %u bits",
                       map->path, bytes, map->base, image->word_bits);
}

static int read_all(int fd, unsigned char *to, uint64_t bytes, const char *path, struct hwi_error *error)
{
  for (uint64_t done = 0; done < bytes;) {
    const ssize_t got = read(fd, to + done, bytes - done);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0) {
      errno = got < 0 ? errno : EIO;
      return hwi_error_set(error, HW_ERR_IO, "cannot read %s: %s", path, strerror(errno));
    }
    done += (uint64_t)got;
  }
  return 0;
}

/* Each file gets a region; until all are read, its bytes are a distance. */
static int add_region(struct hwi_memory *memory, const struct hwi_raw_map *map, uint64_t bytes, struct hwi_error *error)
{
  const struct hwi_region region = {.begin = map->base,
                                    .end = map->base + bytes,
                                    .bytes = (const unsigned char *)(uintptr_t)memory->mapped_bytes,
                                    .known = bytes,
                                    .is_writable = true};
  memory->mapped_bytes += (bytes + HWI_MEMORY_PAGE_BYTES - 1) / HWI_MEMORY_PAGE_BYTES * HWI_MEMORY_PAGE_BYTES;
  return hwi_memory_add_region(memory, &region)
             ? 0
             : hwi_error_set(error, HW_ERR_MEMORY, "no memory to read %s", map->path);
}

static int read_maps(struct hwi_memory *memory, const struct hwi_raw_image *image, const int *fds,
                     struct hwi_error *error)
{
  int status = 0;
  memory->mapped =
      mmap(NULL, memory->mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory->mapped == MAP_FAILED) {
    memory->mapped = NULL;
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory to read %s", image->maps->path);
  }
  for (size_t i = 0; i < image->map_count && status == 0; i++) {
    struct hwi_region *region = &memory->regions[i];
    unsigned char *to = (unsigned char *)memory->mapped + (uintptr_t)region->bytes;
    status = read_all(fds[i], to, region->known, image->maps[i].path, error);
    region->bytes = to;
  }
  return status;
}

static int check_overlap(struct hwi_memory *memory, const struct hwi_raw_image *image, struct hwi_error *error)
{
  hwi_memory_finish(memory);
  for (size_t i = 0; memory->region_count < image->map_count && i < image->map_count; i++) {
    const struct hwi_region *there = hwi_memory_region(memory, image->maps[i].base);
    if (!there || there->begin != image->maps[i].base)
      return hwi_error_set(error, HW_ERR_USAGE, "%s overlaps another image: check its base %#" PRIx64,
                           image->maps[i].path, image->maps[i].base);
  }
  return memory->region_count == image->map_count
             ? 0
             : hwi_error_set(error, HW_ERR_USAGE, "two of the images have the same base");
}

int hwi_raw_open(struct hwi_memory *memory, const struct hwi_raw_image *image, struct hwi_error *error)
{
  const bool is_big_here = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
  *memory = (struct hwi_memory){.word_bytes = image->word_bits / 8, .swaps_bytes = image->is_big_endian != is_big_here};
  int fds[HWI_RAW_MAPS_MAX], status = 0;
  size_t opened = 0;
  if (image->map_count > HWI_RAW_MAPS_MAX || (image->word_bits != 32 && image->word_bits != 64))
    return hwi_error_set(error, HW_ERR_USAGE,
                         image->map_count > HWI_RAW_MAPS_MAX ? "there are more images than can be read at once"
                                                             : "words have 32 or 64 bits");
  for (; opened < image->map_count && status == 0; opened++) {
    const struct hwi_raw_map *map = &image->maps[opened];
    uint64_t bytes = 0;
    fds[opened] = open_map(map, &bytes, error);
    if (fds[opened] < 0)
      status = fds[opened];
    else if ((status = check_range(image, map, bytes, error)) == 0)
      status = add_region(memory, map, bytes, error);
  }
  if (status == 0)
    status = read_maps(memory, image, fds, error);
  if (status == 0)
    status = check_overlap(memory, image, error);
  for (size_t i = 0; i < opened; i++)
    if (fds[i] >= 0)
      close(fds[i]);
  if (status < 0)
    hwi_memory_close(memory);
  return status;
}
