/* real.h - the next library's functions: those that the program would have called without us
 *
 * Found at the first call of any entry point, which is the dynamic loader's own, before any constructor runs. A preloaded
 * or linked jemalloc, tcmalloc or mimalloc that comes behind us in the search order is the real allocator then.
 */
#ifndef HWI_RECORD_REAL_H
#define HWI_RECORD_REAL_H

#include <pthread.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>

#include "heapwright/detail/entry_list.h"

typedef void hwi_function(void);
typedef void *hwi_malloc_fn(size_t size);
typedef void hwi_free_fn(void *block);
typedef void *hwi_calloc_fn(size_t count, size_t size);
typedef void *hwi_realloc_fn(void *old, size_t size);
typedef int hwi_posix_memalign_fn(void **to, size_t align, size_t size);
typedef void *hwi_aligned_alloc_fn(size_t align, size_t size);
typedef size_t hwi_usable_size_fn(void *block);
typedef int hwi_dlclose_fn(void *handle);
typedef int hwi_setname_fn(pthread_t thread, const char *name);
typedef int hwi_prctl_fn(int option, ...);
typedef long hwi_syscall_fn(long number, ...);
typedef int hwi_execv_fn(const char *path, char *const arguments[]);
typedef int hwi_execve_fn(const char *path, char *const arguments[], char *const variables[]);
typedef int hwi_fexecve_fn(int fd, char *const arguments[], char *const variables[]);
typedef int hwi_spawn_fn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                         const posix_spawnattr_t *attributes, char *const arguments[], char *const variables[]);

/* By enum hw_entry. All NULL before they are found. Afterwards the functions of C are never NULL, but for those that are
 * another one in disguise (reallocarray, free_sized, free_aligned_sized): glibc's call realloc and free by name, which are
 * ours, so that they would be reported twice; ours call the real realloc and free. What the next libraries lack is made from
 * what they have. Operators that no library behind us defines stay NULL. */
extern __attribute__((visibility("hidden"))) hwi_function *hwi_real_function[HW_ENTRY_COUNT];
extern __attribute__((visibility("hidden"))) hwi_dlclose_fn *hwi_real_dlclose;
extern __attribute__((visibility("hidden"))) hwi_setname_fn *hwi_real_setname; /* NULL: this libc has none */
extern __attribute__((visibility("hidden"))) hwi_prctl_fn *hwi_real_prctl;
extern __attribute__((visibility("hidden"))) hwi_syscall_fn *hwi_real_syscall;
extern __attribute__((visibility("hidden"))) hwi_execv_fn *hwi_real_execv, *hwi_real_execvp;
extern __attribute__((visibility("hidden"))) hwi_execve_fn *hwi_real_execve, *hwi_real_execvpe;
extern __attribute__((visibility("hidden"))) hwi_fexecve_fn *hwi_real_fexecve;
extern __attribute__((visibility("hidden"))) hwi_spawn_fn *hwi_real_spawn, *hwi_real_spawnp;

/* The program has a malloc that minds being recorded: see sanitizers.h. Known with the functions. */
extern __attribute__((visibility("hidden"))) bool hwi_real_is_left_alone;

/* The real function of an entry point as a function of `type`. */
#define HWI_REAL(id, type) ((type *)hwi_real_function[HW_ENTRY_##id])

/* Finds them all. False before this library is relocated: such a call is served by boot.h. Any thread, any time, any number of
 * times; takes no lock and calls no function of libc that may allocate. */
bool hwi_real_find(void);

/* Only the functions of noticed.c. */
void hwi_real_find_noticed(void);

/* The symbol of an entry point. */
const char *hwi_real_symbol(enum hw_entry entry);

#endif
