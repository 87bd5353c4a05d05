/* static.c - the symbols of a static program with the recorder, in place of symbols.c and dynamic.c
 *
 * The linker's option --wrap=NAME makes each call of NAME in the program, and in libc, one of __wrap_NAME, which is the recorder's,
 * and __real_NAME is the definition that the program would have without it. Of an archive, only what is needed is linked: a weak
 * reference finds what is linked anyway.
 */
#define _GNU_SOURCE
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>

#include "platform/os.h"
#include "platform/os_code.h"

/* X(name): functions that every libc has. */
#define HW_NEEDED(X)    \
  X(malloc)             \
  X(free)               \
  X(calloc)             \
  X(realloc)            \
  X(aligned_alloc)      \
  X(malloc_usable_size) \
  X(pthread_setname_np) \
  X(prctl)              \
  X(syscall)            \
  X(execv)              \
  X(execvp)             \
  X(execve)             \
  X(execvpe)            \
  X(fexecve)            \
  X(posix_spawn)        \
  X(posix_spawnp)
/* Others, which the recorder makes of those if they are not linked. */
#define HW_WEAK(X) X(posix_memalign) X(memalign) X(valloc) X(pvalloc)

#define DECLARE(name) extern char real_##name[] __asm__("__real_" #name);
#define DECLARE_WEAK(name) extern char real_##name[] __asm__("__real_" #name) __attribute__((weak));
HW_NEEDED(DECLARE)
HW_WEAK(DECLARE_WEAK)

static const struct {
  const char *name;
  const void *address;
} reals[] = {
#define ROW(name) {#name, real_##name},
    HW_NEEDED(ROW) HW_WEAK(ROW)};

/* It stays in a stripped program. */
static const struct {
  uint32_t name_bytes, contents_bytes, type;
  char name[(sizeof HWI_OS_NOTE_NAME + 3) / 4 * 4];
} note __attribute__((section(".note.heapwright"), aligned(4), used)) = {sizeof HWI_OS_NOTE_NAME, 0,
                                                                         HWI_OS_NOTE_RECORDER, HWI_OS_NOTE_NAME};

/* A program that has a dynamic loader may have the recorder preloaded. */
bool hwi_os_is_static(void)
{
  return !getauxval(AT_BASE);
}

/* libc's own names; NULL: not linked. glibc's __malloc is malloc itself. Other allocators define __libc_malloc, too, so that musl's, with
 * which __bump_lockptr comes, is not linked; then __bump_lockptr is fork's, and points to nothing. musl's __libc_malloc is a small
 * function of the same object as malloc, so that the linker places one after the other. musl's malloc_usable_size needs
 * __malloc_context. */
extern char glibc_malloc[] __asm__("__malloc") __attribute__((weak));
extern char musl_malloc[] __asm__("__libc_malloc") __attribute__((weak));
extern volatile int *const musl_lock __asm__("__bump_lockptr") __attribute__((weak));
extern char glibc_usable_size[] __asm__("__malloc_usable_size") __attribute__((weak));
extern char musl_heap[] __asm__("__malloc_context") __attribute__((weak));

enum { NEXT_SECTION_BYTES = 64 };

bool hwi_os_is_libcs_malloc(uintptr_t function)
{
  const uintptr_t glibcs = (uintptr_t)glibc_malloc, musls = (uintptr_t)musl_malloc;
  if (!&musl_lock || !musl_lock)
    return glibcs && function == glibcs;
  return (function > musls ? function - musls : musls - function) <= NEXT_SECTION_BYTES;
}

bool hwi_os_may_be_libcs_usable_size(uintptr_t function)
{
  return glibc_usable_size ? function == (uintptr_t)glibc_usable_size : musl_heap != NULL;
}

bool hwi_os_is_linked_in(void)
{
  return true;
}

const void *hwi_os_symbol_after(const char *name)
{
  for (size_t i = 0; i < sizeof reals / sizeof *reals; i++)
    if (strcmp(reals[i].name, name) == 0)
      return reals[i].address;
  return NULL;
}

const void *hwi_os_symbol_before(const char *name)
{
  (void)name;
  return NULL;
}

const void *hwi_os_symbol_seen_from(uintptr_t address, const char *name)
{
  (void)address, (void)name;
  return NULL;
}

bool hwi_os_image_first(struct hwi_os_image *image)
{
  (void)image;
  return false;
}

bool hwi_os_image_next(struct hwi_os_image *image)
{
  (void)image;
  return false;
}

void hwi_os_image_close(struct hwi_os_image *image)
{
  (void)image;
}

void hwi_os_image_functions(const struct hwi_os_image *image,
                            void (*found)(void *context, const struct hwi_os_function *function), void *context)
{
  (void)image, (void)found, (void)context;
}

void hwi_os_image_references(const struct hwi_os_image *image, void (*found)(void *context, const char *name),
                             void *context)
{
  (void)image, (void)found, (void)context;
}

bool hwi_os_image_looks_up(const struct hwi_os_image *image, uintptr_t address)
{
  (void)image, (void)address;
  return false;
}
