/* os.h - the interface to the kernel and the libc: everything that heapwright's code in the target needs from them
 *
 * A port is a new os_NAME.c. These rules hold for all functions: none allocates, takes a lock of libc, changes errno,
 * or goes through a symbol that the target could have replaced. All are async-signal-safe unless their comment says
 * otherwise. Failures are returned as negative errno values. Lengths and addresses are whole pages in functions with
 * "map" in their name.
 */
#ifndef HWI_PLATFORM_OS_H
#define HWI_PLATFORM_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HWI_OS_PAGE_BYTES = 4096, HWI_OS_NAME_BYTES = 16, HWI_OS_PATH_BYTES = 4096 };

/* Returns private zeroed memory, which uses no memory until it is touched, or NULL if there is none. */
void *hwi_os_map(size_t bytes);
void hwi_os_unmap(void *start, size_t bytes);

/* Returns address space without access (hwi_os_allow_access), or NULL if there is none. */
void *hwi_os_reserve(size_t bytes);

/* Makes [start, start + bytes), which was mapped as hwi_os_map does, zero-filled memory again. */
void hwi_os_map_reset(void *start, size_t bytes);

/* Makes the page at `page` read as zeros in every new address space (fork, _Fork, clone without CLONE_VM). Returns 0 or
 * a negative value. */
int hwi_os_wipe_on_fork(void *page);

/* Makes [start, start + bytes) of a mapping without access readable and writable. Returns 0 or a negative value. */
int hwi_os_allow_access(void *start, size_t bytes);

/* A part of a new file that is to be mapped: `bytes` from `off` on. */
struct hwi_os_part {
  uint64_t off;
  size_t bytes;
  const void *contents; /* its first bytes; NULL: zeros */
  size_t contents_bytes;
  void *start; /* result */
};

/* Creates a sparse file of `bytes`. Maps *head shared for reading and writing, and *body shared without access; no
 * descriptor stays open. If the file system can rename without replacing, the file has its contents when its name
 * appears; else it is empty for a moment. Returns -EEXIST if the name exists. The mode is 0600; a symbolic link as the
 * last component is never followed. One thread at a time. */
int hwi_os_map_new_file(const char *path, uint64_t bytes, struct hwi_os_part *head, struct hwi_os_part *body);

/* Maps `bytes` of the file of a shared mapping a second time, beginning with `page` of that mapping, with the same
 * access. Needs no descriptor. Returns NULL if it is not possible. */
void *hwi_os_map_on(void *page, size_t bytes);

/* Returns whether hwi_os_map_on can work: not under valgrind and qemu-user, whose mremap makes no second mapping. */
bool hwi_os_can_map_on(void);

/* Makes [start, start + bytes) of such a mapping present and writable. Fails (-EFAULT, -ENOSPC) if a write would raise
 * SIGBUS because the disk is full. Needs no descriptor, no path and no privilege. */
int hwi_os_populate(void *start, size_t bytes);

/* Replaces a part of a shared mapping by address space without access; the contents stay in the file. Returns 0, or a
 * negative value: the mapping stays. */
int hwi_os_replace_by_nothing(void *start, size_t bytes);

/* Replaces a part of a shared mapping by private zeroed memory. */
int hwi_os_replace_by_private(void *start, size_t bytes);

/* Returns how many of `count` consecutive pages from the page-aligned `start` are readable, up to the first that is
 * not. */
size_t hwi_os_readable_pages(uintptr_t start, size_t count);

/* Calls found(context, start, end) for each mapping of this process that is private and writable. One thread at a time. */
void hwi_os_writable_mappings(void (*found)(void *context, uintptr_t start, uintptr_t end), void *context);

/* Copies memory of this process, of which another thread may unmap a part. Returns how many bytes, up to the first that
 * cannot be read; 0 also if the kernel does not allow it. */
size_t hwi_os_copy_memory(void *to, uintptr_t from, size_t bytes);

/* Reads at most `bytes` of a file from its start. Returns the number of bytes read, or a negative value. */
long hwi_os_read_file(const char *path, void *to, size_t bytes);

/* Write the absolute path of this program's executable file, or of the current directory, cut at `bytes`; no NUL is
 * added. Return the length, or a negative value. A program that was named to the dynamic loader has its own path, not the loader's, if it
 * can be found. */
long hwi_os_executable_path(char *to, size_t bytes);
long hwi_os_folder_path(char *to, size_t bytes);

/* Writes the absolute path of an existing file, without symbolic links, ended by NUL. Returns 0 or a negative value. */
int hwi_os_real_path(const char *path, char to[HWI_OS_PATH_BYTES]);

/* Returns the path that was executed. It may be that of a symbolic link, or that of a script rather than its
 * interpreter. It is stored at the end of the stack. Never NULL, but empty if the kernel was given an open file. */
const char *hwi_os_executed_path(void);

/* Returns a path by which this program can be executed again: the path that was executed, or for a script that of its
 * interpreter. Never NULL. The text is in a static buffer, to which each call writes the same text. */
const char *hwi_os_program_path(void);

/* Write the arguments, or the variables (NAME=VALUE), that the program was started with, each ended by NUL, without
 * later changes; cut at `bytes`. Return the length, or a negative value. */
long hwi_os_command_line(char *to, size_t bytes);
long hwi_os_environment(char *to, size_t bytes);

/* Replaces this process's program, as execve does. Returns only if that fails, with a negative value. */
int hwi_os_execute(const char *path, char *const *arguments, char *const *variables);

/* A program to be started apart from this process. */
struct hwi_os_apart {
  const char *const *paths; /* the first one that can be executed; ended by NULL */
  char *const *arguments, *const *variables;
  int output;     /* result: what the program writes to its standard output and its standard error; to be closed */
  uint32_t pid;   /* result */
  uint64_t start; /* result: hwi_os_process_start of it */
};

/* Starts a program that is not a child of this process but an orphan, in a session of its own, with the usual signals,
 * scheduling and CPUs, and without this process's descriptors. No SIGCHLD comes, and wait does not see it. Returns 0 or
 * a negative value. */
int hwi_os_start_apart(struct hwi_os_apart *apart);

/* Reads what there is, at most `bytes`; waits for it until the moment `until_ns` (hwi_os_monotonic_ns). Returns the
 * number of bytes, 0 at the end, or a negative value. */
long hwi_os_read_until(int fd, void *to, size_t bytes, uint64_t until_ns);
void hwi_os_close(int fd);

/* Ends the process `pid` that began at `start`: asks it to, waits, but not for long, and kills it. Returns 0 or a negative
 * value, -ESRCH if there is no such process. */
int hwi_os_end_process(uint32_t pid, uint64_t start);

/* Writes to this process's standard error. */
void hwi_os_say(const char *text, size_t bytes);

/* Makes a directory of mode 0700, whatever the umask is. Returns 0 also if the directory exists already, but -ENOTDIR
 * if the name is anything else, including a symbolic link to a directory. */
int hwi_os_make_dir(const char *path);

/* Returns whether the kernel's pages have HWI_OS_PAGE_BYTES. */
bool hwi_os_page_size_is_usual(void);

/* Returns whether the kernel's own clock source is the TSC and the program may read it. Call it before reading the
 * clocks: if the program may not, they cost a system call. */
bool hwi_os_tsc_is_trusted(void);
uint64_t hwi_os_monotonic_ns(void); /* CLOCK_MONOTONIC */
uint64_t hwi_os_coarse_ns(void);    /* the same clock, some milliseconds late: it is read faster */

static inline uint64_t hwi_os_monotonic_ms(void)
{
  return hwi_os_monotonic_ns() / 1000000;
}
uint64_t hwi_os_realtime_ns(void); /* CLOCK_REALTIME, since 1970 */

/* The program is about to forbid the TSC to a thread, and so to all threads that it creates: from now on the clocks do
 * not read it. */
void hwi_os_leave_tsc(void);

/* The calling thread is about to lose all system calls and the TSC (strict seccomp): from now on no function here makes
 * a system call on that thread. They fail instead, or return zeros, also the clocks. The second function undoes
 * this. */
void hwi_os_seal(void);
void hwi_os_unseal(void);
bool hwi_os_is_sealed(void);

/* What a thread loses by a call of prctl or syscall. */
enum hwi_os_restriction { HWI_OS_LOSES_NOTHING, HWI_OS_LOSES_TSC, HWI_OS_LOSES_TSC_AND_CALLS };

/* Return what the calling thread will lose if the program's call of prctl, or of syscall, succeeds. The parameters are
 * the first arguments of that call; `number` is the system call's. */
enum hwi_os_restriction hwi_os_prctl_restriction(long option, unsigned long word);
enum hwi_os_restriction hwi_os_syscall_restriction(long number, long a, long b);

/* Returns whether this option of prctl sets the calling thread's name. */
bool hwi_os_prctl_sets_name(int option);

/* Makes a system call of the program, for which libc's `syscall` was not found yet; also if the thread is sealed.
 * Returns 0 and stores the call's result, or returns a negative value. */
enum { HWI_OS_SYSCALL_ARGUMENTS = 6 };
int hwi_os_program_syscall(long number, const long arguments[HWI_OS_SYSCALL_ARGUMENTS], long *result);

/* Fills *to with random bytes, for unique names; not for secrets. */
void hwi_os_random(void *to, size_t bytes);

/* Return the IDs of the calling process and thread, as the kernel has them at this moment, also in a child of vfork or
 * clone. */
uint32_t hwi_os_pid(void);
uint32_t hwi_os_ppid(void);
uint32_t hwi_os_tid(void);

/* Returns when the process began, in the kernel's own units since boot, or 0 if unknown. Together with the pid it
 * identifies a process. A pid of 0 is the calling process; its number in /proc may differ, because /proc may be that of
 * another pid namespace. */
uint64_t hwi_os_process_start(uint32_t pid);

/* Returns the kernel's ID of the process's pid namespace, or 0 if unknown. A pid of 0 as above. */
uint32_t hwi_os_pid_namespace(uint32_t pid);

/* Write the calling thread's name, ended by NUL ("" if unknown), or its scheduling policy (SCHED_*) and real-time
 * priority (UINT8_MAX and 0 if unknown). */
void hwi_os_thread_name(char name[HWI_OS_NAME_BYTES]);
void hwi_os_thread_policy(uint8_t *policy, uint8_t *priority);

uint64_t hwi_os_rss_peak_bytes(void); /* of the process so far; 0: unknown */
/* Returns an address at the upper end of the calling thread's own stack, above all of its frames. */
uintptr_t hwi_os_own_stack_end(void);

bool hwi_os_is_privileged(void);           /* setuid, setgid, capabilities: the environment must not be trusted */
uint64_t hwi_os_file_size_limit(void);     /* RLIMIT_FSIZE; UINT64_MAX: none */
uint64_t hwi_os_address_space_limit(void); /* RLIMIT_AS */
uint64_t hwi_os_free_disk_bytes(const char *dir); /* for this user, on dir's file system; 0: unknown */

/* A loaded module, with the dynamic loader's data at this moment. */
struct hwi_os_module {
  uintptr_t start, end;   /* the range that it covers */
  uintptr_t bias;         /* run-time address minus address in the file */
  uintptr_t eh_frame_hdr; /* or .ARM.exidx, see HWI_ARCH_UNWIND_SEGMENT; 0: none */
  const char *path;       /* the loader's name for it; "" for the executable and the vdso. Valid while it is loaded */
};

/* Finds the module that covers `address`. Returns false if there is none. Takes no lock with glibc 2.35 and later; with
 * older ones, that of dl_iterate_phdr. */
bool hwi_os_find_module(uintptr_t address, struct hwi_os_module *module);

/* Returns the path of the first loaded module for whose path is_one returns true, or NULL if there is none. It is valid
 * while the module is loaded. Takes the loader's lock. */
const char *hwi_os_module_path(bool (*is_one)(const char *path));

/* Return the address of the symbol `name` that the dynamic loader's search finds before this library in its search
 * order, or after it, or NULL if there is none. Both read the tables of the modules and take no lock: use them only
 * before the program loads and unloads modules. */
const void *hwi_os_symbol_before(const char *name);
const void *hwi_os_symbol_after(const char *name);

/* Returns the address of the symbol `name` that the code at `address` would find: in its own module, in that module's
 * dependencies, or else anywhere. Returns NULL if there is none. Takes the loader's lock. */
const void *hwi_os_symbol_seen_from(uintptr_t address, const char *name);

/* Return whether this libc is glibc (in a static program, only if that program needs its version), or musl, and whether it is one of
 * both. If not, only these functions may be called. */
bool hwi_os_libc_is_glibc(void);
bool hwi_os_libc_is_musl(void);
bool hwi_os_has_known_libc(void);

/* A static program with the recorder has an ELF note of this name and type. */
#define HWI_OS_NOTE_NAME "heapwright"
enum { HWI_OS_NOTE_RECORDER = 1 };

/* Returns whether the address is in libc's module, which in a static program is the program. */
bool hwi_os_is_of_libc(uintptr_t address);

/* Return whether a function is libc's own malloc, and whether it may be libc's own malloc_usable_size. In a static program this is known of
 * glibc and of musl 1.2.2 and later; of another libc, no function is its malloc or malloc_usable_size. */
bool hwi_os_is_libcs_malloc(uintptr_t function);
bool hwi_os_may_be_libcs_usable_size(uintptr_t function);

/* Returns whether this code is the recorder in a static program. There, hwi_os_symbol_after finds what linux/static.c names, and
 * the other searches for symbols find nothing. */
bool hwi_os_is_static(void);

/* Returns whether this code is the recorder that was linked into a program. If it is no static one, the recorder may be preloaded,
 * too: then the linked one leaves all to it. */
bool hwi_os_is_linked_in(void);

/* Writes the GNU build-id of a module whose headers are mapped at `start`. Returns its length in bytes (at most max),
 * or 0 if there is none. */
size_t hwi_os_build_id(const struct hwi_os_module *module, uint8_t *to, size_t max);

/* Returns whether an address of a module is in a segment with code; true if its headers do not say that. */
bool hwi_os_is_code(const struct hwi_os_module *module, uintptr_t address);

/* Finds the range of the dynamic loader's own code, which calls malloc and free while it loads and unloads. */
bool hwi_os_loader_range(uintptr_t *start, uintptr_t *end);

/* Returns what the loader is doing at this moment. Takes no lock. */
enum hwi_os_loader_work { HWI_OS_LOADER_IDLE, HWI_OS_LOADER_LOADS, HWI_OS_LOADER_UNLOADS };
enum hwi_os_loader_work hwi_os_loader_work(void);

/* Returns a number that changes whenever a module is unloaded. Takes the loader's lock, so it is only for moments after
 * a call of the loader. */
uint64_t hwi_os_unload_count(void);

/* A lock that one thread holds until it has ended, in whatever way; the kernel then releases it. It is not valid in
 * another address space: after a fork it must be initialized again (hwi_os_claim_init_in_child). */
struct hwi_os_claim {
  uint64_t words[6];
};

/* Makes a claim that no thread holds. In a forked child, the second one makes one of a claim that was copied; `is_own`: the
 * calling thread held it before the fork. */
void hwi_os_claim_init(struct hwi_os_claim *claim);
void hwi_os_claim_init_in_child(struct hwi_os_claim *claim, bool is_own);

/* Takes the claim for the calling thread, if no thread holds it any more. Returns the calling thread's tid, or 0 if a
 * running thread holds it, which may be the calling one. Makes no system call, so that no sandbox objects. A thread
 * made by a bare clone, or one of an address space made by a bare clone, has no tid of its own that libc knows, and is
 * taken for the thread that made it. */
uint32_t hwi_os_claim_take(struct hwi_os_claim *claim);

/* Returns whether a running thread holds the claim. */
bool hwi_os_claim_is_held(const struct hwi_os_claim *claim);

/* Prepares hwi_os_at_thread_end. Call it once, before that function, when libc is ready. Unless malloc may be called, fails
 * if libc could store the argument only in memory from malloc. */
int hwi_os_prepare_thread_end(void (*ended)(void *), bool may_call_malloc);

/* Undoes it; the code of `ended` may be unloaded then. */
void hwi_os_forget_thread_end(void);

/* Runs `ended(argument)` when the calling thread ends. It may run before or after the thread's other destructors. */
int hwi_os_at_thread_end(void *argument);

/* Blocks all signals of the calling thread; the second function restores the mask that the first one returned. */
uint64_t hwi_os_hold_signals(void);
void hwi_os_release_signals(uint64_t held);

/* The same, except the signals with which a fault of the thread, or its sandbox, calls a handler: if these are blocked, they end the process. */
uint64_t hwi_os_hold_async_signals(void);

/* Gives the processor to another thread. */
void hwi_os_yield(void);

/* The first makes a symbolic link with this text, which need not be a valid path. The second reads the text of a link,
 * cut at `bytes`; no NUL is added. They return 0 or the length, or a negative value. */
int hwi_os_make_link(const char *path, const char *text);
long hwi_os_read_link(const char *path, char *to, size_t bytes);

/* Removes a file. Returns 0, or a negative value. */
int hwi_os_remove_file(const char *path);

/* Returns the user to whom the file belongs, or the symbolic link itself, or a negative value. */
long hwi_os_owner(const char *path);

/* Returns whether `path` is a regular file that belongs to the effective user, and not a symbolic link. */
bool hwi_os_file_is_mine(const char *path);

#endif
