/* heap.c - the interface to Windows for heaps: memory at a place, locks, messages (os_heap.h)
 *
 * granule   64 KiB. Memory begins at a multiple of it, and address space between the end of memory and the next one is no one else's:
 *           so all of it is reserved, and memory can grow up to there.
 */
#include "platform/os_heap.h"

#include <errno.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <synchapi.h>
#include <windows.h>

#include "platform/os.h"

enum { GRANULE_BYTES = 64 << 10, MOST_FRAMES = 62 /* RtlCaptureStackBackTrace takes no more on old systems */ };

static size_t granules(size_t bytes)
{
  return (bytes + GRANULE_BYTES - 1) & ~(size_t)(GRANULE_BYTES - 1);
}

/* --- memory --- */

int hwi_os_map_at(void *start, size_t bytes)
{
  if (!VirtualAlloc(start, granules(bytes), MEM_RESERVE, PAGE_READWRITE))
    return GetLastError() == ERROR_INVALID_ADDRESS ? -EEXIST : -ENOMEM;
  if (VirtualAlloc(start, bytes, MEM_COMMIT, PAGE_READWRITE))
    return 0;
  VirtualFree(start, 0, MEM_RELEASE);
  return -ENOMEM;
}

/* Large pages need a privilege that users do not have. */
int hwi_os_map_huge_at(void *start, size_t bytes)
{
  (void)start, (void)bytes;
  return -ENOMEM;
}

int hwi_os_prefer_node(void *start, size_t bytes, size_t node)
{
  (void)start, (void)bytes, (void)node;
  return -ENOSYS; /* Windows chooses the node when memory is mapped, not later */
}

int hwi_os_use_huge_pages(void *start, size_t bytes)
{
  (void)start, (void)bytes;
  return -EINVAL;
}

void hwi_os_use_small_pages(void *start, size_t bytes)
{
  (void)start, (void)bytes;
}

void hwi_os_touch_ahead(void *start, size_t bytes)
{
  (void)start, (void)bytes;
}

bool hwi_os_gives_huge_pages(void)
{
  return false;
}

void hwi_os_use_usual_pages(void *start, size_t bytes)
{
  (void)start, (void)bytes;
}

int hwi_os_lock_memory(void *start, size_t bytes)
{
  return VirtualLock(start, bytes) ? 0 : -EPERM;
}

/* What was decommitted reads as zeros when it is committed again. */
int hwi_os_drop_pages(void *start, size_t bytes)
{
  if (!VirtualFree(start, bytes, MEM_DECOMMIT))
    return -EINVAL;
  return VirtualAlloc(start, bytes, MEM_COMMIT, PAGE_READWRITE) ? 0 : -ENOMEM;
}

bool hwi_os_may_be_unloaded(void)
{
  HMODULE here = NULL;
  GetModuleHandleExA(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
                     (const char *)&hwi_os_may_be_unloaded, &here);
  return here != GetModuleHandleA(NULL);
}

/* Between the two calls, nobody can read them. */
bool hwi_os_drops_small_pages(void)
{
  return false;
}

int hwi_os_make_zeros(void *start, size_t bytes)
{
  DWORD before;
  int error = hwi_os_drop_pages(start, bytes);
  return error ? error : VirtualProtect(start, bytes, PAGE_READONLY, &before) ? 0 : -EINVAL;
}

/* Memory that becomes longer than what is reserved for it gets a further reservation behind that. */
static void *grow_here(char *start, size_t old_bytes, size_t bytes)
{
  size_t reserved = granules(old_bytes), here = bytes < reserved ? bytes : reserved;
  if (bytes > reserved && hwi_os_map_at(start + reserved, bytes - reserved) != 0)
    return NULL;
  if (here == old_bytes || VirtualAlloc(start + old_bytes, here - old_bytes, MEM_COMMIT, PAGE_READWRITE))
    return start;
  if (bytes > reserved)
    hwi_os_unmap(start + reserved, bytes - reserved);
  return NULL;
}

/* Whole reservations are released, of the first one only the memory. */
static void shrink_here(char *start, size_t old_bytes, size_t bytes)
{
  MEMORY_BASIC_INFORMATION region;
  char *at = start + bytes, *end = start + old_bytes;
  while (at < end && VirtualQuery(at, &region, sizeof region) && region.AllocationBase != at) {
    size_t left = (size_t)(end - at), here = region.RegionSize < left ? region.RegionSize : left;
    VirtualFree(at, here, MEM_DECOMMIT);
    at += here;
  }
  if (at < end)
    hwi_os_unmap(at, (size_t)(end - at));
}

static void *resize_here(void *start, size_t old_bytes, size_t bytes)
{
  if (bytes > old_bytes)
    return grow_here((char *)start, old_bytes, bytes);
  shrink_here((char *)start, old_bytes, bytes);
  return start;
}

/* Windows cannot move memory: it is copied. `to` is mapped. */
void *hwi_os_remap(void *start, size_t old_bytes, size_t bytes, void *to)
{
  if (!to)
    return resize_here(start, old_bytes, bytes);
  memcpy(to, start, old_bytes < bytes ? old_bytes : bytes);
  hwi_os_unmap(start, old_bytes);
  return to;
}

/* --- locks ---
 *
 * The word is 0, or the holder's tid, with a flag if threads wait or have waited: a thread that got the lock after a wait leaves it set,
 * since others may still wait. Priorities are not inherited.
 */

enum { TID_BITS = 0x3fffffff };
#define WAITED 0x80000000u

static bool take(uint32_t *word, uint32_t value)
{
  uint32_t nobody = 0;
  return __atomic_compare_exchange_n(word, &nobody, value, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

int hwi_os_wait_for_lock(uint32_t *word, uint64_t most_ns)
{
  (void)most_ns;
  const uint32_t mine = hwi_os_tid();
  while (!take(word, mine | WAITED)) {
    uint32_t held = __atomic_load_n(word, __ATOMIC_RELAXED);
    if ((held & TID_BITS) == mine)
      return -EDEADLK;
    if (held == 0 || (!(held & WAITED) && !__atomic_compare_exchange_n(word, &held, held | WAITED, false,
                                                                       __ATOMIC_RELAXED, __ATOMIC_RELAXED)))
      continue;
    held |= WAITED;
    WaitOnAddress(word, &held, sizeof held, INFINITE);
  }
  return 0;
}

int hwi_os_hand_lock_on(uint32_t *word)
{
  __atomic_store_n(word, 0, __ATOMIC_RELEASE);
  WakeByAddressSingle(word);
  return 0;
}

void hwi_os_sleep_ns(uint64_t ns)
{
  enum { NS_PER_MS = 1000000 };
  Sleep((DWORD)((ns + NS_PER_MS - 1) / NS_PER_MS));
}

/* No process of Windows forks. */
void hwi_os_at_fork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void))
{
  (void)before, (void)in_parent, (void)in_child;
}

/* --- messages --- */

/* The code of the heap has no section of its own: the section's end is its start, which message.c takes for none. */
const char hwi_windows_text_start[1] __asm__("__start_hwi_heap_text") = "";
extern const char hwi_windows_text_end[1] __asm__("__stop_hwi_heap_text")
    __attribute__((alias("__start_hwi_heap_text")));

int hwi_os_write(int fd, const char *text, size_t bytes)
{
  for (int done; bytes > 0 && (done = _write(fd, text, (unsigned)bytes)) > 0; text += done)
    bytes -= (size_t)done;
  return bytes ? -EIO : 0;
}

void hwi_os_print_error(const char *text, size_t bytes)
{
  hwi_os_write(_fileno(stderr), text, bytes);
}

const char *hwi_os_function_name(uintptr_t address, uintptr_t *start)
{
  (void)address, (void)start;
  return NULL;
}

void hwi_os_each_frame(bool (*each)(void *context, uintptr_t pc), void *context)
{
  void *frames[MOST_FRAMES];
  unsigned count = RtlCaptureStackBackTrace(1, MOST_FRAMES, frames, NULL);
  for (unsigned i = 0; i < count && each(context, (uintptr_t)frames[i]); i++)
    ;
}

void hwi_os_abort(void)
{
  abort();
}
