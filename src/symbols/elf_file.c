/* elf_file.c - opens an ELF file so that neither its contents nor its file type can block or crash the tool */
#include "symbols/elf_file.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
  UNPACKED_AT_FIRST = 8,                /* times the packed size */
  UNPACKED_AT_MOST = 256 * 1024 * 1024, /* a .gnu_debugdata only has symbol names: real ones are below 10 MB */
};

bool hwi_path_is_harmless(const char *path)
{
  struct stat about;
  return stat(path, &about) != 0 || S_ISREG(about.st_mode);
}

/* O_NONBLOCK: opening a FIFO without a writer would block; opening a device may have side effects. */
static int open_regular(const char *path)
{
  struct stat about;
  if (path[0] != '/' || stat(path, &about) != 0 || !S_ISREG(about.st_mode))
    return -1;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd >= 0 && (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode))) {
    close(fd);
    fd = -1;
  }
  return fd;
}

enum hwi_symbol_reason hwi_elf_file_open(struct hwi_elf_file *file, const char *path)
{
  int fd = open_regular(path);
  if (fd < 0)
    return HWI_SYMBOL_NO_FILE;
  elf_version(EV_CURRENT);
  Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
  GElf_Ehdr header;
  if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header)) {
    elf_end(elf);
    close(fd);
    return HWI_SYMBOL_NOT_ELF;
  }
  *file = (struct hwi_elf_file){.fd = fd, .elf = elf, .path = realpath(path, NULL)};
  return HWI_SYMBOL_OK;
}

static unsigned char *unpack(const Elf_Data *packed, size_t *bytes)
{
  size_t capacity = packed->d_size * UNPACKED_AT_FIRST;
  for (; capacity > 0 && capacity <= UNPACKED_AT_MOST; capacity *= 2) {
    unsigned char *unpacked = malloc(capacity);
    if (!unpacked)
      return NULL;
    uint64_t memory_limit = UNPACKED_AT_MOST;
    size_t read_off = 0;
    *bytes = 0;
    lzma_ret result = lzma_stream_buffer_decode(&memory_limit, 0, NULL, packed->d_buf, &read_off, packed->d_size,
                                                unpacked, bytes, capacity);
    if (result == LZMA_OK)
      return unpacked;
    free(unpacked);
    if (result != LZMA_BUF_ERROR || read_off == packed->d_size)
      return NULL;
  }
  return NULL;
}

bool hwi_elf_file_open_packed(struct hwi_elf_file *file, const struct hwi_elf_file *of)
{
  Elf_Scn *section = hwi_elf_file_section(of, ".gnu_debugdata");
  Elf_Data *packed = section ? elf_rawdata(section, NULL) : NULL;
  if (!packed || !packed->d_buf || packed->d_size > UNPACKED_AT_MOST)
    return false;
  size_t bytes;
  unsigned char *memory = unpack(packed, &bytes);
  if (!memory)
    return false;
  Elf *elf = elf_memory((char *)memory, bytes);
  if (!elf || elf_kind(elf) != ELF_K_ELF) {
    elf_end(elf);
    free(memory);
    return false;
  }
  *file = (struct hwi_elf_file){.fd = -1, .elf = elf, .memory = memory};
  return true;
}

void hwi_elf_file_detach(struct hwi_elf_file *file)
{
  if (file->fd < 0 || elf_cntl(file->elf, ELF_C_FDREAD) != 0)
    return;
  close(file->fd);
  file->fd = -1;
}

void hwi_elf_file_close(struct hwi_elf_file *file)
{
  elf_end(file->elf);
  if (file->elf && file->fd >= 0)
    close(file->fd);
  free(file->path);
  free(file->memory);
  *file = (struct hwi_elf_file){.fd = -1};
}

bool hwi_elf_file_has_build_id(const struct hwi_elf_file *file, const uint8_t *build_id, size_t bytes)
{
  const void *own;
  ssize_t own_bytes = dwelf_elf_gnu_build_id(file->elf, &own);
  return own_bytes > 0 && (size_t)own_bytes == bytes && memcmp(own, build_id, bytes) == 0;
}

Elf_Scn *hwi_elf_file_section(const struct hwi_elf_file *file, const char *name)
{
  size_t names;
  if (elf_getshdrstrndx(file->elf, &names) != 0)
    return NULL;
  for (Elf_Scn *section = NULL; (section = elf_nextscn(file->elf, section));) {
    GElf_Shdr header;
    if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
      continue;
    const char *found = elf_strptr(file->elf, names, header.sh_name);
    if (found && strcmp(found, name) == 0)
      return section;
  }
  return NULL;
}
