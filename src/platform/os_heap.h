/* os_heap.h - the seam to the kernel and the libc for the heap of a whole process: its memory, its lock, its last words
 *
 * The pre-conditions of os.h hold here as well.
 */
#ifndef HWI_PLATFORM_OS_HEAP_H
#define HWI_PLATFORM_OS_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Private zeroed memory that the kernel has room for, at a place with free address space behind it, where there is one. The
 * length is rounded up to pages. 0, or negative. */
int hwi_os_map_with_room(size_t bytes, void **start);

/* The same, exactly at `start`: -EEXIST where something is there already. */
int hwi_os_map_at(void *start, size_t bytes);

/* Asks for huge pages for memory that is not touched yet. 0, or negative: -EOPNOTSUPP: they are switched off, for the system or this
 * process; -EINVAL: this kernel has none. */
int hwi_os_use_huge_pages(void *start, size_t bytes);

/* Keeps memory from being paged out. 0, or negative: -EPERM, -ENOMEM: more than the process may lock. */
int hwi_os_lock_memory(void *start, size_t bytes);

/* Makes whole pages of private memory read as zero, and gives back what the kernel had for them. 0, or negative: locked memory is
 * kept. */
int hwi_os_drop_pages(void *start, size_t bytes);

/* How much memory programs can have before the system begins to swap; UINT64_MAX: unknown. */
uint64_t hwi_os_available_bytes(void);

/* Waits for a lock with priority inheritance: *word is the holder's tid, or 0. 0: the calling thread has it. -EDEADLK: it had it
 * already. -ESRCH: the holder is gone, and the lock stays its own. Otherwise this kernel, or a sandbox, has no such locks. */
int hwi_os_wait_for_lock(uint32_t *word);

/* Gives the lock to the thread with the highest priority that waits for it. 0, or negative. */
int hwi_os_hand_lock_on(uint32_t *word);

/* Waits while *word is `value`, or for less. The second ends all such waits of this process. */
void hwi_os_wait_for_change(uint32_t *word, uint32_t value);
void hwi_os_wake_all(uint32_t *word);

/* The function of this name in the libraries behind this one, as RTLD_NEXT. NULL: none. */
void *hwi_os_next_function(const char *name);

/* Has libc call these around each fork, as pthread_atfork. */
void hwi_os_at_fork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void));

/* Keeps the standard error output that there is now for hwi_os_print_error, since many programs close it before their end. It
 * takes a descriptor far above those that programs count on. */
void hwi_os_keep_error_output(void);

/* Writes to the standard error output, or the kept one, as far as that takes it. */
void hwi_os_print_error(const char *text, size_t bytes);

/* The function that covers the address, as the dynamic symbols have it, and where it begins. NULL: unknown. */
const char *hwi_os_function_name(uintptr_t address, uintptr_t *start);

/* Calls `each` for every frame from the caller's own outward, until it says false. */
void hwi_os_each_frame(bool (*each)(void *context, uintptr_t pc), void *context);

/* Ends the process by SIGABRT. */
_Noreturn void hwi_os_abort(void);

#endif
