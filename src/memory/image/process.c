/* process.c - reads the memory of a running process
 *
 * The copy has the pages that exist, at the same distances as in the process; between them it has no memory either. So
 * that the process is stopped for a short time, the mappings are surveyed once before: then the copy's pages are there when
 * they are needed. The survey that counts is that of the stopped process.
 *
 * Which mappings are copied is what the kernel writes into a core dump: private memory and shared memory without a file,
 * and of files what the process has changed, and their first page, which identifies them.
 */
#define _GNU_SOURCE
#include "memory/image/process.h"

#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "platform/os_tools.h"
#include "trace/grow.h"

enum { SLACK_BYTES = 64 << 20 };

static const uint64_t SPARSE_BYTES = UINT64_C(1) << 38; /* the list of its pages would take too long to read */

/* Consecutive pages to copy. */
struct run {
  uint64_t begin, end;
};

struct survey {
  struct hwi_memory
      *memory; /* regions and names are added to it; bytes of regions are offsets into the copy at first */
  int pages;   /* descriptor; -1: not known which pages exist */
  struct run *runs;
  size_t run_count, run_capacity;
  size_t names_bytes, names_capacity;
  uint64_t bytes;       /* to copy */
  uint64_t copy_bytes;  /* of address space */
  uint64_t left_shared; /* bytes of shared files */
  uint64_t left_sparse;
  bool has_no_memory;
};

/* --- the survey --- */

static bool add_run(void *context, uint64_t begin, uint64_t end)
{
  struct survey *survey = context;
  if (!hwi_grow((void **)&survey->runs, &survey->run_capacity, survey->run_count + 1, sizeof *survey->runs)) {
    survey->has_no_memory = true;
    return false;
  }
  survey->runs[survey->run_count++] = (struct run){begin, end};
  survey->bytes += end - begin;
  return true;
}

static bool note_that_there_is(void *context, uint64_t begin, uint64_t end)
{
  (void)begin, (void)end;
  *(bool *)context = true;
  return false;
}

static bool is_changed(const struct survey *survey, const struct hwi_os_mapping *mapping)
{
  bool is = false;
  return survey->pages < 0 ||
         !hwi_os_each_present(survey->pages, mapping->start, mapping->end, true, note_that_there_is, &is) || is;
}

/* Shared memory without a name in the file system has the name of a file that was removed. */
static bool is_nameless(const struct hwi_os_mapping *mapping)
{
  static const char removed[] = " (deleted)";
  const size_t length = strlen(mapping->name);
  return mapping->inode == 0 ||
         (length >= sizeof removed - 1 && strcmp(mapping->name + length - (sizeof removed - 1), removed) == 0);
}

/* Data of the kernel; its code, [vdso], is needed to unwind stacks. */
static bool is_of_kernel(const char *name)
{
  static const char data[] = "[vvar", calls[] = "[vsyscall";
  return strncmp(name, data, sizeof data - 1) == 0 || strncmp(name, calls, sizeof calls - 1) == 0;
}

/* Adds what is to be copied of a mapping. Returns how many bytes of it are then known. */
static uint64_t add_runs(struct survey *survey, const struct hwi_os_mapping *mapping)
{
  const uint64_t bytes = mapping->end - mapping->start;
  const bool is_of_file = mapping->inode && !(mapping->access & HWI_OS_SHARED);
  const size_t before = survey->run_count;
  if (!(mapping->access & HWI_OS_READ) || is_of_kernel(mapping->name))
    return 0;
  if ((mapping->access & HWI_OS_SHARED) && !is_nameless(mapping)) {
    survey->left_shared += bytes;
    return 0;
  }
  if (bytes > SPARSE_BYTES) {
    survey->left_sparse += bytes;
    return 0;
  }
  if (is_of_file && is_changed(survey, mapping))
    add_run(survey, mapping->start, mapping->end);
  else if (is_of_file && mapping->off == 0)
    add_run(survey, mapping->start, mapping->start + HWI_MEMORY_PAGE_BYTES);
  else if (!is_of_file && (survey->pages < 0 ||
                           !hwi_os_each_present(survey->pages, mapping->start, mapping->end, false, add_run, survey)))
    add_run(survey, mapping->start, mapping->end);
  return survey->run_count > before ? survey->runs[survey->run_count - 1].end - mapping->start : 0;
}

/* Stores the name of a file. Returns its place, from 1 on, or 0 if there is none. */
static size_t add_name(struct survey *survey, const char *name)
{
  const size_t bytes = strlen(name) + 1, at = survey->names_bytes;
  if (!hwi_grow((void **)&survey->memory->names, &survey->names_capacity, at + bytes, 1)) {
    survey->has_no_memory = true;
    return 0;
  }
  memcpy(survey->memory->names + at, name, bytes);
  survey->names_bytes += bytes;
  return at + 1;
}

/* Until the survey is complete, a region has the place of its name and of its bytes instead of pointers to them. */
static bool add_mapping(void *context, const struct hwi_os_mapping *mapping)
{
  struct survey *survey = context;
  const size_t name = mapping->inode ? add_name(survey, mapping->name) : 0;
  struct hwi_region region = {.begin = mapping->start,
                              .end = mapping->end,
                              .bytes = (const unsigned char *)(uintptr_t)survey->copy_bytes,
                              .known = add_runs(survey, mapping),
                              .is_writable = mapping->access & HWI_OS_WRITE,
                              .is_executable = mapping->access & HWI_OS_EXECUTE,
                              .file = (const char *)(uintptr_t)name,
                              .file_off = mapping->off};
  survey->copy_bytes += region.known;
  survey->has_no_memory |= !hwi_memory_add_region(survey->memory, &region);
  return survey->has_no_memory;
}

static void forget(struct survey *survey)
{
  survey->memory->region_count = 0;
  survey->run_count = 0;
  survey->names_bytes = 0;
  survey->bytes = survey->copy_bytes = survey->left_shared = survey->left_sparse = 0;
}

/* --- what can go wrong --- */

static int no_memory(struct hwi_error *error, uint32_t pid)
{
  return hwi_error_set(error, HW_ERR_MEMORY, "no memory to read process %u", pid);
}

static int refuse(struct hwi_error *error, uint32_t pid, bool no_stop, int reason)
{
  const struct hwi_os_access access = hwi_os_access(pid);
  const char *verb = no_stop ? "read" : "stop";
  errno = reason;
  if (!access.exists || reason == ESRCH)
    return hwi_error_set(error, HW_ERR_IO, "there is no process %u, or it is ending", pid);
  if (reason == ETIME)
    return hwi_error_set(
        error, HW_ERR_IO,
        "process %u was not stopped: a thread waits in the kernel; try again, or read it as it runs with "
        "--no-stop",
        pid);
  if (reason == EPERM && access.tracer && !no_stop)
    return hwi_error_set(error, HW_ERR_IO,
                         "cannot stop process %u: process %u debugs it; end that first, or read it as it runs with "
                         "--no-stop",
                         pid, access.tracer);
  if (access.is_other_user)
    return hwi_error_set(error, HW_ERR_IO,
                         "cannot %s process %u: it belongs to user %u; run this as that user or as root", verb, pid,
                         access.user);
  if (access.ptrace_scope > 2)
    return hwi_error_set(error, HW_ERR_IO,
                         "cannot %s process %u: this system forbids it until it is restarted "
                         "(kernel.yama.ptrace_scope is %d); use a core dump",
                         verb, pid, access.ptrace_scope);
  if (access.ptrace_scope > 0 && geteuid() != 0)
    return hwi_error_set(
        error, HW_ERR_IO,
        "cannot %s process %u: only root may (kernel.yama.ptrace_scope is %d); run this as root, or set "
        "it to 0: sysctl kernel.yama.ptrace_scope=0",
        verb, pid, access.ptrace_scope);
  return hwi_error_set(error, HW_ERR_IO,
                       "cannot %s process %u: %s; run this as root, in a container with the capability SYS_PTRACE",
                       verb, pid, strerror(reason));
}

static int check_room(const struct survey *survey, uint64_t most_bytes, uint32_t pid, struct hwi_error *error)
{
  enum { MIB = 1 << 20 };
  if (!most_bytes)
    most_bytes = hwi_os_memory_left();
  if (survey->bytes <= most_bytes)
    return 0;
  return hwi_error_set(error, HW_ERR_LIMIT,
                       "process %u has %" PRIu64 " MiB to copy, and there is memory for %" PRIu64
                       " MiB; write it to a file with gcore, and read that",
                       pid, survey->bytes / MIB, most_bytes / MIB);
}

/* --- the copy --- */

/* Makes place for the copy. Pages are only asked for in advance: without them the process is stopped longer. */
static bool make_room(struct survey *survey)
{
  struct hwi_memory *memory = survey->memory;
  const size_t bytes = survey->copy_bytes + SLACK_BYTES;
  memory->mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory->mapped == MAP_FAILED) {
    memory->mapped = NULL;
    return false;
  }
  memory->mapped_bytes = bytes;
  return true;
}

static unsigned char *place_of(const struct hwi_memory *memory, uint64_t address, size_t *region)
{
  while (address >= memory->regions[*region].end)
    ++*region;
  const struct hwi_region *in = &memory->regions[*region];
  return (unsigned char *)memory->mapped + (uintptr_t)in->bytes + (address - in->begin);
}

static void touch_pages(const struct survey *survey)
{
#ifdef MADV_POPULATE_WRITE
  size_t region = 0;
  for (size_t i = 0; i < survey->run_count; i++) {
    const struct run *run = &survey->runs[i];
    madvise(place_of(survey->memory, run->begin, &region), run->end - run->begin, MADV_POPULATE_WRITE);
  }
#else
  (void)survey;
#endif
}

/* Returns false if the process is gone, or must not be read. */
static bool copy_run(uint32_t pid, const struct run *run, unsigned char *to, struct hwi_process_read *done)
{
  for (uint64_t at = run->begin; at < run->end;) {
    int64_t got = hwi_os_read_memory(pid, at, to + (at - run->begin), run->end - at);
    if (got < 0 && got != -EFAULT && got != -EIO) {
      errno = (int)-got;
      return false;
    }
    if (got <= 0) {
      done->unreadable_bytes += HWI_MEMORY_PAGE_BYTES;
      got = HWI_MEMORY_PAGE_BYTES;
    } else {
      done->copied_bytes += (uint64_t)got;
    }
    at += (uint64_t)got;
  }
  return true;
}

static bool copy_all(const struct survey *survey, uint32_t pid, struct hwi_process_read *done)
{
  size_t region = 0;
  for (size_t i = 0; i < survey->run_count; i++)
    if (!copy_run(pid, &survey->runs[i], place_of(survey->memory, survey->runs[i].begin, &region), done))
      return false;
  return true;
}

/* The program, which comes before its libraries, says how long the words are. */
static unsigned word_bytes_of(const struct hwi_memory *memory)
{
  for (size_t i = 0; i < memory->region_count; i++) {
    const struct hwi_region *region = &memory->regions[i];
    if (region->file && region->known > EI_CLASS && memcmp(region->bytes, ELFMAG, SELFMAG) == 0)
      return region->bytes[EI_CLASS] == ELFCLASS32 ? sizeof(uint32_t) : sizeof(uint64_t);
  }
  return sizeof(long);
}

/* Makes pointers of places. */
static void finish(struct hwi_memory *memory)
{
  for (size_t i = 0; i < memory->region_count; i++) {
    struct hwi_region *region = &memory->regions[i];
    region->bytes = (const unsigned char *)memory->mapped + (uintptr_t)region->bytes;
    region->file = region->file ? memory->names + (uintptr_t)region->file - 1 : NULL;
  }
  hwi_memory_finish(memory);
  memory->word_bytes = word_bytes_of(memory);
}

/* --- threads --- */

static bool take_thread(struct hwi_memory *memory, uint32_t tid, const struct hwi_os_registers *registers)
{
  if (!hwi_grow((void **)&memory->threads, &memory->thread_capacity, memory->thread_count + 1, sizeof *memory->threads))
    return false;
  struct hwi_memory_thread *thread = &memory->threads[memory->thread_count++];
  *thread = (struct hwi_memory_thread){.machine = registers->machine,
                                       .tid = tid,
                                       .stack_pointer = registers->stack_pointer,
                                       .thread_pointer = registers->thread_pointer,
                                       .program_counter = registers->program_counter,
                                       .register_count = registers->count};
  memcpy(thread->registers, registers->all, registers->count * sizeof *registers->all);
  static_assert(sizeof thread->vectors == sizeof registers->vectors, "the same words");
  thread->vector_count = registers->vector_count;
  memcpy(thread->vectors, registers->vectors, registers->vector_count * sizeof *registers->vectors);
  return true;
}

static bool take_threads(struct hwi_memory *memory, const struct hwi_os_stopped *stopped)
{
  struct hwi_os_registers registers;
  for (size_t i = 0; i < stopped->count; i++)
    if (hwi_os_stopped_registers(stopped, i, &registers) && !take_thread(memory, stopped->threads[i].tid, &registers))
      return false;
  return true;
}

static bool take_ending_threads(struct hwi_memory *memory, const struct hwi_os_watched *watched)
{
  for (size_t i = 0; i < watched->count; i++) {
    const struct hwi_os_ending_thread *thread = &watched->ending[i];
    if (thread->has_registers && !take_thread(memory, thread->tid, &thread->registers))
      return false;
  }
  return true;
}

/* --- a process --- */

static int survey_all(struct survey *survey, uint32_t pid, const struct hwi_process_options *options,
                      struct hwi_error *error)
{
  forget(survey);
  if (!hwi_os_each_mapping(pid, add_mapping, survey))
    return refuse(error, pid, options->no_stop, errno);
  if (survey->has_no_memory)
    return no_memory(error, pid);
  if (survey->memory->region_count == 0)
    return hwi_error_set(error, HW_ERR_USAGE, "process %u has no memory: it is ending, or a thread of the kernel", pid);
  return check_room(survey, options->most_bytes, pid, error);
}

static int copy(struct survey *survey, uint32_t pid, const struct hwi_process_options *options,
                struct hwi_process_read *done, struct hwi_error *error)
{
  struct hwi_memory *memory = survey->memory;
  int status = survey_all(survey, pid, options, error);
  if (status == 0 && survey->copy_bytes > memory->mapped_bytes) {
    munmap(memory->mapped, memory->mapped_bytes);
    if (!make_room(survey))
      status = no_memory(error, pid);
  }
  if (status == 0 && !copy_all(survey, pid, done))
    status = refuse(error, pid, options->no_stop, errno);
  return status;
}

static int copy_stopped(struct survey *survey, uint32_t pid, const struct hwi_process_options *options,
                        struct hwi_process_read *done, struct hwi_error *error)
{
  struct hwi_os_stopped stopped;
  const uint64_t begin_ns = hwi_os_monotonic_ns();
  const int reason = hwi_os_stop(&stopped, pid);
  const uint64_t stopped_ns = hwi_os_monotonic_ns();
  if (reason < 0)
    return reason == -ENOMEM ? no_memory(error, pid) : refuse(error, pid, false, -reason);
  int status = copy(survey, pid, options, done, error);
  if (status == 0 && !take_threads(survey->memory, &stopped))
    status = no_memory(error, pid);
  done->moment_ns = stopped_ns + (hwi_os_monotonic_ns() - stopped_ns) / 2;
  hwi_os_let_go(&stopped);
  done->stop_ns = hwi_os_monotonic_ns() - begin_ns;
  return status;
}

static void note_what_is_left_out(const struct survey *survey, const struct hwi_process_read *done)
{
  struct hwi_memory *memory = survey->memory;
  if (survey->left_shared)
    hwi_memory_note(memory, survey->left_shared, 0, "mappings that are shared with files were not read");
  if (survey->left_sparse)
    hwi_memory_note(memory, survey->left_sparse, 0, "mappings of more than 256 GiB were not read");
  if (done->unreadable_bytes)
    hwi_memory_note(memory, done->unreadable_bytes, 0, "pages could not be read");
}

static int read_process(struct survey *survey, uint32_t pid, const struct hwi_process_options *options,
                        struct hwi_process_read *done, struct hwi_error *error)
{
  int status = survey_all(survey, pid, options, error);
  if (status < 0)
    return status;
  if (!make_room(survey))
    return no_memory(error, pid);
  touch_pages(survey);
  status = options->no_stop || options->ending ? copy(survey, pid, options, done, error)
                                               : copy_stopped(survey, pid, options, done, error);
  if (status == 0 && options->ending && !take_ending_threads(survey->memory, options->ending))
    status = no_memory(error, pid);
  if (status == 0)
    note_what_is_left_out(survey, done);
  return status;
}

/* Its arguments with blanks between, as far as there is room. */
static void read_command(struct hwi_memory *memory)
{
  char path[64];
  snprintf(path, sizeof path, "/proc/%" PRIu32 "/cmdline", memory->pid);
  FILE *file = fopen(path, "re");
  size_t count = file ? fread(memory->command, 1, sizeof memory->command - 1, file) : 0;
  if (file)
    fclose(file);
  while (count > 0 && memory->command[count - 1] == 0)
    count--;
  for (size_t i = 0; i < count; i++)
    if (memory->command[i] == 0)
      memory->command[i] = ' ';
}

int hwi_process_open(struct hwi_memory *memory, uint32_t pid, const struct hwi_process_options *options,
                     struct hwi_process_read *done, struct hwi_error *error)
{
  struct hwi_process_read unused;
  done = done ? done : &unused;
  *done = (struct hwi_process_read){0};
  *memory = (struct hwi_memory){.pid = options->ending ? options->ending->pid : pid};
  struct survey survey = {.memory = memory, .pages = hwi_os_open_pages(pid)};
  const int status = read_process(&survey, pid, options, done, error);
  if (survey.pages >= 0)
    close(survey.pages);
  free(survey.runs);
  memory->rest_is_zero = survey.pages >= 0;
  if (status < 0) {
    hwi_memory_close(memory);
    return status;
  }
  finish(memory);
  read_command(memory);
  return 0;
}
