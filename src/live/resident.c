/* resident.c - an analyst that follows a recording from early on, for viewers that come later
 *
 * Two threads: one counts, in small steps, while a CPU has nothing else to do. The other one waits for viewers, and forks for each
 * between two steps, so that a copy has a whole state. A forked process has the priority of the thread that forked, so the copy counts
 * on as any analyst.
 *
 * What has been counted must be exact for all viewers to come, so the counting thread stays seconds behind the program: an event of a
 * thread that was stopped in the middle of it is hardly ever late then. If one is, all is counted again, as in any analyst, and until
 * that is done viewers are refused.
 */
#include "live/resident.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "live/analysis.h"
#include "platform/os.h"
#include "platform/os_tools.h"

enum {
  EVENTS_A_STEP = 1 << 16, /* a viewer waits for the end of a step */
  DELAY_MS = 2000,         /* behind the program */
  REST_MS = 200,           /* when all is counted */
  MEASURE_EVERY_MS = 100,
  PATIENCE_MS = 1000, /* with the other side */
  VIEWERS_WAITING = 16,
  MEMORY_SHARE = 16, /* it takes at most this part of the memory */
};

static const uint64_t MEMORY_MAX_BYTES = UINT64_C(512) << 20;

/* --- how the two sides find and know each other --- */

/* A file. A symbolic link to a trace is another one: next to it there are no traces of children. */
struct place {
  uint64_t device, inode;
};

static const char SIGN[16] = "heapwright live";

/* What a viewer sends first. The answer, which comes from its analyst, is the sign. */
struct greeting {
  char sign[sizeof SIGN];
  struct place program;  /* its executable file: others may have other messages */
  uint32_t has_name;     /* see struct hwi_live_run */
  char folder[PATH_MAX]; /* to which `path` is relative */
  char path[PATH_MAX];
  char name[PATH_MAX];
};

/* `how`: AT_SYMLINK_NOFOLLOW, or 0. */
static bool find_place(struct place *place, const char *path, int how)
{
  struct stat about;
  if (fstatat(AT_FDCWD, path, &about, how) < 0)
    return false;
  *place = (struct place){about.st_dev, about.st_ino};
  return true;
}

static bool is_same(const struct place *one, const struct place *other)
{
  return one->device == other->device && one->inode == other->inode;
}

/* Returns the length of the address. Its name begins with a zero: it is not in the file system. */
static socklen_t name_socket(struct sockaddr_un *address, const struct place *trace)
{
  *address = (struct sockaddr_un){.sun_family = AF_UNIX};
  const int bytes = snprintf(address->sun_path + 1, sizeof address->sun_path - 1,
                             "heapwright.live.%" PRIx64 ".%" PRIx64, trace->device, trace->inode);
  return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)bytes);
}

static bool is_of_this_user(int socket)
{
  struct ucred other;
  socklen_t bytes = sizeof other;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &other, &bytes) == 0 && other.uid == geteuid();
}

static bool has_sign(const char sign[sizeof SIGN])
{
  return memcmp(sign, SIGN, sizeof SIGN) == 0;
}

/* --- the viewer --- */

static bool copy(char *to, const char *from)
{
  return snprintf(to, PATH_MAX, "%s", from) < PATH_MAX;
}

static bool make_greeting(struct greeting *greeting, const struct hwi_live_run *run)
{
  *greeting = (struct greeting){.has_name = run->name != NULL};
  memcpy(greeting->sign, SIGN, sizeof SIGN);
  return find_place(&greeting->program, HWI_OS_OWN_EXECUTABLE, 0) &&
         getcwd(greeting->folder, sizeof greeting->folder) && copy(greeting->path, run->path) &&
         copy(greeting->name, run->name ? run->name : "");
}

static bool is_welcome(int socket, const struct greeting *greeting)
{
  char sign[sizeof SIGN];
  struct pollfd answer = {.fd = socket, .events = POLLIN};
  return is_of_this_user(socket) &&
         send(socket, greeting, sizeof *greeting, MSG_NOSIGNAL) == (ssize_t)sizeof *greeting &&
         poll(&answer, 1, PATIENCE_MS) == 1 && recv(socket, sign, sizeof sign, MSG_TRUNC) == (ssize_t)sizeof sign &&
         has_sign(sign);
}

int hwi_resident_join(const struct hwi_live_run *run)
{
  struct place trace;
  struct greeting greeting;
  struct sockaddr_un address;
  if (!find_place(&trace, run->path, AT_SYMLINK_NOFOLLOW) || !make_greeting(&greeting, run))
    return -1;
  const socklen_t bytes = name_socket(&address, &trace);
  const int joined = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (joined < 0)
    return -1;
  if (connect(joined, (const struct sockaddr *)&address, bytes) == 0 && is_welcome(joined, &greeting) &&
      fcntl(joined, F_SETFL, 0) == 0)
    return joined;
  close(joined);
  return -1;
}

/* --- the analyst --- */

struct resident {
  struct hwi_analysis work;
  pthread_mutex_t mutex; /* of `work` */
  pthread_cond_t turn;   /* no viewer waits for the mutex */
  atomic_bool is_wanted; /* by the thread of the viewers */
  int listener;
  struct place trace, program;
  uint64_t most_bytes;
  uint64_t next_measure_ms;
};

/* The process is in the program's control group, whose memory and CPU time it would use; and it has the limits of the recording, which
 * a viewer may not have. Returns how much memory it may take; 0: it must not begin. */
static uint64_t memory_for_it(void)
{
  static const int limits[] = {RLIMIT_AS, RLIMIT_DATA, RLIMIT_FSIZE, RLIMIT_CPU};
  char folder[HWI_OS_PATH_BYTES];
  struct hwi_os_cgroup_memory group;
  struct rlimit limit;
  uint64_t all = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
    if (getrlimit(limits[i], &limit) < 0 || limit.rlim_cur != RLIM_INFINITY)
      return 0;
  if (hwi_os_process_cgroup((uint32_t)getpid(), "cpu", folder) && hwi_os_cgroup_limits_cpu(folder))
    return 0;
  if (hwi_os_process_cgroup((uint32_t)getpid(), "memory", folder) && hwi_os_cgroup_memory(folder, &group) &&
      group.limit && group.limit < all)
    all = group.limit;
  return all / MEMORY_SHARE < MEMORY_MAX_BYTES ? all / MEMORY_SHARE : MEMORY_MAX_BYTES;
}

static bool is_too_large(struct resident *resident)
{
  struct hwi_os_resident memory;
  const uint64_t ms = hwi_os_monotonic_ms();
  if (ms < resident->next_measure_ms)
    return false;
  resident->next_measure_ms = ms + MEASURE_EVERY_MS;
  return hwi_os_process_resident((uint32_t)getpid(), &memory) &&
         memory.anonymous + memory.swapped > resident->most_bytes;
}

static void rest(struct resident *resident)
{
  static const struct timespec while_idle = {.tv_nsec = REST_MS * 1000000};
  pthread_mutex_unlock(&resident->mutex);
  nanosleep(&while_idle, NULL);
  pthread_mutex_lock(&resident->mutex);
}

/* The thread that counts. It ends the process. */
static void *count(void *context)
{
  struct resident *resident = context;
  struct hwi_analysis *work = &resident->work;
  hwi_os_run_when_idle();
  pthread_mutex_lock(&resident->mutex);
  while (work->state >= 0 && work->state != HWI_FOLLOW_OVER && !is_too_large(resident)) {
    while (atomic_load(&resident->is_wanted))
      pthread_cond_wait(&resident->turn, &resident->mutex);
    hwi_analysis_look(work);
    if (work->state == HWI_FOLLOW_WAITS && !work->fresh)
      rest(resident);
  }
  _exit(EXIT_SUCCESS);
}

/* In a copy of the process, with the one thread that forked: follows the run for the viewer. */
static _Noreturn void be_copy(struct resident *resident, const struct greeting *greeting, int viewer)
{
  struct hwi_analysis *work = &resident->work;
  struct hwi_live_run run = *work->run;
  struct place trace;
  run.path = greeting->path;
  run.name = greeting->has_name ? greeting->name : NULL;
  signal(SIGCHLD, SIG_DFL);
  close(resident->listener);
  if (chdir(greeting->folder) == 0 && find_place(&trace, run.path, AT_SYMLINK_NOFOLLOW) &&
      is_same(&trace, &resident->trace) && hwi_follow_rename(work->follow, run.path) == 0 &&
      send(viewer, SIGN, sizeof SIGN, MSG_NOSIGNAL) == (ssize_t)sizeof SIGN) {
    hwi_analysis_hand_over(work, &run);
    hwi_analysis_serve(work, viewer);
  }
  _exit(EXIT_SUCCESS);
}

/* A process of the same user that connects and says nothing holds up the next viewer for PATIENCE_MS, after which that reads the
 * recording itself. */
static bool take_greeting(const struct resident *resident, int viewer, struct greeting *greeting)
{
  static const struct timeval patience = {.tv_sec = PATIENCE_MS / 1000};
  if (!is_of_this_user(viewer) || setsockopt(viewer, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) < 0 ||
      recv(viewer, greeting, sizeof *greeting, MSG_TRUNC) != (ssize_t)sizeof *greeting || !has_sign(greeting->sign) ||
      !is_same(&greeting->program, &resident->program))
    return false;
  greeting->folder[PATH_MAX - 1] = greeting->path[PATH_MAX - 1] = greeting->name[PATH_MAX - 1] = 0;
  static const struct timeval none = {0};
  return setsockopt(viewer, SOL_SOCKET, SO_RCVTIMEO, &none, sizeof none) == 0;
}

static void receive(struct resident *resident, int viewer)
{
  static struct greeting greeting;
  if (!take_greeting(resident, viewer, &greeting))
    return;
  atomic_store(&resident->is_wanted, true);
  pthread_mutex_lock(&resident->mutex);
  const bool is_exact = resident->work.follow && !hwi_follow_had_late_events(resident->work.follow);
  if (is_exact && fork() == 0)
    be_copy(resident, &greeting, viewer);
  atomic_store(&resident->is_wanted, false);
  pthread_cond_signal(&resident->turn);
  pthread_mutex_unlock(&resident->mutex);
}

/* Returns false if it cannot be reached by viewers. */
static bool begin(struct resident *resident, const struct hwi_live_run *run)
{
  struct sockaddr_un address;
  pthread_t counter;
  if (!find_place(&resident->trace, run->path, 0) || !find_place(&resident->program, HWI_OS_OWN_EXECUTABLE, 0))
    return false;
  const socklen_t bytes = name_socket(&address, &resident->trace);
  resident->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  hwi_analysis_begin(&resident->work, run);
  resident->work.events_a_look = EVENTS_A_STEP;
  resident->work.delay_ns = UINT64_C(1000000) * DELAY_MS;
  return resident->listener >= 0 && bind(resident->listener, (const struct sockaddr *)&address, bytes) == 0 &&
         listen(resident->listener, VIEWERS_WAITING) == 0 && pthread_create(&counter, NULL, count, resident) == 0;
}

void hwi_resident_be(const struct hwi_live_run *run)
{
  static const struct timespec moment = {.tv_nsec = REST_MS * 1000000};
  static struct resident resident = {.mutex = PTHREAD_MUTEX_INITIALIZER, .turn = PTHREAD_COND_INITIALIZER};
  resident.most_bytes = memory_for_it();
  signal(SIGCHLD, SIG_IGN); /* the copies are not waited for */
  if (resident.most_bytes == 0 || !begin(&resident, run))
    return;
  for (;;) {
    const int viewer = accept4(resident.listener, NULL, NULL, SOCK_CLOEXEC);
    if (viewer >= 0) {
      receive(&resident, viewer);
      close(viewer);
    } else if (errno != EINTR) {
      nanosleep(&moment, NULL); /* too many files are open */
    }
  }
}
