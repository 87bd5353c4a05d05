/* real.h - the next library's functions: those that the program would have called without us
 *
 * They are found at the first call of any entry point, which the dynamic loader makes before any constructor runs. If a
 * preloaded or linked jemalloc, tcmalloc or mimalloc comes after us in the search order, it is the real allocator.
 */
#ifndef HWI_RECORD_RUNTIME_REAL_H
#define HWI_RECORD_RUNTIME_REAL_H

#include <pthread.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* By enum hw_entry. All are NULL before they are found. Afterwards the functions of C are never NULL, except those that
 * only call another one (reallocarray, free_sized, free_aligned_sized): glibc's versions call realloc and free by name,
 * which are ours, so that the call would be reported twice; our versions call the real realloc and free. A function
 * that the next libraries lack is made from others that they have. Operators that no library after us defines stay
 * NULL. */
extern __attribute__((visibility("hidden"))) hwi_function *hwi_real_function[HW_ENTRY_COUNT];
extern __attribute__((visibility("hidden"))) hwi_dlclose_fn *hwi_real_dlclose;
extern __attribute__((visibility("hidden"))) hwi_setname_fn *hwi_real_setname; /* NULL: this libc has none */
extern __attribute__((visibility("hidden"))) hwi_prctl_fn *hwi_real_prctl;
extern __attribute__((visibility("hidden"))) hwi_syscall_fn *hwi_real_syscall;
extern __attribute__((visibility("hidden"))) hwi_execv_fn *hwi_real_execv, *hwi_real_execvp;
extern __attribute__((visibility("hidden"))) hwi_execve_fn *hwi_real_execve, *hwi_real_execvpe;
extern __attribute__((visibility("hidden"))) hwi_fexecve_fn *hwi_real_fexecve;
extern __attribute__((visibility("hidden"))) hwi_spawn_fn *hwi_real_spawn, *hwi_real_spawnp;

/* The program has a malloc that must not be recorded: see sanitizers.h. Set when the functions are found. */
extern __attribute__((visibility("hidden"))) bool hwi_real_is_left_alone;

/* This library was loaded by dlopen, so that the program's calls do not come here. Set when the functions are sought. */
extern __attribute__((visibility("hidden"))) bool hwi_real_is_loaded_late;

/* The real function of an entry point, as a function of `type`. */
#define HWI_REAL(id, type) ((type *)hwi_real_function[HW_ENTRY_##id])

/* Finds all of them. Returns false before this library is relocated: boot.h then serves the call. May be called on any
 * thread, at any time, any number of times. Takes no lock and calls no function of libc that may allocate. */
bool hwi_real_find(void);

/* Returns where the code is that asks the real allocator for the usable size of a block. */
uintptr_t hwi_real_asking_code(size_t *bytes);

/* Calls malloc_usable_size for the program itself. The recorder calls HWI_REAL's, which knows no size if it may be libc's and malloc is
 * not: libc must not be asked about such blocks. */
size_t hwi_real_usable_size_for_program(void *block);

/* Finds only the functions of interposed.c. */
void hwi_real_find_interposed(void);

/* Returns the symbol of an entry point. */
const char *hwi_real_symbol(enum hw_entry entry);

#endif
