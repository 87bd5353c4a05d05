/* os_linux_loader.c - the interface to glibc's dynamic loader and threads
 *
 * _dl_find_object and _r_debug are read without any lock, so that a malloc inside the loader cannot deadlock. Both are
 * weak references. A glibc before 2.35 has no _dl_find_object; dl_iterate_phdr, which takes a recursive lock of the
 * loader, is used instead.
 */
#define _GNU_SOURCE
#include <assert.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/base_name.h"
#include "platform/os.h"

#pragma weak _dl_find_object
#pragma weak _r_debug

extern const char *gnu_get_libc_version(void) __attribute__((weak));

/* musl also loads the library if it is preloaded into all programs that a program starts. */
bool hwi_os_libc_is_known(void)
{
  return gnu_get_libc_version != NULL;
}

/* Sets start, end and eh_frame_hdr of a module that is loaded at `bias`. */
static void measure(const ElfW(Phdr) *phdrs, size_t count, uintptr_t bias, struct hwi_os_module *module)
{
  module->start = UINTPTR_MAX;
  module->end = 0;
  module->eh_frame_hdr = 0;
  for (size_t i = 0; i < count; i++) {
    uintptr_t start = bias + phdrs[i].p_vaddr;
    if (phdrs[i].p_type == PT_GNU_EH_FRAME)
      module->eh_frame_hdr = start;
    if (phdrs[i].p_type != PT_LOAD)
      continue;
    if (start < module->start)
      module->start = start;
    if (start + phdrs[i].p_memsz > module->end)
      module->end = start + phdrs[i].p_memsz;
  }
}

static bool from_loader(const struct dl_find_object *found, struct hwi_os_module *module)
{
  module->start = (uintptr_t)found->dlfo_map_start;
  module->end = (uintptr_t)found->dlfo_map_end;
  module->eh_frame_hdr = (uintptr_t)found->dlfo_eh_frame;
  module->bias = found->dlfo_link_map->l_addr;
  module->path = found->dlfo_link_map->l_name ? found->dlfo_link_map->l_name : "";
  /* The kernel maps the executable segment by segment, so there may be holes; glibc then reports only one segment. */
  const ElfW(Phdr) *phdrs = (const ElfW(Phdr) *)getauxval(AT_PHDR);
  if (!*module->path && phdrs)
    measure(phdrs, getauxval(AT_PHNUM), module->bias, module);
  return true;
}

struct search {
  uintptr_t address;
  struct hwi_os_module *module;
};

static int covers(struct dl_phdr_info *info, size_t size, void *context)
{
  (void)size;
  struct search *search = (struct search *)context;
  struct hwi_os_module *module = search->module;
  *module = (struct hwi_os_module){.bias = info->dlpi_addr, .path = info->dlpi_name};
  measure(info->dlpi_phdr, info->dlpi_phnum, info->dlpi_addr, module);
  return search->address >= module->start && search->address < module->end;
}

bool hwi_os_find_module(uintptr_t address, struct hwi_os_module *module)
{
  struct dl_find_object found;
  if (_dl_find_object)
    return _dl_find_object((void *)address, &found) == 0 && from_loader(&found, module);
  struct search search = {address, module};
  return dl_iterate_phdr(covers, &search) == 1;
}

struct path_search {
  bool (*is_one)(const char *path);
  const char *path; /* the path that was found */
};

static int is_wanted(struct dl_phdr_info *info, size_t size, void *context)
{
  (void)size;
  struct path_search *search = context;
  if (!search->is_one(info->dlpi_name))
    return 0;
  search->path = info->dlpi_name;
  return 1;
}

const char *hwi_os_module_path(bool (*is_one)(const char *path))
{
  struct path_search search = {.is_one = is_one};
  dl_iterate_phdr(is_wanted, &search);
  return search.path;
}

static bool is_of_valgrind(const char *path)
{
  static const char beginning[] = "vgpreload_";
  return strncmp(hwi_base_name(path), beginning, sizeof beginning - 1) == 0;
}

/* The answer never changes. A child of fork must not search again: the loader's lock may be held by a thread that the
 * child does not have. */
bool hwi_os_can_map_on(void)
{
  static enum { UNKNOWN, YES, NO } answer;
  if (answer == UNKNOWN)
    answer = hwi_os_module_path(is_of_valgrind) ? NO : YES;
  return answer == YES;
}

/* Writes the build-id among the notes in [at, end), and returns its length; 0: none. */
static size_t build_id_in(const uint8_t *at, const uint8_t *end, uint8_t *to, size_t max)
{
  while ((size_t)(end - at) >= sizeof(ElfW(Nhdr))) {
    const ElfW(Nhdr) *note = (const void *)at;
    size_t name_bytes = (note->n_namesz + 3u) & ~(size_t)3, bytes = (note->n_descsz + 3u) & ~(size_t)3;
    const uint8_t *name = at + sizeof *note;
    if (name_bytes > (size_t)(end - name) || bytes > (size_t)(end - name) - name_bytes)
      return 0;
    if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && memcmp(name, "GNU", 4) == 0) {
      size_t n = note->n_descsz < max ? note->n_descsz : max;
      memcpy(to, name + name_bytes, n);
      return n;
    }
    at = name + name_bytes + bytes;
  }
  return 0;
}

size_t hwi_os_build_id(const struct hwi_os_module *module, uint8_t *to, size_t max)
{
  const ElfW(Ehdr) *ehdr = (const void *)module->start;
  if (module->end - module->start < HWI_OS_PAGE_BYTES || !hwi_os_readable_pages(module->start, 1) ||
      memcmp(ehdr->e_ident, ELFMAG, SELFMAG) != 0 || ehdr->e_phentsize != sizeof(ElfW(Phdr)) ||
      ehdr->e_phoff + (size_t)ehdr->e_phnum * sizeof(ElfW(Phdr)) > HWI_OS_PAGE_BYTES)
    return 0;
  const ElfW(Phdr) *phdrs = (const void *)(module->start + ehdr->e_phoff);
  for (int i = 0; i < ehdr->e_phnum; i++) {
    uintptr_t start = module->bias + phdrs[i].p_vaddr, end = start + phdrs[i].p_memsz;
    if (phdrs[i].p_type != PT_NOTE || start < module->start || end > module->end || end < start)
      continue;
    size_t n = build_id_in((const uint8_t *)start, (const uint8_t *)end, to, max);
    if (n)
      return n;
  }
  return 0;
}

bool hwi_os_loader_range(uintptr_t *start, uintptr_t *end)
{
  struct hwi_os_module module;
  uintptr_t base = getauxval(AT_BASE);
  if (!base || !hwi_os_find_module(base, &module))
    return false;
  *start = module.start;
  *end = module.end;
  return true;
}

enum hwi_os_loader_work hwi_os_loader_work(void)
{
  if (!&_r_debug || _r_debug.r_state == RT_CONSISTENT)
    return HWI_OS_LOADER_IDLE;
  return _r_debug.r_state == RT_ADD ? HWI_OS_LOADER_LOADS : HWI_OS_LOADER_UNLOADS;
}

static int unloads(struct dl_phdr_info *info, size_t size, void *context)
{
  (void)size;
  *(uint64_t *)context = info->dlpi_subs;
  return 1; /* every module reports the same */
}

uint64_t hwi_os_unload_count(void)
{
  uint64_t count = 0;
  dl_iterate_phdr(unloads, &count);
  return count;
}

/* --- threads --- */

/* A claim is a robust mutex. libc writes the tid that it knows into the lock word, and when a thread ends, the kernel
 * marks the mutexes on that thread's robust list. So a reused tid is never taken for the earlier thread, and no system
 * call is needed. One case is not covered: a signal handler that takes a claim while it interrupts libc in the middle
 * of locking another robust mutex. Only a thread's first event takes a claim. */
static pthread_mutex_t *mutex_of(struct hwi_os_claim *claim)
{
  static_assert(sizeof(pthread_mutex_t) <= sizeof(struct hwi_os_claim), "a claim has room for a mutex");
  static_assert(_Alignof(pthread_mutex_t) <= _Alignof(struct hwi_os_claim), "a claim is aligned as a mutex");
  return (pthread_mutex_t *)claim->words;
}

void hwi_os_claim_init(struct hwi_os_claim *claim)
{
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(mutex_of(claim), &attributes);
  pthread_mutexattr_destroy(&attributes);
}

bool hwi_os_claim_is_held(const struct hwi_os_claim *claim)
{
  const pthread_mutex_t *mutex = (const pthread_mutex_t *)claim->words;
  uint32_t word = (uint32_t)__atomic_load_n(&mutex->__data.__lock, __ATOMIC_RELAXED);
  return word && !(word & FUTEX_OWNER_DIED);
}

uint32_t hwi_os_claim_take(struct hwi_os_claim *claim)
{
  pthread_mutex_t *mutex = mutex_of(claim);
  if (hwi_os_claim_is_held(claim)) /* as most are; an attempt would write to another thread's cache line */
    return 0;
  int result = pthread_mutex_trylock(mutex);
  if (result == EOWNERDEAD)
    pthread_mutex_consistent(mutex);
  else if (result)
    return 0;
  uint32_t tid = (uint32_t)__atomic_load_n(&mutex->__data.__lock, __ATOMIC_RELAXED) & FUTEX_TID_MASK;
  return tid ? tid : hwi_os_tid(); /* before glibc 2.34 without libpthread, a mutex does nothing: there is one thread */
}

/* libc stores the values of the first keys in the thread's own block, and calls calloc for those of later keys. That
 * calloc would enter the recorder while it makes the thread's stream. */
enum { KEYS_WITHOUT_MALLOC = 32 };

static pthread_key_t thread_end_key;
static bool thread_end_is_ready;

int hwi_os_prepare_thread_end(void (*ended)(void *), bool may_call_malloc)
{
  int result = pthread_key_create(&thread_end_key, ended);
  if (result == 0 && !may_call_malloc && thread_end_key >= KEYS_WITHOUT_MALLOC) {
    pthread_key_delete(thread_end_key);
    result = ENOMEM;
  }
  thread_end_is_ready = result == 0;
  return -result;
}

void hwi_os_forget_thread_end(void)
{
  if (thread_end_is_ready)
    pthread_key_delete(thread_end_key);
  thread_end_is_ready = false;
}

int hwi_os_at_thread_end(void *argument)
{
  return thread_end_is_ready ? -pthread_setspecific(thread_end_key, argument) : -EAGAIN;
}
