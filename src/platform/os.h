/* os.h - the seam to the kernel and the libc: everything that heapwright's target side asks of them
 *
 * A port is a new os_NAME.c. Pre-conditions, stated once: no function allocates, takes a lock of libc, changes errno, or
 * goes through a symbol that the target could have replaced; all are async-signal-safe unless they say otherwise. Failures
 * are returned as negative errno values. Lengths and addresses are whole pages where the name says map.
 */
#ifndef HWI_PLATFORM_OS_H
#define HWI_PLATFORM_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HWI_OS_PAGE_BYTES = 4096, HWI_OS_NAME_BYTES = 16, HWI_OS_PATH_BYTES = 4096 };

/* Private zeroed memory, not counted until touched. NULL where there is none. */
void *hwi_os_map(size_t bytes);
void hwi_os_unmap(void *start, size_t bytes);

/* Zero-filled memory again for [start, start + bytes), which was mapped by hwi_os_map. */
void hwi_os_map_reset(void *start, size_t bytes);

/* Makes the page at `page` read as zeros in every new address space (fork, _Fork, clone without CLONE_VM). */
int hwi_os_wipe_on_fork(void *page);

/* Makes [start, start + bytes) of a mapping without access readable and writable. */
int hwi_os_allow_access(void *start, size_t bytes);

/* A part of a new file that is to be mapped: `bytes` from `off` on. */
struct hwi_os_part {
  uint64_t off;
  size_t bytes;
  const void *contents; /* what it begins with; NULL: zeros */
  size_t contents_bytes;
  void *start; /* result */
};

/* A new file of `bytes` (sparse), of which *head is mapped shared for reading and writing and *body shared without access;
 * nothing stays open. It has the contents when its name appears, where the file system can rename without replacing; else it is
 * empty for a moment. Fails with -EEXIST where the name exists. Mode 0600; the last component is never followed through a
 * symbolic link. One thread at a time. */
int hwi_os_map_new_file(const char *path, uint64_t bytes, struct hwi_os_part *head, struct hwi_os_part *body);

/* Maps the file of a shared mapping a second time, `bytes` from where `page` of that mapping lies, with the same access.
 * Needs no descriptor. NULL where it cannot be. */
void *hwi_os_map_on(void *page, size_t bytes);

/* Whether that can be at all: not under valgrind, whose mremap makes no second mapping. Takes the loader's lock. */
bool hwi_os_can_map_on(void);

/* Makes [start, start + bytes) of such a mapping present and writable, or fails (-EFAULT, -ENOSPC) where a write would have
 * raised SIGBUS because the disk is full. Needs no descriptor, no path and no privilege. */
int hwi_os_populate(void *start, size_t bytes);

/* Puts address space without access in place of a part of a shared mapping; the contents stay in the file. */
void hwi_os_replace_by_nothing(void *start, size_t bytes);

/* Puts private zeroed memory in place of a part of a shared mapping. */
int hwi_os_replace_by_private(void *start, size_t bytes);

/* How many of `count` consecutive pages from the page-aligned `start` are readable, up to the first that is not. */
size_t hwi_os_readable_pages(uintptr_t start, size_t count);

/* Reads at most `bytes` of a file from its start. The number read, or negative. */
long hwi_os_read_file(const char *path, void *to, size_t bytes);

/* The absolute path of the file that this program was executed from, and of the current folder, cut at `bytes`; no NUL is added.
 * The length, or negative. */
long hwi_os_executable_path(char *to, size_t bytes);
long hwi_os_folder_path(char *to, size_t bytes);

/* The path that was executed, which may be a symbolic link's, or a script's and not its interpreter's; it lies at the end of
 * the stack. Never NULL, but empty where the kernel was given an open file. */
const char *hwi_os_executed_path(void);

/* The arguments, and the variables (NAME=VALUE) that the program was started with, each ended by NUL, whatever became of them
 * since; cut at `bytes`. The length, or negative. */
long hwi_os_command_line(char *to, size_t bytes);
long hwi_os_environment(char *to, size_t bytes);

/* Puts another program into this process, as execve does. Returns where that fails: negative. */
int hwi_os_execute(const char *path, char *const *arguments, char *const *variables);

/* Makes a folder of mode 0700, whatever the umask is. 0 where it exists already, but -ENOTDIR where that is anything else, a
 * symbolic link to one included. */
int hwi_os_make_dir(const char *path);

/* The kernel's own clock source is the TSC, and the program may read it. To be asked before the clocks: where it may not, they
 * cost a system call. */
bool hwi_os_tsc_is_trusted(void);
uint64_t hwi_os_monotonic_ns(void); /* CLOCK_MONOTONIC */
uint64_t hwi_os_realtime_ns(void);  /* CLOCK_REALTIME: since 1970 */

/* The program is about to forbid the TSC to some thread, and with that to all that it makes: from now on the clocks leave it alone. */
void hwi_os_leave_tsc(void);

/* The calling thread is about to lose all system calls and the TSC (strict seccomp): from now on none of the functions here makes
 * one for it. They fail instead, or give zeros, the clocks included. The second takes that back. */
void hwi_os_seal(void);
void hwi_os_unseal(void);
bool hwi_os_is_sealed(void);

/* Fills *to, for names that no other process has; not for secrets. */
void hwi_os_random(void *to, size_t bytes);

/* Of the calling process and thread, as the kernel has them at this moment, also in a child of vfork or clone. */
uint32_t hwi_os_pid(void);
uint32_t hwi_os_ppid(void);
uint32_t hwi_os_tid(void);

/* When the process began, in the kernel's own units since boot: with the pid it names a process. 0: unknown. A pid of 0 is the
 * calling process, whose number in /proc may be another one: there may lie that of another namespace of pids. */
uint64_t hwi_os_process_start(uint32_t pid);

/* The namespace of pids that the process has its number in, as the kernel numbers those. 0: unknown. A pid of 0 as above. */
uint32_t hwi_os_pid_namespace(uint32_t pid);

/* Of the calling thread: its name, ended by NUL ("" where it cannot be told), and its scheduling policy (SCHED_*) and real-time
 * priority (UINT8_MAX and 0 where they cannot). */
void hwi_os_thread_name(char name[HWI_OS_NAME_BYTES]);
void hwi_os_thread_policy(uint8_t *policy, uint8_t *priority);

uint64_t hwi_os_rss_peak_bytes(void); /* of the process so far; 0: unknown */
/* An address at the upper end of the calling thread's own stack, above all of its frames. */
uintptr_t hwi_os_own_stack_end(void);

bool hwi_os_is_privileged(void);           /* setuid, setgid, capabilities: the environment is not to be trusted */
uint64_t hwi_os_file_size_limit(void);     /* RLIMIT_FSIZE; UINT64_MAX: none */
uint64_t hwi_os_address_space_limit(void); /* RLIMIT_AS */
uint64_t hwi_os_free_disk_bytes(const char *dir); /* for this user, on dir's file system; 0: unknown */

/* A loaded module, as the dynamic loader has it at this moment. */
struct hwi_os_module {
  uintptr_t start, end;   /* the range that it covers */
  uintptr_t bias;         /* run-time address minus address in the file */
  uintptr_t eh_frame_hdr; /* 0: none */
  const char *path;       /* as the loader names it; "" for the executable and the vdso. Valid while it is loaded */
};

/* The module that covers `address`. Takes no lock on glibc 2.35 and later; before, dl_iterate_phdr. False: none. */
bool hwi_os_find_module(uintptr_t address, struct hwi_os_module *module);

/* The path of the first loaded module whose path is one, as is_one says; valid while it is loaded. NULL: none. Takes the loader's
 * lock. */
const char *hwi_os_module_path(bool (*is_one)(const char *path));

/* What the dynamic loader's search for `name` finds ahead of this library in its order, and behind it. NULL: nothing. Both ask
 * the image's own tables, and take no lock: for the time before the program loads and unloads modules. */
const void *hwi_os_symbol_ahead(const char *name);
const void *hwi_os_symbol_behind(const char *name);

/* The same as the code at `address` finds it: in its own module, in what that needs, else anywhere. Takes the loader's lock. */
const void *hwi_os_symbol_seen_from(uintptr_t address, const char *name);

/* Whether this is the libc that the recorder was made for; elsewhere nothing but the calls of this paragraph is to be used. */
bool hwi_os_libc_is_known(void);

/* The GNU build-id of a module whose headers are mapped at `start`. The length in bytes (at most max), 0: none. */
size_t hwi_os_build_id(const struct hwi_os_module *module, uint8_t *to, size_t max);

/* The dynamic loader's own code, which calls malloc and free while it loads and unloads. */
bool hwi_os_loader_range(uintptr_t *start, uintptr_t *end);

/* What the loader is in the middle of. Takes no lock. */
enum hwi_os_loader_work { HWI_OS_LOADER_IDLE, HWI_OS_LOADER_LOADS, HWI_OS_LOADER_UNLOADS };
enum hwi_os_loader_work hwi_os_loader_work(void);

/* A number that changes whenever a module is unloaded. Takes the loader's lock: only for where the loader was just called. */
uint64_t hwi_os_unload_count(void);

/* What one thread holds until it is gone, however it ends: the kernel then lets it go. Not for another address space: to be
 * begun anew after a fork. */
struct hwi_os_claim {
  uint64_t words[6];
};

/* Makes a claim that nobody holds. */
void hwi_os_claim_init(struct hwi_os_claim *claim);

/* Takes the claim, if nobody holds it any more, for the calling thread. Its tid, or 0: a thread that runs holds it, maybe the
 * calling one. Asks the kernel nothing, so that no sandbox minds; a thread made by a bare clone, or of an address space
 * made by one, has no tid of its own that libc knows, and is taken for the thread that made it. */
uint32_t hwi_os_claim_take(struct hwi_os_claim *claim);

/* Prepares hwi_os_at_thread_end; once, before it, when libc is ready. Fails where libc could keep the argument only in memory
 * from malloc. */
int hwi_os_prepare_thread_end(void (*ended)(void *));

/* Runs `ended(argument)` when the calling thread ends: before most of its other destructors or after, no promise. */
int hwi_os_at_thread_end(void *argument);

/* Holds back all signals of the calling thread; the second lets through again what the first found let through. */
uint64_t hwi_os_hold_signals(void);
void hwi_os_release_signals(uint64_t held);

/* Gives the processor to another thread. */
void hwi_os_yield(void);

/* Makes a symbolic link of this text, wherever that leads; and reads what one says, cut at `bytes`; no NUL is added. 0 or the
 * length, or negative. */
int hwi_os_make_link(const char *path, const char *text);
long hwi_os_read_link(const char *path, char *to, size_t bytes);

/* Removes a file. 0 or negative. */
int hwi_os_remove_file(const char *path);

/* A regular file that belongs to the effective user; a symbolic link is none. */
bool hwi_os_file_is_mine(const char *path);

#endif
