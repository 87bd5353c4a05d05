/* real.c - finds the next library's functions
 *
 * They are found in the modules' own tables (platform/os.h), not by dlsym, which allocates and frees: that would be
 * recorded as calls of the program, and a program's own malloc may not work before main. Threads that come at the same
 * time each do the whole look-up and store the same answers: no thread waits, and a fork or a signal in the middle
 * leaves nothing locked.
 */
#include "record/runtime/real.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "platform/os.h"
#include "record/runtime/call_timer.h"
#include "record/runtime/operators.h"
#include "record/runtime/redirect_wrappers.h"
#include "record/runtime/redirected.h"
#include "record/runtime/sanitizers.h"

hwi_function *hwi_real_function[HW_ENTRY_COUNT];
hwi_dlclose_fn *hwi_real_dlclose;
hwi_setname_fn *hwi_real_setname;
hwi_prctl_fn *hwi_real_prctl;
hwi_syscall_fn *hwi_real_syscall;
bool hwi_real_is_left_alone, hwi_real_is_loaded_late;
hwi_execv_fn *hwi_real_execv, *hwi_real_execvp;
hwi_execve_fn *hwi_real_execve, *hwi_real_execvpe;
hwi_fexecve_fn *hwi_real_fexecve;
hwi_spawn_fn *hwi_real_spawn, *hwi_real_spawnp;

/* --- what a library lacks, or makes of other functions --- */

/* musl's malloc maps blocks of the second size on their own. */
enum { ZEROS_MATTER_BYTES = 1 << 16, OWN_MAPPING_BYTES = 1 << 18 };

static bool is_libcs_malloc; /* what is beneath the recorder */

static bool is_zero(const char *page)
{
  const uint64_t *words = (const uint64_t *)page;
  uint64_t bits = 0;
  for (size_t i = 0; i < HWI_OS_PAGE_BYTES / sizeof *words; i++)
    bits |= words[i];
  return bits == 0;
}

/* A page of a large block that nothing has been written to must not become memory because of zeros. It does if it is read where
 * the system gives huge pages by itself, and has no huge zero page. */
static void clear(char *block, size_t bytes)
{
  if (bytes < ZEROS_MATTER_BYTES) {
    memset(block, 0, bytes);
    return;
  }
  const size_t head = -(uintptr_t)block & (HWI_OS_PAGE_BYTES - 1),
               tail = (uintptr_t)(block + bytes) & (HWI_OS_PAGE_BYTES - 1);
  char *const first = block + head, *const end = block + bytes - tail;
  memset(block, 0, head);
  if (is_libcs_malloc && bytes >= OWN_MAPPING_BYTES && hwi_os_page_size_is_usual())
    hwi_os_map_reset(first, (size_t)(end - first));
  else
    for (char *page = first; page < end; page += HWI_OS_PAGE_BYTES)
      if (!is_zero(page))
        memset(page, 0, HWI_OS_PAGE_BYTES);
  memset(end, 0, tail);
}

static void *calloc_by_malloc(size_t count, size_t size)
{
  size_t bytes;
  void *block = HWI_REAL(MALLOC, hwi_malloc_fn)(__builtin_mul_overflow(count, size, &bytes) ? SIZE_MAX : bytes);
  if (block)
    clear(block, bytes);
  return block;
}

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

/* As musl's, which leaves the error in errno, too. */
static int posix_memalign_by_aligned_alloc(void **to, size_t align, size_t size)
{
  if (align < sizeof *to)
    return EINVAL;
  void *block = HWI_REAL(ALIGNED_ALLOC, hwi_aligned_alloc_fn)(align, size);
  if (!block)
    return errno;
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

/* --- usable sizes --- */

static hwi_usable_size_fn *usable_size_of_allocator;

extern const char asking_begins[] __asm__("__start_hwi_asking") __attribute__((visibility("hidden")));
extern const char asking_ends[] __asm__("__stop_hwi_asking") __attribute__((visibility("hidden")));

/* An allocator may allocate meanwhile, within the event that needs the size. The stack then has a frame of this function, which
 * alone is in its section. */
static __attribute__((noinline, section("hwi_asking"))) size_t ask_usable_size(void *block)
{
  const size_t bytes = usable_size_of_allocator(block);
  __asm__ volatile(""); /* a tail call would leave no frame */
  return bytes;
}

uintptr_t hwi_real_asking_code(size_t *bytes)
{
  *bytes = (size_t)(asking_ends - asking_begins);
  return (uintptr_t)asking_begins;
}

static hwi_usable_size_fn *usable_size_of_program; /* only it calls that */

size_t hwi_real_usable_size_for_program(void *block)
{
  return usable_size_of_program ? usable_size_of_program(block)
                                : HWI_REAL(MALLOC_USABLE_SIZE, hwi_usable_size_fn)(block);
}

/* libc's malloc_usable_size does not allocate. A static program's may be another allocator's; where it is libc's, the blocks may
 * be another allocator's. */
static void ask_for_usable_sizes(hwi_function *next[])
{
  if (!is_libcs_malloc && hwi_os_may_be_libcs_usable_size((uintptr_t)next[HW_ENTRY_MALLOC_USABLE_SIZE])) {
    usable_size_of_program = (hwi_usable_size_fn *)next[HW_ENTRY_MALLOC_USABLE_SIZE];
    next[HW_ENTRY_MALLOC_USABLE_SIZE] = (hwi_function *)usable_size_unknown;
    return;
  }
  if (hwi_os_is_of_libc((uintptr_t)next[HW_ENTRY_MALLOC_USABLE_SIZE]) && !hwi_os_is_static())
    return;
  usable_size_of_allocator = (hwi_usable_size_fn *)next[HW_ENTRY_MALLOC_USABLE_SIZE];
  next[HW_ENTRY_MALLOC_USABLE_SIZE] = (hwi_function *)ask_usable_size;
}

/* --- all gaps --- */

static void fill(hwi_function *next[], enum hw_entry entry, hwi_function *substitute)
{
  if (!next[entry])
    next[entry] = substitute;
}

/* musl's own versions of these functions call malloc or aligned_alloc by name, which are ours, so that a call would be reported
 * twice. */
static void leave_out_musls(hwi_function *next[])
{
  static const enum hw_entry calling_others[] = {HW_ENTRY_CALLOC, HW_ENTRY_POSIX_MEMALIGN, HW_ENTRY_MEMALIGN,
                                                 HW_ENTRY_VALLOC};
  for (size_t i = 0; i < sizeof calling_others / sizeof *calling_others && hwi_os_libc_is_musl(); i++)
    if (hwi_os_is_of_libc((uintptr_t)next[calling_others[i]]))
      next[calling_others[i]] = NULL;
  if (hwi_os_libc_is_musl())
    fill(next, HW_ENTRY_POSIX_MEMALIGN, (hwi_function *)posix_memalign_by_aligned_alloc);
}

static void fill_gaps(hwi_function *next[])
{
  fill(next, HW_ENTRY_CALLOC, (hwi_function *)calloc_by_malloc);
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

/* NULL until the loader has relocated this library. Code of other libraries may run, and allocate, before that. */
static const char *volatile is_relocated = entry_symbols[0];

/* Returns the function that this library replaces. If it was loaded late it replaces none, and the others come first. */
static const void *symbol_of(const char *name)
{
  const void *next = hwi_os_symbol_after(name);
  return next || !hwi_real_is_loaded_late ? next : hwi_os_symbol_before(name);
}

/* If the program defines malloc, it may lack some of C's other functions: what calls them comes here. libc makes reallocarray of
 * the program's realloc, and so do we. Only an allocator that is redirected (redirect.h) serves them all, as fill_gaps makes them. */
static const void *function_of(enum hw_entry entry, const void *malloc_before)
{
  const char *symbol = entry_symbols[entry];
  const void *before = malloc_before ? hwi_os_symbol_before(symbol) : NULL;
  if (before && (entry < HW_ENTRY_NEW || hwi_redirected_at((uintptr_t)before)))
    return before;
  const bool is_of_other_blocks = entry == HW_ENTRY_MALLOC_USABLE_SIZE ||
                                  (entry >= HW_ENTRY_POSIX_MEMALIGN && entry < HW_ENTRY_MALLOC_USABLE_SIZE &&
                                   hwi_redirected_at((uintptr_t)malloc_before));
  return malloc_before && is_of_other_blocks ? NULL : symbol_of(symbol);
}

static bool find_all(hwi_function *next[])
{
  const void *malloc_before = hwi_real_is_loaded_late ? NULL : hwi_os_symbol_before(HW_SYMBOL_MALLOC);
  for (int entry = HW_ENTRY_MALLOC; entry < HW_ENTRY_COUNT; entry++)
    if (*entry_symbols[entry])
      next[entry] = (hwi_function *)function_of((enum hw_entry)entry, malloc_before);
  const bool is_complete =
      next[HW_ENTRY_MALLOC] && next[HW_ENTRY_FREE] && next[HW_ENTRY_CALLOC] && next[HW_ENTRY_REALLOC];
  is_libcs_malloc = hwi_os_is_libcs_malloc((uintptr_t)next[HW_ENTRY_MALLOC]);
  leave_out_musls(next);
  fill_gaps(next);
  ask_for_usable_sizes(next);
  return is_complete;
}

void hwi_real_find_interposed(void)
{
  if (!is_relocated)
    return;
  hwi_real_dlclose = (hwi_dlclose_fn *)symbol_of("dlclose");
  hwi_real_setname = (hwi_setname_fn *)symbol_of("pthread_setname_np");
  hwi_real_prctl = (hwi_prctl_fn *)symbol_of("prctl");
  hwi_real_syscall = (hwi_syscall_fn *)symbol_of("syscall");
  hwi_real_execv = (hwi_execv_fn *)symbol_of("execv");
  hwi_real_execvp = (hwi_execv_fn *)symbol_of("execvp");
  hwi_real_execve = (hwi_execve_fn *)symbol_of("execve");
  hwi_real_execvpe = (hwi_execve_fn *)symbol_of("execvpe");
  hwi_real_fexecve = (hwi_fexecve_fn *)symbol_of("fexecve");
  hwi_real_spawn = (hwi_spawn_fn *)symbol_of("posix_spawn");
  hwi_real_spawnp = (hwi_spawn_fn *)symbol_of("posix_spawnp");
}

/* A library that is preloaded or linked comes before libc in the search order. */
static bool is_after_libc(void)
{
  return hwi_os_symbol_before("gnu_get_libc_version") || hwi_os_symbol_before("_dl_debug_addr"); /* musl's */
}

bool hwi_real_find(void)
{
  hwi_function *next[HW_ENTRY_COUNT] = {0};
  if (!is_relocated)
    return false;
  hwi_real_is_loaded_late = is_after_libc();
  if (!find_all(next))
    return false;
  hwi_real_is_left_alone = hwi_sanitizers_leave();
  hwi_operators_plan(next);
  if (hwi_redirected_count() > 0)
    hwi_redirect_replace(next);
  hwi_call_timer_replace(next);
  for (int entry = HW_ENTRY_COUNT; entry-- > 0;)
    __atomic_store_n(&hwi_real_function[entry], next[entry], __ATOMIC_RELEASE);
  return true;
}
