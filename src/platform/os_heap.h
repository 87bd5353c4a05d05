/* os_heap.h - the interface to the kernel and the libc for the heap of a whole process: memory, lock, messages
 *
 * The rules of os.h hold here as well.
 */
#ifndef HWI_PLATFORM_OS_HEAP_H
#define HWI_PLATFORM_OS_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Maps private zeroed memory, if possible where free address space follows it. The length is rounded up to pages.
 * Returns 0, or a negative value. */
int hwi_os_map_with_room(size_t bytes, void **start);

/* The same, exactly at `start`. Returns -EEXIST if something is mapped there already. */
int hwi_os_map_at(void *start, size_t bytes);

/* The same in huge pages that are reserved; start and length are multiples of 2 MiB. Returns -ENOMEM if too few are left. */
int hwi_os_map_huge_at(void *start, size_t bytes);

/* Makes memory that is not touched yet come from a memory node, if there is room. Returns 0, or a negative value: -EINVAL if
 * there is no such node, another one if this system does not allow a choice. */
int hwi_os_prefer_node(void *start, size_t bytes, size_t node);

/* Asks for huge pages for memory that is not touched yet. Returns 0, or a negative value: -EOPNOTSUPP if they are
 * switched off for the system or this process, -EINVAL if this kernel has none. */
int hwi_os_use_huge_pages(void *start, size_t bytes);

/* Returns whether the system gives huge pages by itself. */
bool hwi_os_gives_huge_pages(void);

/* Asks for pages of the usual size, also where the system gives huge ones by itself. */
void hwi_os_use_small_pages(void *start, size_t bytes);

/* The opposite: pages as the system gives them by itself. */
void hwi_os_use_usual_pages(void *start, size_t bytes);

/* Makes memory that is not touched yet present, if the kernel does that in one call; otherwise does nothing. `start` is
 * a multiple of 4 KiB. */
void hwi_os_touch_ahead(void *start, size_t bytes);

/* Keeps memory from being paged out. Returns 0, or a negative value: -EPERM or -ENOMEM if it is more than the process
 * may lock. */
int hwi_os_lock_memory(void *start, size_t bytes);

/* Makes whole pages of private memory read as zero, and returns their memory to the kernel. Returns 0, or a negative
 * value, as for locked memory, which stays. */
int hwi_os_drop_pages(void *start, size_t bytes);

/* Returns whether it may be called for pages of 4 KiB, while other threads read them. */
bool hwi_os_drops_small_pages(void);

/* Returns whether this code is in a library, which may be unloaded before the process ends, and not in the program. */
bool hwi_os_may_be_unloaded(void);

/* Makes private memory read as zeros. It can only be read then, and needs no memory until it is read. Returns 0, or a
 * negative value: then it may also be as before, or not be mapped any more. */
int hwi_os_make_zeros(void *start, size_t bytes);

/* Changes the length of a mapping of private memory: where it is, or, if `to` is not NULL, by moving it there, in place of
 * what is mapped there. Returns its start, or NULL and nothing is changed. */
void *hwi_os_remap(void *start, size_t old_bytes, size_t bytes, void *to);

/* Returns how much memory programs can allocate before the system begins to swap, or UINT64_MAX if unknown. */
uint64_t hwi_os_available_bytes(void);

/* Waits for a lock with priority inheritance, at most for so long, unless that is 0: *word is the holder's tid, or 0. Returns 0 if the
 * calling thread now has the lock, -EDEADLK if it had it already, -ESRCH if the holder has ended (the lock stays the holder's),
 * -ETIMEDOUT, and another negative value if this kernel, or a sandbox, does not support such locks. On Windows, it waits without end. */
int hwi_os_wait_for_lock(uint32_t *word, uint64_t most_ns);

/* Gives the lock to the waiting thread with the highest priority. Returns 0, or a negative value. */
int hwi_os_hand_lock_on(uint32_t *word);

/* Lets other threads run, of any priority, for about so long. */
void hwi_os_sleep_ns(uint64_t ns);

/* Returns the function of this name in the libraries after this one, as RTLD_NEXT does, or NULL if there is none. */
void *hwi_os_next_function(const char *name);

/* Makes libc call these functions around each fork, as pthread_atfork does. */
void hwi_os_at_fork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void));

/* Duplicates the current standard error output for hwi_os_print_error, since many programs close it before their end.
 * The duplicate is a descriptor far above those that programs rely on. */
void hwi_os_keep_error_output(void);

/* Writes to a descriptor as much as it accepts. Returns 0, or a negative errno value if that is not all. */
int hwi_os_write(int fd, const char *text, size_t bytes);

/* Writes to the end of a file, which is created if needed. Returns 0, or a negative errno value if not all was written. */
int hwi_os_append_to_file(const char *path, const char *text, size_t bytes);

/* Writes to the standard error output, or to its duplicate, as much as it accepts. */
void hwi_os_print_error(const char *text, size_t bytes);

/* Returns the name of the function that covers the address, from the dynamic symbols, and its *start; NULL if
 * unknown. */
const char *hwi_os_function_name(uintptr_t address, uintptr_t *start);

/* Calls `each` for every frame from the caller's own outward, until it returns false. */
void hwi_os_each_frame(bool (*each)(void *context, uintptr_t pc), void *context);

/* Ends the process with SIGABRT. */
_Noreturn void hwi_os_abort(void);

#endif
