/* heap.c - the heap of a process on Linux: memory that can grow in place, a lock with priority inheritance */
#define _GNU_SOURCE
#include "platform/os_heap.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/futex.h>
#include <linux/mempolicy.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unwind.h>

#include "platform/linux/call.h"
#include "platform/linux/find_object.h"
#include "platform/os.h"

enum {
  STDERR = 2,
  LEAST_KEPT_DESCRIPTOR = 700,
  HUGE_PAGE_BYTES = 2 << 20,
  HUGE_2MB = 21 << MAP_HUGE_SHIFT,
  MOST_NODES = 1024,
  WORD_BITS = 8 * sizeof(unsigned long),
};

/* Nearly all of the address space between the program and the libraries is free, and the kernel fills it downward from
 * the libraries. A mapping this far below them can grow upward. */
static const uintptr_t ROOM_BYTES = (uintptr_t)1 << (sizeof(uintptr_t) == 8 ? 43 : 29);

static long map(const void *start, size_t bytes, int flags)
{
  return hwi_call_map(start, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

int hwi_os_map_with_room(size_t bytes, void **start)
{
  uintptr_t here = (uintptr_t)&hwi_os_map_with_room;
  uintptr_t wanted = here > 2 * ROOM_BYTES ? (here - ROOM_BYTES) & ~(uintptr_t)(HUGE_PAGE_BYTES - 1) : 0;
  long at = map((const void *)wanted, bytes, 0);
  if (hwi_call_failed(at))
    return (int)at;
  *start = (void *)at;
  return 0;
}

static int map_at(void *start, size_t bytes, int flags)
{
  long at = map(start, bytes, MAP_FIXED_NOREPLACE | flags);
  if (hwi_call_failed(at) || (void *)at == start)
    return hwi_call_failed(at) ? (int)at : 0;
  hwi_os_unmap((void *)at, bytes); /* before Linux 4.17 the flag has no effect */
  return -EEXIST;
}

int hwi_os_map_at(void *start, size_t bytes)
{
  return map_at(start, bytes, 0);
}

int hwi_os_map_huge_at(void *start, size_t bytes)
{
  return map_at(start, bytes, MAP_HUGETLB | HUGE_2MB);
}

int hwi_os_prefer_node(void *start, size_t bytes, size_t node)
{
  unsigned long nodes[MOST_NODES / WORD_BITS] = {0};
  if (node >= MOST_NODES)
    return -EINVAL;
  nodes[node / WORD_BITS] = 1UL << node % WORD_BITS;
  return (int)CALL(SYS_mbind, start, bytes, MPOL_PREFERRED, nodes, MOST_NODES + 1, 0);
}

/* The setting of the system for huge pages: one of "always", "madvise" and "never". */
static bool huge_pages_are(const char *word_in_brackets)
{
  char text[64];
  long n = hwi_os_read_file("/sys/kernel/mm/transparent_hugepage/enabled", text, sizeof text - 1);
  text[n > 0 ? n : 0] = 0;
  return strstr(text, word_in_brackets);
}

/* The kernel accepts the request even if the setting of the system or the process forbids huge pages. */
int hwi_os_use_huge_pages(void *start, size_t bytes)
{
  if (huge_pages_are("[never]") || CALL(SYS_prctl, PR_GET_THP_DISABLE, 0, 0, 0, 0, 0) == 1)
    return -EOPNOTSUPP;
  return (int)CALL(SYS_madvise, start, bytes, MADV_HUGEPAGE, 0, 0, 0);
}

void hwi_os_use_small_pages(void *start, size_t bytes)
{
  CALL(SYS_madvise, start, bytes, MADV_NOHUGEPAGE, 0, 0, 0);
}

void hwi_os_touch_ahead(void *start, size_t bytes)
{
  static bool is_refused; /* by a kernel before 5.14 or with larger pages, or by a sandbox */
  if (__atomic_load_n(&is_refused, __ATOMIC_RELAXED))
    return;
  long result = CALL(SYS_madvise, start, bytes, MADV_POPULATE_WRITE, 0, 0, 0);
  if (result == -EINVAL || result == -EPERM || result == -ENOSYS)
    __atomic_store_n(&is_refused, true, __ATOMIC_RELAXED);
}

bool hwi_os_gives_huge_pages(void)
{
  return huge_pages_are("[always]");
}

/* Nothing takes back MADV_NOHUGEPAGE alone. If the system gives huge pages by itself, a request for them comes nearest. */
void hwi_os_use_usual_pages(void *start, size_t bytes)
{
  if (hwi_os_gives_huge_pages())
    CALL(SYS_madvise, start, bytes, MADV_HUGEPAGE, 0, 0, 0);
}

int hwi_os_lock_memory(void *start, size_t bytes)
{
  return (int)CALL(SYS_mlock, start, bytes, 0, 0, 0, 0);
}

int hwi_os_drop_pages(void *start, size_t bytes)
{
  return (int)CALL(SYS_madvise, start, bytes, MADV_DONTNEED, 0, 0, 0);
}

/* The linker's name for the first bytes of the program or library that has this code. */
extern const ElfW(Ehdr) own_header __asm__("__ehdr_start") __attribute__((weak, visibility("hidden")));

bool hwi_os_may_be_unloaded(void)
{
  return &own_header && (uintptr_t)&own_header + own_header.e_phoff != getauxval(AT_PHDR);
}

bool hwi_os_drops_small_pages(void)
{
  return hwi_os_page_size_is_usual();
}

/* Reads get the kernel's page of zeros, or, where it has none, new pages. */
int hwi_os_make_zeros(void *start, size_t bytes)
{
  long at = hwi_call_map(start, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  return hwi_call_failed(at) ? (int)at : 0;
}

void *hwi_os_remap(void *start, size_t old_bytes, size_t bytes, void *to)
{
  long at = CALL(SYS_mremap, start, old_bytes, bytes, to ? MREMAP_MAYMOVE | MREMAP_FIXED : 0, to, 0);
  return hwi_call_failed(at) ? NULL : (void *)at;
}

uint64_t hwi_os_available_bytes(void)
{
  static const char name[] = "MemAvailable:";
  char text[1024];
  long n = hwi_os_read_file("/proc/meminfo", text, sizeof text - 1);
  if (n <= 0)
    return UINT64_MAX;
  text[n] = 0;
  const char *at = strstr(text, name);
  if (!at)
    return UINT64_MAX;
  for (at += sizeof name - 1; *at == ' ';)
    at++;
  uint64_t kib = 0;
  for (; *at >= '0' && *at <= '9'; at++)
    kib = kib * 10 + (uint64_t)(*at - '0');
  return kib * 1024;
}

enum { NS_PER_SECOND = 1000000000 };

struct kernel_time {
  long seconds, ns;
};

static struct kernel_time time_of(uint64_t ns)
{
  return (struct kernel_time){(long)(ns / NS_PER_SECOND), (long)(ns % NS_PER_SECOND)};
}

int hwi_os_wait_for_lock(uint32_t *word, uint64_t most_ns)
{
  struct kernel_time end = {0};
  if (most_ns)
    end = time_of(hwi_os_realtime_ns() + most_ns); /* the kernel's clock for this call */
  long result;
  do
    result = CALL(SYS_futex, word, FUTEX_LOCK_PI_PRIVATE, 0, most_ns ? &end : NULL, 0, 0);
  while (result == -EAGAIN || result == -EINTR);
  return (int)result;
}

int hwi_os_hand_lock_on(uint32_t *word)
{
  return (int)CALL(SYS_futex, word, FUTEX_UNLOCK_PI_PRIVATE, 0, 0, 0, 0);
}

void hwi_os_sleep_ns(uint64_t ns)
{
  struct kernel_time left = time_of(ns);
  CALL4(SYS_ppoll, NULL, 0, &left, NULL);
}

/* glibc's pthread_atfork calls __register_atfork; other libcs do not have it. */
typedef void fork_handler(void);

extern int register_atfork(fork_handler *before, fork_handler *in_parent, fork_handler *in_child,
                           void *library) __asm__("__register_atfork") __attribute__((weak));
extern void *const library_handle __asm__("__dso_handle") __attribute__((visibility("hidden")));

void hwi_os_at_fork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void))
{
  if (register_atfork)
    register_atfork(before, in_parent, in_child, library_handle);
}

void *hwi_os_next_function(const char *name)
{
  return dlsym(RTLD_NEXT, name);
}

static int error_output = STDERR;

void hwi_os_keep_error_output(void)
{
  long kept = CALL(SYS_fcntl, STDERR, F_DUPFD_CLOEXEC, LEAST_KEPT_DESCRIPTOR, 0, 0, 0);
  if (!hwi_call_failed(kept))
    error_output = (int)kept;
}

void hwi_os_print_error(const char *text, size_t bytes)
{
  hwi_os_write(error_output, text, bytes);
}

int hwi_os_append_to_file(const char *path, const char *text, size_t bytes)
{
  int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK; /* a pipe may have no reader */
  long fd = CALL(SYS_openat, AT_FDCWD, path, flags, 0666, 0, 0);
  if (hwi_call_failed(fd))
    return (int)fd;
  int result = hwi_os_write((int)fd, text, bytes);
  CALL(SYS_close, fd, 0, 0, 0, 0, 0);
  return result;
}

int hwi_os_write(int fd, const char *text, size_t bytes)
{
  while (bytes) {
    long written = CALL(SYS_write, fd, text, bytes, 0, 0, 0);
    if (written <= 0 && written != -EINTR)
      return written ? (int)written : -EIO;
    text += written > 0 ? written : 0;
    bytes -= written > 0 ? (size_t)written : 0;
  }
  return 0;
}

const char *hwi_os_function_name(uintptr_t address, uintptr_t *start)
{
  Dl_info info;
  if (!dladdr((void *)address, &info) || !info.dli_sname)
    return NULL;
  *start = (uintptr_t)info.dli_saddr;
  return info.dli_sname;
}

struct frames {
  bool (*each)(void *context, uintptr_t pc);
  void *context;
};

static _Unwind_Reason_Code see_frame(struct _Unwind_Context *frame, void *context)
{
  struct frames *frames = (struct frames *)context;
  uintptr_t pc = (uintptr_t)_Unwind_GetIP(frame);
  return pc && frames->each(frames->context, pc) ? _URC_NO_REASON : _URC_END_OF_STACK;
}

void hwi_os_each_frame(bool (*each)(void *context, uintptr_t pc), void *context)
{
  struct frames frames = {each, context};
  _Unwind_Backtrace(see_frame, &frames);
}

/* The linker replaces the calls of _dl_find_object by libgcc's unwinder by calls of this (--wrap). With a glibc before 2.35, the unwinder
 * of 32-bit Arm finds no frames. */
int wrap_dl_find_object(void *address, struct dl_find_object *found) __asm__("__wrap__dl_find_object")
    __attribute__((used));

int wrap_dl_find_object(void *address, struct dl_find_object *found)
{
  hwi_find_object_fn *find = hwi_find_object();
  struct hwi_os_module module;
  if (find)
    return find(address, found);
  if (DLFO_STRUCT_HAS_EH_COUNT || !hwi_os_find_module((uintptr_t)address, &module) || !module.eh_frame_hdr)
    return -1;
  *found = (struct dl_find_object){.dlfo_map_start = (void *)module.start,
                                   .dlfo_map_end = (void *)module.end,
                                   .dlfo_eh_frame = (void *)module.eh_frame_hdr};
  return 0;
}

void hwi_os_abort(void)
{
  abort();
}
