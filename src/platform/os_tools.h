/* os_tools.h - the interface to the kernel and the libc for the tools: other processes, the calling process, files
 *
 * Unlike the functions of os.h, these may call malloc and stdio, and set errno. A process may end at any moment, and
 * may be one that the caller must not examine: the results are then those for a process that does not exist.
 */
#ifndef HWI_PLATFORM_OS_TOOLS_H
#define HWI_PLATFORM_OS_TOOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "platform/machine.h"
#include "platform/os.h"

/* --- processes --- */

/* Returns what hwi_os_process_start returns, or 0 if the process is over: it has no thread that can run. */
uint64_t hwi_os_running_process_start(uint32_t pid);

/* Returns the pid of the process in its own pid namespace, or 0 if there is no such process or the kernel does not show
 * it. */
uint32_t hwi_os_inner_pid(uint32_t pid);

/* Returns the pid of the first visible process for which `is_it` returns true, or 0 if there is none. */
uint32_t hwi_os_find_process(bool (*is_it)(const void *context, uint32_t pid), const void *context);

/* Returns whether all processes of this system are visible, also those of other containers. */
bool hwi_os_sees_all_processes(void);

/* Lists the children of a process. Returns how many there are, at most `max`. */
size_t hwi_os_process_children(uint32_t pid, uint32_t *children, size_t max);

/* Returns where the main thread's stack begins, which changes with each exec. Returns 0 if that is unknown, or if there
 * is no such process. */
uint64_t hwi_os_process_stack_start(uint32_t pid);

/* Reads the name of a thread, the rest filled with zeros, and its scheduling policy and real-time priority. Returns
 * false if there is no such thread. */
bool hwi_os_process_thread(uint32_t pid, uint32_t tid, char name[HWI_OS_NAME_BYTES], uint8_t *policy,
                           uint8_t *priority);

/* Returns true if the process was started with a file of this name in LD_PRELOAD. Returns false if that is unknown,
 * too. */
bool hwi_os_process_preloads(uint32_t pid, const char *library);

/* Returns true if the process is in another folder than the calling process. Returns false if that is unknown, too. */
bool hwi_os_process_is_elsewhere(uint32_t pid);

/* Writes a path under which the executable file of a process can be opened, also if it was removed. */
enum { HWI_OS_LINK_PATH_BYTES = 32 };
void hwi_os_process_executable(char path[HWI_OS_LINK_PATH_BYTES], uint32_t pid);

/* --- mappings --- */

enum { HWI_OS_READ = 1, HWI_OS_WRITE = 2, HWI_OS_EXECUTE = 4, HWI_OS_SHARED = 8 };

struct hwi_os_mapping {
  uint64_t start, end;
  uint64_t inode;   /* of its file; 0: none */
  uint64_t off;     /* in its file */
  unsigned access;  /* HWI_OS_READ ... */
  bool is_brk_heap; /* the memory that libc's malloc takes from brk */
  const char *name; /* the path of its file, with a suffix if it was removed; another name or "" if it has none */
};

/* Calls `each` with every mapping of a process, until it returns true. Returns false, with errno set, if they cannot be
 * read. If the main thread has ended, they are those of its other threads. */
bool hwi_os_each_mapping(uint32_t pid, bool (*each)(void *context, const struct hwi_os_mapping *mapping),
                         void *context);

/* A file to look for among mappings. */
struct hwi_os_file {
  const char *path;
  uint64_t inode;
};

/* Returns whether the mapping is of a file with this name; folders are ignored. */
bool hwi_os_mapping_is_called(const struct hwi_os_mapping *mapping, const char *name);

bool hwi_os_mapping_is_of(const struct hwi_os_mapping *mapping, const struct hwi_os_file *file);

/* --- memory --- */

/* All in bytes. */
struct hwi_os_resident {
  uint64_t all;
  uint64_t anonymous, file, shared; /* parts of it */
  uint64_t swapped;                 /* not a part of it */
  uint64_t peak;                    /* of the process so far */
};

/* Reads the resident set of a process. Returns false if there is no such process. */
bool hwi_os_process_resident(uint32_t pid, struct hwi_os_resident *resident);

/* Returns how many bytes the system can still provide without swapping; UINT64_MAX: unknown. */
uint64_t hwi_os_memory_left(void);

enum { HWI_OS_LARGE_BLOCK_BYTES = 128 << 10 }; /* from this size on glibc maps each block by itself */

/* The resident memory of all mappings by their purpose, in bytes. */
struct hwi_os_memory_use {
  uint64_t mapped;   /* the sum over all mappings */
  uint64_t heap;     /* mappings from which allocators take memory */
  uint64_t large;    /* part of heap: mappings each of which may be a large block, or a mapping that the program made */
  uint64_t files;    /* code, data and other files, without the recorder's */
  uint64_t stacks;   /* thread stacks, where known */
  uint64_t recorder; /* pages of the trace and of the recorder */
  uint64_t untouched; /* address space of large blocks that was never touched, so is not resident */
};

/* Divides the resident memory of a process. Mappings of `trace` and of files named `library` belong to the recorder.
 * Returns false if that cannot be read, or the process is ending; *use is then invalid. */
bool hwi_os_process_memory_use(uint32_t pid, const struct hwi_os_file *trace, const char *library,
                               struct hwi_os_memory_use *use);

/* --- the memory of another process --- */

struct hwi_os_stopped_thread {
  uint32_t tid;
  int signal; /* to be delivered when it goes on; 0: none */
  bool is_stopped;
};

/* A process whose threads are stopped. All zero: none. */
struct hwi_os_stopped {
  uint32_t pid;
  struct hwi_os_stopped_thread *threads;
  size_t count, capacity;
};

/* Stops all threads of a process, by ptrace, without a signal. If the calling thread ends, they go on. Returns 0, or a
 * negative errno, and then none is stopped: -ESRCH no such process, -EPERM not allowed, -ETIME a thread waits in the kernel
 * for longer than two seconds. */
int hwi_os_stop(struct hwi_os_stopped *stopped, uint32_t pid);

/* Lets all threads go on. Only the thread that stopped them may. A thread that still waits in the kernel, and would stop later, goes on
 * when the calling thread ends at the latest. */
void hwi_os_let_go(struct hwi_os_stopped *stopped);

enum { HWI_OS_REGISTERS_MAX = HWI_MACHINE_REGISTERS_MAX, HWI_OS_VECTORS_MAX = 288 };

struct hwi_os_registers {
  const struct hwi_machine *machine;
  uint64_t stack_pointer, thread_pointer, program_counter;
  int64_t system_call;                /* in which it is; negative: none */
  uint64_t all[HWI_OS_REGISTERS_MAX]; /* as a core dump has them */
  size_t count;
  uint64_t vectors[HWI_OS_VECTORS_MAX]; /* words of vector registers, without zeros; none in a system call */
  size_t vector_count;
};

/* Reads the registers of a stopped thread. Returns false if it has ended, or if the CPU is not known. */
bool hwi_os_stopped_registers(const struct hwi_os_stopped *stopped, size_t thread, struct hwi_os_registers *registers);

/* The same of any thread that the caller has stopped by ptrace. */
bool hwi_os_thread_registers(uint32_t tid, struct hwi_os_registers *registers);

/* --- the last moment of a command --- */

/* A thread of a process that ends, as it was when it was told to. */
struct hwi_os_ending_thread {
  uint32_t tid;
  bool has_registers; /* not if it ended by itself; of the main thread, none but the pointers are left then */
  struct hwi_os_registers registers;
};

/* A child process that is watched for its last moment by ptrace. Its signals, stops and threads are as without, and other
 * processes that it starts are not watched. */
struct hwi_os_watched {
  uint32_t pid;
  struct hwi_os_ending_thread *ending; /* threads that are ending, and those that have ended with the process */
  size_t count, capacity;
};

/* Begins to watch a child that has one thread. Only the calling thread may use it from then on; if it ends, the child goes on
 * unwatched. Returns 0 or a negative errno. */
int hwi_os_watch(struct hwi_os_watched *watched, uint32_t pid);
void hwi_os_watched_release(struct hwi_os_watched *watched);

enum hwi_os_watched_event {
  HWI_OS_WATCHED_NOTHING, /* that can be waited for now */
  HWI_OS_WATCHED_OTHER,   /* was handled */
  HWI_OS_WATCHED_STOPPED, /* by a signal, until it is continued */
  HWI_OS_WATCHED_ENDING,  /* the last thread is about to end: the memory is complete until hwi_os_watched_go_on */
  HWI_OS_WATCHED_ENDED,
};

/* Handles the next event, without waiting. *number: of STOPPED the signal; of ENDING the thread as which the memory can be
 * read; of ENDED the status of wait(2). *usage is filled for ENDED. */
struct rusage;
enum hwi_os_watched_event hwi_os_watched_next(struct hwi_os_watched *watched, int *number, struct rusage *usage);
void hwi_os_watched_go_on(const struct hwi_os_watched *watched, int tid);

/* Copies memory of a process, which may run. Returns the bytes copied, fewer before a page that cannot be read, or a
 * negative errno. */
int64_t hwi_os_read_memory(uint32_t pid, uint64_t address, void *to, size_t bytes);

/* Opens the list of pages of a process. Returns a descriptor, or -1 with errno set. */
int hwi_os_open_pages(uint32_t pid);

/* Calls `each` with every sequence of pages that are in memory or swapped out, until it returns false; with `only_own`
 * without those that are as in their file. Returns false if that is not known. */
bool hwi_os_each_present(int pages, uint64_t start, uint64_t end, bool only_own,
                         bool (*each)(void *context, uint64_t start, uint64_t end), void *context);

/* What decides whether a process may be stopped and read. */
struct hwi_os_access {
  bool exists, is_other_user;
  uint32_t user;    /* whose process it is */
  uint32_t tracer;  /* PID of the process that debugs it; 0: none */
  int ptrace_scope; /* of the Yama security module; -1: it is not there */
};

struct hwi_os_access hwi_os_access(uint32_t pid);

/* --- control groups --- */

struct hwi_os_cgroup_memory {
  uint64_t limit;     /* the lowest of the group and those that include it; 0: none */
  uint64_t current;   /* bytes of the group that has the limit, files that are cached included */
  uint64_t oom_kills; /* processes of the group that the kernel has killed because memory ran out */
};

/* Writes the folder of the group that limits a process's use of what `controller` is for, "memory" or "cpu". Returns false if there is
 * none. Not for several threads. */
bool hwi_os_process_cgroup(uint32_t pid, const char *controller, char folder[HWI_OS_PATH_BYTES]);

/* Reads the figures of a folder for memory. Returns false if it has none: the group at the root, or one that is gone. */
bool hwi_os_cgroup_memory(const char *folder, struct hwi_os_cgroup_memory *memory);

/* Returns whether the group of a folder for CPUs, or one that includes it, may use only a part of the CPUs' time. */
bool hwi_os_cgroup_limits_cpu(const char *folder);

/* --- the calling process --- */

#define HWI_OS_OWN_EXECUTABLE "/proc/self/exe" /* a symbolic link to the executable file of the calling process */

unsigned hwi_os_processors(void);      /* those that the calling thread may run on; at least 1 */
void hwi_os_unblock_signals(void);     /* all, of the calling thread */
const char *hwi_os_platform(void);     /* what the dynamic loader puts for $PLATFORM; NULL: unknown */
void hwi_os_close_from(int fd);        /* all open files of this number and above */
void hwi_os_end_with_parent(void);     /* from now on the calling process is killed when its parent ends */
void hwi_os_prefer_to_be_killed(void); /* if memory runs out, the calling process is killed before others */

void hwi_os_run_when_idle(
    void); /* from now on the calling thread, and those that it starts, run where no other one wants to */

/* If memory runs out, the calling process is judged by its size as the process `pid` is. */
void hwi_os_be_killed_like(uint32_t pid);

/* --- files --- */

/* Writes a path under which the calling process can open or link the file that is open at `fd`. */
void hwi_os_fd_path(char path[HWI_OS_LINK_PATH_BYTES], int fd);

/* Returns the file that is open at `fd`; `path` gets its path, or "" if that is unknown. */
struct hwi_os_file hwi_os_file_of_fd(int fd, char path[HWI_OS_PATH_BYTES]);

/* Returns whether a process that executes the open file gains privileges (setuid, setgid or capabilities). The dynamic
 * loader then ignores LD_PRELOAD. */
bool hwi_os_gains_privileges(int fd);

/* Returns the folder for temporary files that may be large: TMPDIR, else /var/tmp, since /tmp may be in memory. */
const char *hwi_os_folder_of_large_files(void);

/* Creates a file without a name in a folder. Returns its descriptor, or -1 if the file system does not support that. */
int hwi_os_open_nameless(const char *folder, unsigned mode);

/* Gives the open file without a name the name `path`, which must be unused. */
bool hwi_os_give_name(int fd, const char *path);

/* Copies the rest of `from` to `to`, and adds the number of bytes to *copied. The copy shares the blocks of the
 * original if the file system supports that. Returns false, with errno set, on failure. */
bool hwi_os_copy_rest(int from, int to, uint64_t *copied);

/* Writes out a range of the file, so that a crash of the system cannot lose it and keep the effect of a later
 * hwi_os_punch_hole. Returns false, with errno set, on failure. */
bool hwi_os_write_out(int fd, uint64_t off, uint64_t bytes);

/* Makes a range of the file a hole, if the file system supports holes. */
void hwi_os_punch_hole(int fd, uint64_t off, uint64_t bytes);

struct hwi_os_disk {
  bool is_memory;      /* its files are in memory */
  uint64_t free_bytes; /* for this user; UINT64_MAX: unknown */
};

/* Returns what is known of the file system of a folder. */
struct hwi_os_disk hwi_os_disk(const char *folder);

#endif
