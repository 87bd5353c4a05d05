/* os.c - the interface to Windows: memory, time, the calling thread (os.h)
 *
 * Only what the heaps of heap.h and the commands that explain recordings need: Windows' own programs are not recorded.
 */
#include "platform/os.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

/* --- memory --- */

void *hwi_os_map(size_t bytes)
{
  return VirtualAlloc(NULL, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

static char *end_of_reservation(char *start)
{
  MEMORY_BASIC_INFORMATION region;
  char *end = start;
  while (VirtualQuery(end, &region, sizeof region) && region.State != MEM_FREE && region.AllocationBase == start)
    end += region.RegionSize;
  return end;
}

/* Windows releases what was reserved at once; so callers always unmap all of it. Memory that became longer has several
 * reservations. */
void hwi_os_unmap(void *start, size_t bytes)
{
  for (char *at = (char *)start, *end = at + bytes, *next; at && at < end; at = next) {
    next = end_of_reservation(at);
    if (next == at || !VirtualFree(at, 0, MEM_RELEASE))
      return;
  }
}

int hwi_os_populate(void *start, size_t bytes)
{
  for (size_t off = 0; off < bytes; off += HWI_OS_PAGE_BYTES)
    __atomic_fetch_add((char *)start + off, 0, __ATOMIC_RELAXED);
  return 0;
}

/* --- time and chance --- */

uint64_t hwi_os_monotonic_ns(void)
{
  enum { NS_PER_S = 1000000000 };
  LARGE_INTEGER count, per_second;
  QueryPerformanceCounter(&count);
  QueryPerformanceFrequency(&per_second);
  const uint64_t ticks = (uint64_t)count.QuadPart, rate = (uint64_t)per_second.QuadPart;
  return ticks / rate * NS_PER_S + ticks % rate * NS_PER_S / rate;
}

uint64_t hwi_os_coarse_ns(void)
{
  return hwi_os_monotonic_ns();
}

void hwi_os_random(void *to, size_t bytes)
{
  unsigned number = 0;
  for (size_t i = 0; i < bytes; i++) {
    if (i % sizeof number == 0)
      rand_s(&number);
    ((unsigned char *)to)[i] = ((unsigned char *)&number)[i % sizeof number];
  }
}

/* --- the process and its threads --- */

uint32_t hwi_os_pid(void)
{
  return GetCurrentProcessId();
}

uint32_t hwi_os_tid(void)
{
  return GetCurrentThreadId();
}

/* No handler of Windows interrupts a thread. */
uint64_t hwi_os_hold_async_signals(void)
{
  return 0;
}

void hwi_os_release_signals(uint64_t held)
{
  (void)held;
}

void hwi_os_yield(void)
{
  if (!SwitchToThread())
    Sleep(0);
}

/* A thread of the highest priority would keep one of a lower priority from running, as one with SCHED_FIFO does on Linux. */
void hwi_os_thread_policy(uint8_t *policy, uint8_t *priority)
{
  bool is_urgent = GetThreadPriority(GetCurrentThread()) >= THREAD_PRIORITY_TIME_CRITICAL;
  *policy = is_urgent ? SCHED_FIFO : SCHED_OTHER;
  *priority = is_urgent;
}

long hwi_os_executable_path(char *to, size_t bytes)
{
  wchar_t wide[MAX_PATH + 1];
  DWORD count = GetModuleFileNameW(NULL, wide, MAX_PATH + 1);
  int written = count ? WideCharToMultiByte(CP_UTF8, 0, wide, (int)count, to, (int)bytes, NULL, NULL) : 0;
  return written > 0 ? written : -ENOENT;
}

/* Stacks in messages are addresses only. */
bool hwi_os_find_module(uintptr_t address, struct hwi_os_module *module)
{
  (void)address, (void)module;
  return false;
}

/* --- the end of a thread --- */

static DWORD slot = FLS_OUT_OF_INDEXES;
static void (*at_end)(void *);

static void WINAPI thread_ended(void *argument)
{
  void (*ended)(void *) = at_end;
  if (argument && ended)
    ended(argument);
}

int hwi_os_prepare_thread_end(void (*ended)(void *), bool may_call_malloc)
{
  (void)may_call_malloc;
  at_end = ended;
  slot = FlsAlloc(thread_ended);
  return slot != FLS_OUT_OF_INDEXES ? 0 : -ENOMEM;
}

/* FlsFree calls the function for threads that have not ended, too: by then it does nothing. */
void hwi_os_forget_thread_end(void)
{
  at_end = NULL;
  if (slot != FLS_OUT_OF_INDEXES)
    FlsFree(slot);
  slot = FLS_OUT_OF_INDEXES;
}

int hwi_os_at_thread_end(void *argument)
{
  return slot != FLS_OUT_OF_INDEXES && FlsSetValue(slot, argument) ? 0 : -ENOMEM;
}
