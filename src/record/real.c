/* real.c - finds the next library's functions
 *
 * dlsym allocates, so the first call of an entry point comes back to us from within its own look-up. A flag of the thread
 * tells those calls, which boot.c serves. Threads that come at the same time each do the whole look-up and store the same
 * answers: nobody waits, and a fork or a signal in the middle leaves nothing locked.
 */
#define _GNU_SOURCE
#include "record/real.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdint.h>

#include "platform/os.h"
#include "record/operators.h"
#include "record/timed.h"

hwi_function *hwi_real_function[HW_ENTRY_COUNT];
hwi_dlclose_fn *hwi_real_dlclose;
hwi_setname_fn *hwi_real_setname;
hwi_prctl_fn *hwi_real_prctl;

/* NULL until the loader has relocated this library: code of other libraries may run, and allocate, before that. */
static void *(*volatile symbol_address)(void *, const char *) = dlsym;

static __thread bool is_finding;

/* --- what old libraries lack --- */

static void *memalign_by_posix_memalign(size_t align, size_t size)
{
  void *block = NULL;
  int error =
      HWI_REAL(POSIX_MEMALIGN, hwi_posix_memalign_fn)(&block, align < sizeof block ? sizeof block : align, size);
  if (!error)
    return block;
  errno = error;
  return NULL;
}

static int posix_memalign_by_memalign(void **to, size_t align, size_t size)
{
  if (align % sizeof *to || !align || align & (align - 1))
    return EINVAL;
  int errno_before = errno;
  void *block = HWI_REAL(MEMALIGN, hwi_aligned_alloc_fn)(align, size);
  errno = errno_before;
  if (!block)
    return ENOMEM;
  *to = block;
  return 0;
}

static void *valloc_by_memalign(size_t size)
{
  return HWI_REAL(MEMALIGN, hwi_aligned_alloc_fn)(HWI_OS_PAGE_BYTES, size);
}

static void *pvalloc_by_memalign(size_t size)
{
  size_t mask = HWI_OS_PAGE_BYTES - 1, bytes;
  if (__builtin_add_overflow(size, mask, &bytes)) {
    errno = ENOMEM;
    return NULL;
  }
  return HWI_REAL(MEMALIGN, hwi_aligned_alloc_fn)(HWI_OS_PAGE_BYTES, bytes & ~mask);
}

static size_t usable_size_unknown(void *block)
{
  (void)block;
  return 0;
}

static void fill(hwi_function *next[], enum hw_entry entry, hwi_function *substitute)
{
  if (!next[entry])
    next[entry] = substitute;
}

static void fill_gaps(hwi_function *next[])
{
  fill(next, HW_ENTRY_MEMALIGN, next[HW_ENTRY_ALIGNED_ALLOC]);
  fill(next, HW_ENTRY_MEMALIGN, (hwi_function *)memalign_by_posix_memalign);
  fill(next, HW_ENTRY_POSIX_MEMALIGN, (hwi_function *)posix_memalign_by_memalign);
  fill(next, HW_ENTRY_ALIGNED_ALLOC, next[HW_ENTRY_MEMALIGN]);
  fill(next, HW_ENTRY_VALLOC, (hwi_function *)valloc_by_memalign);
  fill(next, HW_ENTRY_PVALLOC, (hwi_function *)pvalloc_by_memalign);
  fill(next, HW_ENTRY_MALLOC_USABLE_SIZE, (hwi_function *)usable_size_unknown);
}

/* --- the look-up --- */

#define ENTRY_SYMBOL(id, name) [HW_ENTRY_##id] = HW_SYMBOL_##id,
static const char entry_symbols[HW_ENTRY_COUNT][40] = {HW_ENTRY_LIST(ENTRY_SYMBOL)};

const char *hwi_real_symbol(enum hw_entry entry)
{
  return entry_symbols[entry];
}

const void *hwi_real_behind(const char *symbol)
{
  return symbol_address(RTLD_NEXT, symbol);
}

bool hwi_real_is_ahead(const char *symbol, void **address)
{
  struct hwi_os_module own, definer;
  Dl_info info;
  const ElfW(Sym) *entry = NULL;
  *address = dlsym(RTLD_DEFAULT, symbol);
  if (!*address)
    dlerror();
  if (!*address || !hwi_os_find_module((uintptr_t)*address, &definer) ||
      !hwi_os_find_module((uintptr_t)hwi_real_is_ahead, &own) || definer.start == own.start)
    return false;
  /* An executable at a fixed address that uses a function's address has a stand-in for it, without defining it. */
  return !dladdr1(*address, &info, (void **)&entry, RTLD_DL_SYMENT) || !entry || entry->st_shndx != SHN_UNDEF;
}

/* A C program has no operator at all behind us: each look-up of a missing symbol makes an error text, so ask only twice. */
static bool may_have_operators(void)
{
  return symbol_address(RTLD_NEXT, HW_SYMBOL_NEW) || symbol_address(RTLD_NEXT, HW_SYMBOL_DELETE);
}

static bool find_all(hwi_function *next[])
{
  int end = may_have_operators() ? HW_ENTRY_COUNT : HW_ENTRY_NEW;
  for (int entry = HW_ENTRY_MALLOC; entry < end; entry++)
    next[entry] = (hwi_function *)symbol_address(RTLD_NEXT, entry_symbols[entry]);
  fill_gaps(next);
  return next[HW_ENTRY_MALLOC] && next[HW_ENTRY_FREE] && next[HW_ENTRY_CALLOC] && next[HW_ENTRY_REALLOC];
}

void hwi_real_find_noticed(void)
{
  if (!symbol_address)
    return;
  hwi_real_dlclose = (hwi_dlclose_fn *)symbol_address(RTLD_NEXT, "dlclose");
  hwi_real_setname = (hwi_setname_fn *)symbol_address(RTLD_NEXT, "pthread_setname_np");
  hwi_real_prctl = (hwi_prctl_fn *)symbol_address(RTLD_NEXT, "prctl");
}

bool hwi_real_find(void)
{
  if (!symbol_address || is_finding)
    return false;
  is_finding = true;
  hwi_function *next[HW_ENTRY_COUNT] = {0};
  bool is_found = find_all(next);
  if (is_found) {
    hwi_operators_plan(next);
    hwi_timed_replace(next);
    for (int entry = HW_ENTRY_COUNT; entry-- > 0;)
      __atomic_store_n(&hwi_real_function[entry], next[entry], __ATOMIC_RELEASE);
  }
  dlerror(); /* what was missing is nobody's error: the program must not find a text of ours there */
  is_finding = false;
  return is_found;
}
