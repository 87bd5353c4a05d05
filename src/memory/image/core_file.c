/* core_file.c - reads the memory of a process from an ELF core dump
 *
 * A core dump has a segment for each region of memory, and notes: of each thread its registers, of the process its PID and
 * command, and the files that were mapped. libelf reads headers and notes of both classes and byte orders.
 */
#include "memory/image/core_file.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory/image/core_threads.h"
#include "memory/image/unpack.h"

struct core {
  struct hwi_memory *memory;
  Elf *elf;
  GElf_Ehdr header;
  const struct hwi_machine *machine; /* NULL: its registers are not known */
  struct hwi_error *error;
  const char *path;
};

static int no_memory(const struct core *core)
{
  return hwi_error_set(core->error, HW_ERR_MEMORY, "no memory to read %s", core->path);
}

/* --- notes --- */

/* The first description of a signal is that of the first thread. Where it has the address depends on the size of words alone. */
static void take_signal(const struct core *core, const unsigned char *bytes, size_t size)
{
  enum { NUMBER_OFF = 0, CODE_OFF = 8 };
  struct hwi_memory *memory = core->memory;
  const size_t address_off = memory->word_bytes == sizeof(uint64_t) ? 16 : 12;
  if (memory->thread_count != 1 || size < address_off + memory->word_bytes)
    return;
  const int number = (int)hwi_memory_load_32(memory, bytes + NUMBER_OFF);
  const int code = (int)hwi_memory_load_32(memory, bytes + CODE_OFF);
  memory->signal_code = number == memory->signal ? code : 0;
  memory->has_fault = (number == SIGSEGV || number == SIGBUS) && number == memory->signal && code > 0;
  memory->is_fault_known = memory->has_fault && code != SI_KERNEL;
  memory->fault_address = memory->is_fault_known ? hwi_memory_load(memory, bytes + address_off) : 0;
}

/* Of some machines with words of 32 bits, user and group have 16 bits each. */
static void take_process(const struct core *core, const unsigned char *bytes, size_t size)
{
  static const struct {
    size_t word, bytes, pid_off, command_off;
  } layouts[] = {{8, 136, 24, 56}, {4, 124, 12, 44}, {4, 128, 16, 48}};
  struct hwi_memory *memory = core->memory;
  for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
    if (layouts[i].word != memory->word_bytes || layouts[i].bytes != size)
      continue;
    memory->pid = hwi_memory_load_32(memory, bytes + layouts[i].pid_off);
    memcpy(memory->command, bytes + layouts[i].command_off, sizeof memory->command);
    memory->command[sizeof memory->command - 1] = 0;
  }
}

/* The note has the number of files, the unit of offsets, for each file its begin, end and offset, and then the names. */
struct files {
  const unsigned char *at, *names, *end;
  uint64_t count, unit;
};

static bool open_files(const struct core *core, const unsigned char *bytes, size_t size, struct files *files)
{
  enum { WORDS_BEFORE = 2, WORDS_OF_FILE = 3 };
  const size_t word = core->memory->word_bytes;
  if (size < WORDS_BEFORE * word)
    return false;
  *files = (struct files){.at = bytes + WORDS_BEFORE * word, .end = bytes + size};
  files->count = hwi_memory_load(core->memory, bytes);
  files->unit = hwi_memory_load(core->memory, bytes + word);
  if (files->count > (size - WORDS_BEFORE * word) / (WORDS_OF_FILE * word) || files->end[-1] != 0)
    return false;
  files->names = files->at + files->count * WORDS_OF_FILE * word;
  return true;
}

/* A region may have a part of a file, if its rights were changed later. Only in a forged core dump does it have two. */
static void take_file(struct hwi_memory *memory, uint64_t begin, uint64_t end, uint64_t off, const char *name)
{
  const struct hwi_region *first = hwi_memory_region_from(memory, begin);
  for (size_t i = first ? (size_t)(first - memory->regions) : memory->region_count; i < memory->region_count; i++) {
    struct hwi_region *region = &memory->regions[i];
    if (region->begin < begin)
      continue;
    if (region->begin >= end || region->file)
      return;
    region->file = name;
    region->file_off = off + (region->begin - begin);
  }
}

static bool take_files(const struct core *core, const unsigned char *bytes, size_t size)
{
  struct hwi_memory *memory = core->memory;
  struct files files;
  if (memory->names || !open_files(core, bytes, size, &files))
    return true;
  const size_t names_bytes = (size_t)(files.end - files.names), word = memory->word_bytes;
  memory->names = malloc(names_bytes + 1);
  if (!memory->names)
    return false;
  memcpy(memory->names, files.names, names_bytes);
  const char *name = memory->names, *end = name + names_bytes;
  for (uint64_t i = 0; i < files.count && name < end; i++, files.at += 3 * word) {
    const uint64_t off = hwi_memory_load(memory, files.at + 2 * word);
    const size_t length = strlen(name);
    if (length < PATH_MAX)
      take_file(memory, hwi_memory_load(memory, files.at), hwi_memory_load(memory, files.at + word), off * files.unit,
                name);
    name += length + 1;
  }
  return true;
}

static bool take_note(struct core *core, const GElf_Nhdr *note, const unsigned char *bytes)
{
  if (note->n_type == NT_PRSTATUS)
    return hwi_core_take_thread(core->memory, core->machine, bytes, note->n_descsz);
  if (note->n_type == NT_SIGINFO)
    take_signal(core, bytes, note->n_descsz);
  else if (note->n_type == NT_PRPSINFO)
    take_process(core, bytes, note->n_descsz);
  else if (note->n_type == NT_FILE)
    return take_files(core, bytes, note->n_descsz);
  else
    hwi_core_take_more_of_thread(core->memory, note->n_type, bytes, note->n_descsz);
  return true;
}

static int read_notes(struct core *core, const GElf_Phdr *segment)
{
  Elf_Data *data = elf_getdata_rawchunk(core->elf, (int64_t)segment->p_offset, segment->p_filesz, ELF_T_NHDR);
  GElf_Nhdr note;
  size_t name, desc;
  for (size_t at = 0; data && (at = gelf_getnote(data, at, &note, &name, &desc)) > 0;)
    if (!take_note(core, &note, (const unsigned char *)data->d_buf + desc))
      return no_memory(core);
  return 0;
}

/* --- segments --- */

static int add_segment(struct core *core, const GElf_Phdr *segment)
{
  struct hwi_memory *memory = core->memory;
  struct hwi_region region = {.begin = segment->p_vaddr,
                              .end = segment->p_vaddr + segment->p_memsz,
                              .known = segment->p_filesz < segment->p_memsz ? segment->p_filesz : segment->p_memsz,
                              .is_writable = segment->p_flags & PF_W,
                              .is_executable = segment->p_flags & PF_X};
  if (region.end <= region.begin)
    return 0;
  const uint64_t left = segment->p_offset < memory->mapped_bytes ? memory->mapped_bytes - segment->p_offset : 0;
  if (region.known > left) {
    memory->missing += region.known - left;
    region.known = left;
  }
  region.bytes = (const unsigned char *)memory->mapped + (region.known ? segment->p_offset : 0);
  return hwi_memory_add_region(memory, &region) ? 0 : no_memory(core);
}

/* --- what is left out --- */

/* The bits of /proc/PID/coredump_filter. */
enum {
  PRIVATE = 1,
  SHARED = 2,
  PRIVATE_FILES = 4,
  SHARED_FILES = 8,
  FIRST_PAGES = 16,
  PRIVATE_HUGE_PAGES = 32,
  SHARED_HUGE_PAGES = 64,
};

struct left_out {
  uint64_t private, shared, huge, files; /* bytes of writable memory */
  bool may_be_huge;                      /* some of `shared` */
  bool has_private, has_first_pages;
  uint64_t first_pages;
};

/* The usual folder of huge pages with a name; those without one are files of the kernel. */
static bool is_of_huge_pages(const char *file)
{
  static const char folder[] = "/dev/hugepages/";
  return strstr(file, "/anon_hugepage") || strncmp(file, folder, sizeof folder - 1) == 0;
}

/* Shared memory by memfd_create or shmget may have huge pages, which its name does not say. */
static bool may_have_huge_pages(const GElf_Phdr *segment)
{
  enum { HUGE_PAGE_BYTES = 2 << 20 };
  return segment->p_vaddr % HUGE_PAGE_BYTES == 0 && segment->p_memsz % HUGE_PAGE_BYTES == 0;
}

/* Memory without a file that nothing has written to is left out, too. It has no contents. */
static void look_at_segment(const struct core *core, const GElf_Phdr *segment, struct left_out *left)
{
  const struct hwi_region *region = hwi_memory_region(core->memory, segment->p_vaddr);
  const bool is_writable = segment->p_flags & PF_W;
  const uint64_t bytes = segment->p_memsz > segment->p_filesz ? segment->p_memsz - segment->p_filesz : 0;
  if (!region || segment->p_memsz == 0)
    return;
  if (!region->file) {
    left->has_private |= is_writable && segment->p_filesz > 0;
    left->private += is_writable ? bytes : 0;
  } else if (!is_writable) {
    left->has_first_pages |= region->file_off == 0 && segment->p_filesz > 0;
    left->first_pages += region->file_off == 0 && segment->p_filesz == 0 ? bytes : 0;
  } else if (is_of_huge_pages(region->file)) {
    left->huge += bytes;
  } else if (strstr(region->file, " (deleted)")) {
    left->shared += bytes;
    left->may_be_huge |= bytes && may_have_huge_pages(segment);
  } else {
    left->files += bytes;
  }
}

static void note_what_is_left_out(const struct core *core, size_t segment_count)
{
  struct hwi_memory *memory = core->memory;
  struct left_out left = {0};
  GElf_Phdr segment;
  for (size_t i = 0; i < segment_count; i++)
    if (gelf_getphdr(core->elf, (int)i, &segment) && segment.p_type == PT_LOAD)
      look_at_segment(core, &segment, &left);
  if (left.private && !left.has_private)
    hwi_memory_note(memory, left.private, PRIVATE, "private memory, in which the heap is, is not in the core dump");
  if (left.shared)
    hwi_memory_note(memory, left.shared, left.may_be_huge ? SHARED | SHARED_HUGE_PAGES : SHARED,
                    "shared memory is not in the core dump");
  if (left.huge)
    hwi_memory_note(memory, left.huge, PRIVATE_HUGE_PAGES | SHARED_HUGE_PAGES, "huge pages are not in the core dump");
  if (left.files)
    hwi_memory_note(memory, left.files, PRIVATE_FILES | SHARED_FILES,
                    "writable mappings of files are not in the core dump");
  if (left.first_pages && !left.has_first_pages)
    hwi_memory_note(memory, left.first_pages, FIRST_PAGES,
                    "the first pages of programs and libraries, which identify them, are not in the core dump");
  if (memory->missing)
    hwi_memory_note(memory, memory->missing, 0,
                    "the core dump is truncated: its disk was full, or its size was limited (ulimit -c)");
}

/* Segments first: notes name the files of regions. */
static int read_core(struct core *core)
{
  struct hwi_memory *memory = core->memory;
  size_t count = 0;
  int status = 0;
  GElf_Phdr segment;
  const int class = gelf_getclass(core->elf);
  if (!gelf_getehdr(core->elf, &core->header) || core->header.e_type != ET_CORE ||
      elf_getphdrnum(core->elf, &count) < 0)
    return hwi_error_set(core->error, HW_ERR_USAGE, "%s is an ELF file, but not a core dump", core->path);
  memory->word_bytes = class == ELFCLASS64 ? 8 : 4;
  memory->swaps_bytes =
      core->header.e_ident[EI_DATA] != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB);
  if (!memory->swaps_bytes)
    core->machine = hwi_machine_of(core->header.e_machine, memory->word_bytes);
  for (size_t i = 0; i < count && status == 0; i++)
    if (gelf_getphdr(core->elf, (int)i, &segment) && segment.p_type == PT_LOAD)
      status = add_segment(core, &segment);
  hwi_memory_finish(memory);
  for (size_t i = 0; i < count && status == 0; i++)
    if (gelf_getphdr(core->elf, (int)i, &segment) && segment.p_type == PT_NOTE)
      status = read_notes(core, &segment);
  if (status == 0)
    note_what_is_left_out(core, count);
  return status;
}

static int check_kind(const struct core *core, const struct stat *about)
{
  if (S_ISREG(about->st_mode) && about->st_size > 0)
    return 0;
  return hwi_error_set(core->error, HW_ERR_USAGE, "%s is no core dump: it is %s", core->path,
                       S_ISREG(about->st_mode) ? "empty" : "not a regular file");
}

/* Maps the open file, and closes it. */
static int map_file(struct core *core, int fd)
{
  struct hwi_memory *memory = core->memory;
  struct stat about = {0};
  fstat(fd, &about);
  int status = check_kind(core, &about);
  if (status == 0) {
    memory->mapped = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    memory->mapped_bytes = (size_t)about.st_size;
  }
  if (memory->mapped == MAP_FAILED) {
    memory->mapped = NULL;
    status = hwi_error_set(core->error, HW_ERR_IO, "cannot map %s: %s", core->path, strerror(errno));
  }
  close(fd);
  return status;
}

/* Reads the open file, and closes it. */
static int read_open(struct core *core, int fd)
{
  int status = map_file(core, fd);
  if (status == 0) {
    elf_version(EV_CURRENT);
    core->elf = elf_memory(core->memory->mapped, core->memory->mapped_bytes);
    if (!core->elf || elf_kind(core->elf) != ELF_K_ELF)
      status = hwi_error_set(core->error, HW_ERR_USAGE, "%s is no core dump: it is not an ELF file", core->path);
    else
      status = read_core(core);
    elf_end(core->elf);
  }
  if (status < 0)
    hwi_memory_close(core->memory);
  return status;
}

bool hwi_core_file_is(const char *path)
{
  GElf_Ehdr header;
  elf_version(EV_CURRENT);
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL);
  const bool is_core = elf && gelf_getehdr(elf, &header) && header.e_type == ET_CORE;
  elf_end(elf);
  if (fd >= 0)
    close(fd);
  return is_core;
}

int hwi_core_file_open(struct hwi_memory *memory, const char *path, struct hwi_error *error)
{
  *memory = (struct hwi_memory){0};
  struct core core = {.memory = memory, .error = error, .path = path};
  struct stat about;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return hwi_error_set(error, HW_ERR_IO, "cannot open %s: %s", path, strerror(errno));
  int status = fstat(fd, &about) < 0 ? hwi_error_set(error, HW_ERR_IO, "cannot open %s: %s", path, strerror(errno))
                                     : check_kind(&core, &about);
  if (status < 0) {
    close(fd);
    return status;
  }
  fd = hwi_unpack(fd, path, error);
  return fd < 0 ? fd : read_open(&core, fd);
}

int hwi_core_file_open_stored(struct hwi_memory *memory, const char *match, struct hwi_error *error)
{
  *memory = (struct hwi_memory){0};
  struct core core = {.memory = memory, .error = error, .path = match};
  const int fd = hwi_unpack_stored(match, error);
  return fd < 0 ? fd : read_open(&core, fd);
}
