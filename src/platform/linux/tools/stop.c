/* stop.c - stops the threads of another process on Linux, and reads its memory
 *
 * The threads are seized and interrupted, which neither sends signals nor changes anything in them. If the calling process
 * ends in whatever way, the kernel lets them go on. A stopped thread whose signal was about to be delivered gets it at the
 * end. A thread may start others until it is stopped itself: they are listed until no new ones are found.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "platform/linux/tools/proc.h"

enum { PATH_BYTES = 64, PATIENCE_NS = 2000000000, GRACE_NS = 100000000, NAP_NS = 20000 };

/* --- stopping --- */

static bool is_listed(const struct hwi_os_stopped *stopped, uint32_t tid)
{
  for (size_t i = 0; i < stopped->count; i++)
    if (stopped->threads[i].tid == tid)
      return true;
  return false;
}

static bool add(struct hwi_os_stopped *stopped, uint32_t tid)
{
  if (stopped->count == stopped->capacity) {
    const size_t capacity = stopped->capacity ? 2 * stopped->capacity : 64;
    void *more = realloc(stopped->threads, capacity * sizeof *stopped->threads);
    if (!more)
      return false;
    stopped->threads = more;
    stopped->capacity = capacity;
  }
  stopped->threads[stopped->count++] = (struct hwi_os_stopped_thread){.tid = tid};
  return true;
}

/* A thread that has ended but is still listed cannot be seized. */
static bool has_ended(uint32_t pid, uint32_t tid)
{
  char name[PATH_BYTES], line[HWI_PROC_LINE_BYTES] = "";
  snprintf(name, sizeof name, "task/%u/stat", tid);
  FILE *file = hwi_proc_open(pid, name);
  if (!file)
    return true;
  const char *name_end = fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
  fclose(file);
  return !name_end || strncmp(name_end, ") Z", 3) == 0 || strncmp(name_end, ") X", 3) == 0;
}

/* Seizes the threads that are not listed yet. Returns how many, or a negative errno. */
static int seize_new(struct hwi_os_stopped *stopped)
{
  char path[PATH_BYTES];
  int count = 0, status = 0;
  snprintf(path, sizeof path, "/proc/%u/task", stopped->pid);
  DIR *tasks = opendir(path);
  if (!tasks)
    return -errno;
  for (struct dirent *entry; status == 0 && (entry = readdir(tasks));) {
    const uint32_t tid = (uint32_t)strtoul(entry->d_name, NULL, 10);
    if (tid == 0 || is_listed(stopped, tid))
      continue;
    if (!add(stopped, tid)) {
      status = -ENOMEM;
    } else if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) < 0) {
      const int reason = errno;
      status = has_ended(stopped->pid, tid) ? 0 : -reason;
      stopped->count--;
    } else {
      ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
      count++;
    }
  }
  closedir(tasks);
  return status < 0 ? status : count;
}

/* Returns 0 when the thread has stopped or ended, or -ETIME. */
static int wait_for(struct hwi_os_stopped_thread *thread, uint64_t end_ns)
{
  int status;
  for (;;) {
    const pid_t got = waitpid((pid_t)thread->tid, &status, __WALL | WNOHANG);
    if (got < 0 && errno != EINTR)
      return 0;
    if (got > 0) {
      thread->is_stopped = WIFSTOPPED(status);
      if (WIFSTOPPED(status) && status >> 16 == 0)
        thread->signal = WSTOPSIG(status);
      return 0;
    }
    if (hwi_os_monotonic_ns() > end_ns)
      return -ETIME;
    nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
  }
}

int hwi_os_stop(struct hwi_os_stopped *stopped, uint32_t pid)
{
  const uint64_t end_ns = hwi_os_monotonic_ns() + PATIENCE_NS;
  *stopped = (struct hwi_os_stopped){.pid = pid};
  size_t done = 0, left = 0;
  int found, status;
  do {
    found = seize_new(stopped);
    status = found < 0 ? found : 0;
    for (; done < stopped->count && status == 0; done++)
      status = wait_for(&stopped->threads[done], end_ns);
  } while (found > 0 && status == 0);
  for (size_t i = 0; i < stopped->count; i++)
    left += stopped->threads[i].is_stopped;
  if (status == 0 && left == 0)
    status = -ESRCH;
  if (status < 0)
    hwi_os_let_go(stopped);
  return status;
}

/* After an error, a thread may be about to stop: only when it has can it be let go. */
void hwi_os_let_go(struct hwi_os_stopped *stopped)
{
  const uint64_t end_ns = hwi_os_monotonic_ns() + GRACE_NS;
  for (size_t i = 0; i < stopped->count; i++) {
    struct hwi_os_stopped_thread *thread = &stopped->threads[i];
    if (!thread->is_stopped)
      wait_for(thread, end_ns);
    if (thread->is_stopped)
      ptrace(PTRACE_DETACH, thread->tid, NULL, (void *)(intptr_t)thread->signal);
  }
  free(stopped->threads);
  *stopped = (struct hwi_os_stopped){0};
}

/* --- registers --- */

static size_t read_note(uint32_t tid, uint32_t note, void *to, size_t bytes)
{
  struct iovec room = {to, bytes};
  return ptrace(PTRACE_GETREGSET, tid, (void *)(uintptr_t)note, &room) == 0 ? room.iov_len : 0;
}

/* No call keeps them: in a system call they have what is left of earlier work. */
static void read_vectors(uint32_t tid, const struct hwi_machine *machine, struct hwi_os_registers *registers)
{
  enum { STATE_BYTES = 4096 };
  unsigned char state[STATE_BYTES];
  if (registers->system_call >= 0)
    return;
  const struct hwi_machine_note note = {machine->vector_note, state,
                                        read_note(tid, machine->vector_note, state, sizeof state)};
  registers->vector_count = hwi_machine_vector_words(machine, &note, registers->vectors, HWI_OS_VECTORS_MAX);
}

static uint64_t read_thread_pointer(uint32_t tid, const struct hwi_machine *machine, const uint64_t *registers)
{
  enum { NOTE_BYTES = 64 };
  unsigned char bytes[NOTE_BYTES];
  if (machine->thread_pointer != HWI_MACHINE_NO_PLACE)
    return registers[machine->thread_pointer];
  const struct hwi_machine_note note = {machine->thread_pointer_note, bytes,
                                        read_note(tid, machine->thread_pointer_note, bytes, sizeof bytes)};
  return hwi_machine_thread_pointer(machine, registers, &note);
}

static int64_t read_system_call(uint32_t tid, const struct hwi_machine *machine, const uint64_t *registers)
{
  int32_t number = -1;
  if (!machine->system_call_note)
    return hwi_machine_system_call(machine, registers);
  read_note(tid, machine->system_call_note, &number, sizeof number);
  return number;
}

/* How many bytes the kernel has says in which mode the thread runs. */
bool hwi_os_thread_registers(uint32_t tid, struct hwi_os_registers *registers)
{
  unsigned char words[sizeof registers->all];
  const struct hwi_machine *machine = hwi_machine_of_registers(read_note(tid, NT_PRSTATUS, words, sizeof words));
  if (!machine)
    return false;
  *registers = (struct hwi_os_registers){.machine = machine, .count = machine->register_count};
  for (size_t i = 0; i < machine->register_count; i++)
    memcpy(&registers->all[i], words + i * machine->word_bytes, machine->word_bytes);
  registers->stack_pointer = registers->all[machine->stack_pointer];
  registers->program_counter = registers->all[machine->program_counter];
  registers->thread_pointer = read_thread_pointer(tid, machine, registers->all);
  registers->system_call = read_system_call(tid, machine, registers->all);
  read_vectors(tid, machine, registers);
  return true;
}

bool hwi_os_stopped_registers(const struct hwi_os_stopped *stopped, size_t thread, struct hwi_os_registers *registers)
{
  return stopped->threads[thread].is_stopped && hwi_os_thread_registers(stopped->threads[thread].tid, registers);
}

/* --- memory --- */

int64_t hwi_os_read_memory(uint32_t pid, uint64_t address, void *to, size_t bytes)
{
  const struct iovec here = {to, bytes}, there = {(void *)(uintptr_t)address, bytes};
  const ssize_t got = process_vm_readv((pid_t)pid, &here, 1, &there, 1, 0);
  return got < 0 ? -errno : got;
}

/* Bits of an entry of pagemap. */
static const uint64_t PRESENT = UINT64_C(1) << 63, SWAPPED = UINT64_C(1) << 62, OF_FILE = UINT64_C(1) << 61;

int hwi_os_open_pages(uint32_t pid)
{
  char path[PATH_BYTES];
  if (!hwi_os_page_size_is_usual())
    return -1; /* all that is mapped is read */
  snprintf(path, sizeof path, "/proc/%u/pagemap", pid);
  return open(path, O_RDONLY | O_CLOEXEC);
}

bool hwi_os_each_present(int pages, uint64_t start, uint64_t end, bool only_own,
                         bool (*each)(void *context, uint64_t start, uint64_t end), void *context)
{
  enum { ENTRIES = 4096 };
  static const uint64_t page_bytes = HWI_OS_PAGE_BYTES;
  uint64_t entries[ENTRIES], begin = 0;
  for (uint64_t at = start; at < end;) {
    const uint64_t wanted = (end - at) / page_bytes < ENTRIES ? (end - at) / page_bytes : ENTRIES;
    const ssize_t got = pread(pages, entries, wanted * sizeof *entries, (off_t)(at / page_bytes * sizeof *entries));
    if (got < (ssize_t)sizeof *entries)
      return false;
    for (size_t i = 0; i < (size_t)got / sizeof *entries; i++, at += page_bytes) {
      const bool is_there = (entries[i] & (PRESENT | SWAPPED)) && !(only_own && (entries[i] & OF_FILE));
      if (is_there && !begin)
        begin = at;
      if (!is_there && begin && !each(context, begin, at))
        return true;
      if (!is_there)
        begin = 0;
    }
  }
  if (begin)
    each(context, begin, end);
  return true;
}

/* --- rights --- */

static long number_in(const char *path)
{
  char line[32];
  FILE *file = fopen(path, "re");
  const long number = file && fgets(line, sizeof line, file) ? strtol(line, NULL, 10) : -1;
  if (file)
    fclose(file);
  return number;
}

static uint32_t tracer_of(uint32_t pid)
{
  static const char field[] = "TracerPid:";
  char line[HWI_PROC_LINE_BYTES];
  uint32_t tracer = 0;
  FILE *file = hwi_proc_open(pid, "status");
  while (file && fgets(line, sizeof line, file))
    if (strncmp(line, field, sizeof field - 1) == 0)
      tracer = (uint32_t)strtoul(line + sizeof field - 1, NULL, 10);
  if (file)
    fclose(file);
  return tracer;
}

struct hwi_os_access hwi_os_access(uint32_t pid)
{
  char path[PATH_BYTES];
  struct stat about;
  struct hwi_os_access access = {.tracer = tracer_of(pid)};
  snprintf(path, sizeof path, "/proc/%u", pid);
  access.exists = stat(path, &about) == 0;
  access.user = access.exists ? about.st_uid : 0;
  access.is_other_user = access.exists && geteuid() != 0 && about.st_uid != geteuid();
  access.ptrace_scope = (int)number_in("/proc/sys/kernel/yama/ptrace_scope");
  return access;
}
