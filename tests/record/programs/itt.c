/* itt.c - a program with ITT: a small static part of its own, as far as the published interface goes, and its calls
 *
 * itt CASE: does what the case of this name does, prints "done", and exits with status 0. Without a collector the calls do
 * nothing.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct {
  unsigned long long d1, d2, d3;
} id;
typedef struct domain {
  volatile int flags;
  const char *name;
  void *wide;
  int extra1;
  void *extra2;
  struct domain *next;
} domain;
typedef struct string {
  const char *text;
  void *wide;
  int extra1;
  void *extra2;
  struct string *next;
} string;
typedef unsigned long long u64;

/* X(what it returns, name, parameters): every function that programs on Linux use */
#define FUNCTIONS(X)                                                           \
  X(domain *, domain_create, (const char *))                                   \
  X(string *, string_handle_create, (const char *))                            \
  X(void, thread_set_name, (const char *))                                     \
  X(int, thr_name_set, (const char *, int))                                    \
  X(void, thread_ignore, (void))                                               \
  X(void, task_begin, (domain *, id, id, string *))                            \
  X(void, task_begin_fn, (domain *, id, id, void *))                           \
  X(void, task_end, (domain *))                                                \
  X(void, task_begin_ex, (domain *, void *, u64, id, id, string *))            \
  X(void, task_begin_fn_ex, (domain *, void *, u64, id, id, void *))           \
  X(void, task_end_ex, (domain *, void *, u64))                                \
  X(void, task_begin_overlapped, (domain *, id, id, string *))                 \
  X(void, task_begin_overlapped_ex, (domain *, void *, u64, id, id, string *)) \
  X(void, task_end_overlapped, (domain *, id))                                 \
  X(void, task_end_overlapped_ex, (domain *, void *, u64, id))                 \
  X(void, metadata_add, (domain *, id, string *, int, size_t, void *))         \
  X(void, metadata_str_add, (domain *, id, string *, const char *, size_t))    \
  X(void, marker, (domain *, id, string *, int))                               \
  X(void, marker_ex, (domain *, void *, u64, id, string *, int))               \
  X(void *, counter_create, (const char *, const char *))                      \
  X(void *, counter_create_typed, (const char *, const char *, int))           \
  X(void *, counter_create_v3, (domain *, const char *, int))                  \
  X(void, counter_set_value, (void *, void *))                                 \
  X(void, counter_set_value_v3, (void *, void *))                              \
  X(void, counter_set_value_ex, (void *, void *, u64, void *))                 \
  X(void, counter_inc, (void *))                                               \
  X(void, counter_inc_delta, (void *, u64))                                    \
  X(void, counter_dec, (void *))                                               \
  X(void, counter_dec_delta, (void *, u64))                                    \
  X(void, counter_inc_v3, (domain *, string *))                                \
  X(void, counter_inc_delta_v3, (domain *, string *, u64))                     \
  X(void, counter_dec_v3, (domain *, string *))                                \
  X(void, counter_dec_delta_v3, (domain *, string *, u64))                     \
  X(void, counter_destroy, (void *))                                           \
  X(void *, clock_domain_create, (void *, void *))                             \
  X(void, clock_domain_reset, (void))                                          \
  X(void, id_create, (domain *, id))                                           \
  X(void, id_destroy, (domain *, id))                                          \
  X(void *, track_group_create, (string *, int))                               \
  X(void *, track_create, (void *, string *, int))                             \
  X(void, set_track, (void *))                                                 \
  X(domain *, frame_create, (const char *))                                    \
  X(void, frame_begin, (domain *))                                             \
  X(void, frame_end, (domain *))                                               \
  X(void, frame_begin_v3, (domain *, id *))                                    \
  X(void, frame_end_v3, (domain *, id *))                                      \
  X(void, frame_submit_v3, (domain *, id *, u64, u64))                         \
  X(void, region_begin, (domain *, id, id, string *))                          \
  X(void, region_end, (domain *, id))                                          \
  X(void, pause, (void))                                                       \
  X(void, resume, (void))                                                      \
  X(u64, get_timestamp, (void))                                                \
  X(void, sync_create, (void *, const char *, const char *, int))              \
  X(void, sync_destroy, (void *))                                              \
  X(void, sync_acquired, (void *))                                             \
  X(void, sync_releasing, (void *))                                            \
  X(void, sync_rename, (void *, const char *))                                 \
  X(void, sync_prepare, (void *))                                              \
  X(void, sync_cancel, (void *))                                               \
  X(void, relation_add, (domain *, id, int, id))                               \
  X(void, relation_add_ex, (domain *, void *, u64, id, int, id))               \
  X(void, relation_add_to_current, (domain *, int, id))                        \
  X(void, relation_add_to_current_ex, (domain *, void *, u64, int, id))        \
  X(void *, heap_function_create, (const char *, const char *))                \
  X(void, heap_allocate_begin, (void *, size_t, int))                          \
  X(void, heap_allocate_end, (void *, void **, size_t, int))                   \
  X(void, heap_free_begin, (void *, void *))                                   \
  X(void, heap_free_end, (void *, void *))                                     \
  X(void, heap_reallocate_begin, (void *, void *, size_t, int))                \
  X(void, heap_reallocate_end, (void *, void *, void **, size_t, int))         \
  X(void, heap_internal_access_begin, (void))                                  \
  X(void, heap_internal_access_end, (void))                                    \
  X(void, heap_record_memory_growth_begin, (void))                             \
  X(void, heap_record_memory_growth_end, (void))                               \
  X(void, heap_reset_detection, (unsigned))                                    \
  X(int, event_create, (const char *, int))                                    \
  X(int, event_start, (int))                                                   \
  X(int, event_end, (int))                                                     \
  X(const char *, api_version, (void))                                         \
  X(void, of_the_future, (void))

#define POINTER(type, name, parameters) static type(*itt_##name) parameters;
FUNCTIONS(POINTER)

/* What the program calls: only if a collector implements it, as ITT's header does. */
#define CALL(name, ...) (itt_##name ? itt_##name(__VA_ARGS__) : 0)
#define DO(name, ...)          \
  do {                         \
    if (itt_##name)            \
      itt_##name(__VA_ARGS__); \
  } while (0)

static struct function {
  const char *name;
  void **called;
  void *first, *without;
  unsigned group;
} functions[] = {
#define ENTRY(type, name, parameters) {"__itt_" #name, (void **)(void *)&itt_##name, NULL, NULL, 1u << 12},
    FUNCTIONS(ENTRY){0}};

static struct {
  unsigned char magic[8];
  unsigned long major, minor, build;
  volatile long is_initialized, has_mutex, counter;
  pthread_mutex_t mutex;
  void *library, *error_handler;
  const char **path;
  struct function *functions;
  void *next, *threads;
  domain *domains;
  string *strings;
  int state;
  void *counters;
} program = {.magic = {0xED, 0xAB, 0xAB, 0xEC, 0x0D, 0xEE, 0xDA, 0x30},
             .major = 3,
             .minor = 22,
             .build = 20180723,
             .mutex = PTHREAD_MUTEX_INITIALIZER,
             .functions = functions};

static void find_collector(void)
{
  const char *path = getenv("INTEL_LIBITTNOTIFY64");
  void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
  void (*init)(void *, unsigned) = NULL;
  program.library = library;
  if (library)
    *(void **)&init = dlsym(library, "__itt_api_init");
  if (init)
    init(&program, ~0u);
}

static const id none;
static void *volatile kept;
static domain *mine;

static string *text(const char *name)
{
  return CALL(string_handle_create, name);
}

static void begin(const char *name)
{
  if (mine && mine->flags)
    DO(task_begin, mine, none, none, text(name));
}

static void end(void)
{
  if (mine && mine->flags)
    DO(task_end, mine);
}

static void allocate(size_t bytes)
{
  kept = malloc(bytes);
}

/* --- the cases --- */

static void attribute(void)
{
  void *volatile small = malloc(8);
  begin("region");
  free(small);
  allocate(16);
  allocate(16);
  begin("inside");
  allocate(1144);
  end();
  end();
}

static void each_kind(void)
{
  const id one = {1, 2, 3}, two = {4, 5, 6};
  id frame_id = {7, 8, 9};
  void *clock = CALL(clock_domain_create, NULL, NULL);
  domain *frame = CALL(frame_create, "old frame"), *frames = CALL(domain_create, "new frame");
  int event = CALL(event_create, "event and more", 5);
  DO(task_begin_ex, mine, clock, 12345, none, none, text("timed"));
  allocate(1);
  DO(task_begin_fn, mine, none, none, (void *)(uintptr_t)attribute);
  allocate(2);
  DO(task_end, mine);
  DO(task_end_ex, mine, clock, 12345);
  DO(task_begin_fn_ex, mine, clock, 1, none, none, (void *)(uintptr_t)malloc);
  allocate(3);
  DO(task_end_ex, mine, clock, 2);
  DO(region_begin, mine, one, none, text("a region"));
  allocate(4);
  DO(region_end, mine, two); /* of another region */
  allocate(5);
  DO(region_end, mine, one);
  DO(frame_begin, frame);
  allocate(6);
  DO(frame_end, frame);
  DO(frame_begin_v3, frames, &frame_id);
  allocate(7);
  DO(frame_end_v3, frames, &frame_id);
  DO(frame_begin_v3, frames, NULL);
  allocate(8);
  DO(frame_end_v3, frames, NULL);
  DO(event_start, event);
  allocate(9);
  DO(event_end, event);
  DO(task_begin_overlapped, mine, one, none, text("overlapped"));
  allocate(10);
  DO(task_end_overlapped, mine, one);
  DO(task_begin_overlapped_ex, mine, clock, 1, one, none, text("overlapped in time"));
  allocate(11);
  DO(task_end_overlapped_ex, mine, clock, 2, one);
  allocate(100);
}

/* Ends that come first, twice, in another domain, or not at all. */
static void odd(void)
{
  DO(event_start, 60000); /* which was not created */
  DO(event_end, 60000);
  domain *other = CALL(domain_create, "other");
  DO(task_end, mine);
  begin("left");
  begin("left inside");
  DO(task_end, other);
  allocate(1);
  DO(task_begin, other, none, none, NULL);
  allocate(2);
  end(); /* and with it the task of the other domain */
  DO(task_end, other);
  allocate(3);
  end();
  end();
  DO(task_begin, NULL, none, none, text("no domain"));
  DO(event_end, 1);
  allocate(4);
  if (other)
    other->flags = 0;
  DO(task_begin, other, none, none, text("switched off"));
  allocate(5);
  DO(task_end, other);
  if (mine &&
      (CALL(domain_create, "mine") != mine || text("left") != text("left") || strcmp(text("left")->text, "left")))
    abort();
}

static void begin_overlapped(unsigned long long number, const char *name)
{
  DO(task_begin_overlapped, mine, ((id){number, 0, 0}), none, text(name));
}

static void end_overlapped(unsigned long long number)
{
  DO(task_end_overlapped, mine, ((id){number, 0, 0}));
}

static void *recurse(void *levels)
{
  int event = CALL(event_create, "event", 5);
  DO(event_start, event);
  if (levels)
    recurse((char *)levels - 1);
  DO(event_end, event);
  return NULL;
}

/* Events without ends follow each other. One that ends stays in its thread, also if another has too many levels. */
static void events(void)
{
  int tick = CALL(event_create, "tick", 4), event = CALL(event_create, "event", 5);
  DO(event_start, event);
  pthread_t other;
  pthread_create(&other, NULL, recurse, (void *)(uintptr_t)20);
  pthread_join(other, NULL);
  begin("inside");
  allocate(1);
  end();
  DO(event_end, event);
  for (int i = 0; i < 20; i++) {
    DO(event_start, tick);
    allocate(2);
  }
  DO(event_end, tick);
}

/* Each domain has IDs of its own: what began first ends first. */
static void same_ids(void)
{
  id one = {1, 0, 0};
  domain *other = CALL(domain_create, "other");
  DO(region_begin, mine, one, none, text("region"));
  DO(region_begin, other, one, none, text("inner region"));
  DO(region_end, mine, one);
  allocate(1);
  DO(region_end, other, one);
  DO(task_begin_overlapped, mine, one, none, text("task"));
  DO(task_begin_overlapped, other, one, none, text("inner task"));
  DO(task_end_overlapped, mine, one);
  allocate(2);
  DO(task_end_overlapped, other, one);
  DO(frame_begin_v3, mine, &one);
  DO(frame_begin_v3, other, &one);
  DO(frame_end_v3, mine, &one);
  allocate(3);
  DO(frame_end_v3, other, &one);
  allocate(100);
}

/* The first one to begin is the first one to end. */
static void overlap(void)
{
  begin_overlapped(1, "first");
  allocate(1);
  begin_overlapped(2, "second");
  allocate(2);
  begin("task");
  end_overlapped(1);
  allocate(3);
  end();
  allocate(4);
  end_overlapped(2);
  allocate(5);
}

static void *end_request(void *number)
{
  end_overlapped((uintptr_t)number);
  return NULL;
}

/* Each request begins in this thread and ends in another one. */
static void elsewhere(void)
{
  for (uintptr_t i = 1; i <= 100; i++) {
    pthread_t other;
    begin_overlapped(i, "request");
    allocate(10);
    pthread_create(&other, NULL, end_request, (void *)i);
    pthread_join(other, NULL);
    begin("after");
    allocate(20);
    end();
  }
}

enum { PRODUCERS = 16, REQUESTS = 250 };
static _Atomic uintptr_t to_end[PRODUCERS]; /* a request of each; 0: none */

static void *produce(void *number)
{
  _Atomic uintptr_t *mine_to_end = &to_end[(uintptr_t)number];
  for (uintptr_t i = 1; i <= REQUESTS; i++) {
    uintptr_t request = (uintptr_t)number * REQUESTS + i;
    begin_overlapped(request, "request");
    allocate(10);
    *mine_to_end = request;
    while (*mine_to_end)
      sched_yield();
  }
  begin("last"); /* which ends the last request */
  end();
  return NULL;
}

/* Many threads' requests end in this thread, in any order. */
static void crowd(void)
{
  pthread_t all[PRODUCERS];
  for (uintptr_t i = 0; i < PRODUCERS; i++)
    pthread_create(&all[i], NULL, produce, (void *)i);
  for (int left = PRODUCERS * REQUESTS; left > 0; sched_yield())
    for (int i = 0; i < PRODUCERS; i++)
      if (to_end[i]) {
        end_overlapped(to_end[i]);
        to_end[i] = 0;
        left--;
      }
  for (int i = 0; i < PRODUCERS; i++)
    pthread_join(all[i], NULL);
}

/* Requests that never end do not pile up. */
static void endless(void)
{
  for (unsigned i = 1; i <= 100; i++) {
    begin_overlapped(i, "request");
    allocate(10);
  }
}

static void deep(void)
{
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < 100; i++)
      begin("deeper");
    allocate(10);
    for (int i = 0; i < 100; i++)
      end();
  }
}

static void *work(void *number)
{
  char name[32];
  snprintf(name, sizeof name, "worker %d", (int)(intptr_t)number);
  DO(thread_set_name, name);
  begin("thread");
  for (int i = 0; i < 100; i++) {
    begin("work");
    void *volatile block = malloc(7 * ((size_t)(intptr_t)number + 1));
    if (i % 2)
      free(block);
    end();
  }
  end();
  return NULL;
}

static void threads(void)
{
  pthread_t all[16];
  for (intptr_t i = 0; i < 16; i++)
    pthread_create(&all[i], NULL, work, (void *)i);
  for (int i = 0; i < 16; i++)
    pthread_join(all[i], NULL);
}

static void die(void)
{
  begin("before");
  begin("at the end");
  allocate(77);
  raise(SIGKILL);
}

/* The child continues in the tasks of its parent. */
static void split(void)
{
  begin("outer");
  begin_overlapped(1, "inner");
  pid_t child = fork();
  allocate(child ? 100 : 200);
  end_overlapped(1);
  allocate(child ? 10 : 20);
  end();
  if (child == 0)
    _exit(0);
  waitpid(child, NULL, 0);
}

static void names(void)
{
  char *name = malloc(10001);
  memset(name, 'x', 10000);
  name[10000] = 0;
  const char *unusual[] = {"\"quoted\" \\ and <b>", "\xf0\x9f\x90\x98 emoji", name, ""};
  for (size_t i = 0; i < sizeof unusual / sizeof *unusual; i++) {
    begin(unusual[i]);
    allocate(3);
    end();
  }
}

static void call_structures(void)
{
  double value = 1;
  void *counter = CALL(counter_create, "counter", "domain"), *typed = CALL(counter_create_typed, "typed", "domain", 1);
  DO(id_create, mine, none);
  DO(id_destroy, mine, none);
  DO(clock_domain_reset);
  DO(metadata_add, mine, none, text("key"), 1, 1, &value);
  DO(metadata_str_add, mine, none, text("key"), "value", 5);
  DO(marker, mine, none, text("mark"), 1);
  DO(marker_ex, mine, NULL, 1, none, text("mark"), 1);
  DO(counter_set_value, typed, &value);
  DO(counter_set_value_ex, typed, NULL, 1, &value);
  DO(counter_inc, counter);
  DO(counter_inc_delta, counter, 5);
  DO(counter_dec, counter);
  DO(counter_dec_delta, counter, 2);
  DO(counter_inc_v3, mine, text("counter"));
  DO(counter_inc_delta_v3, mine, text("counter"), 2);
  DO(counter_dec_v3, mine, text("counter"));
  DO(counter_dec_delta_v3, mine, text("counter"), 2);
  DO(counter_destroy, counter);
  DO(frame_submit_v3, mine, NULL, CALL(get_timestamp), CALL(get_timestamp));
  DO(set_track, CALL(track_create, CALL(track_group_create, text("group"), 0), text("track"), 0));
  DO(relation_add, mine, none, 1, none);
  DO(relation_add_ex, mine, NULL, 1, none, 1, none);
  DO(relation_add_to_current, mine, 1, none);
  DO(relation_add_to_current_ex, mine, NULL, 1, 1, none);
}

static void call_rest(void)
{
  void *heap = CALL(heap_function_create, "heap", "domain"), *block = &heap, *none = NULL;
  DO(thread_ignore);
  DO(thr_name_set, "by its length", 6);
  DO(thr_name_set, "nothing", 0);
  DO(pause);
  DO(resume);
  DO(sync_create, &heap, "type", "name", 1);
  DO(sync_rename, &heap, "other");
  DO(sync_prepare, &heap);
  DO(sync_cancel, &heap);
  DO(sync_acquired, &heap);
  DO(sync_releasing, &heap);
  DO(sync_destroy, &heap);
  DO(heap_allocate_begin, heap, 10, 0);
  DO(heap_allocate_end, heap, &block, 10, 0);
  DO(heap_reallocate_begin, heap, block, 20, 0);
  DO(heap_reallocate_end, heap, block, &block, 20, 0);
  DO(heap_free_begin, heap, block);
  DO(heap_free_end, heap, block);
  DO(heap_allocate_end, heap, &block, 10, 0);
  DO(heap_reallocate_begin, heap, block, 0, 0); /* a free */
  DO(heap_reallocate_end, heap, block, &none, 0, 0);
  DO(heap_internal_access_begin);
  DO(heap_internal_access_end);
  DO(heap_record_memory_growth_begin);
  DO(heap_record_memory_growth_end);
  DO(heap_reset_detection, 1);
  DO(of_the_future);
}

/* A counter that the collector does not know, and one of each type of values. */
static void count(void)
{
  int own[32] = {0};
  uint64_t u64 = UINT64_C(1) << 40;
  int64_t s64 = -5;
  uint32_t u32 = 4000000000;
  int32_t s32 = -7;
  uint16_t u16 = 60000;
  int16_t s16 = -9;
  float single = 0.5f;
  double whole = -1e300;
  void *values[] = {&u64, &s64, &u32, &s32, &u16, &s16, &single, &whole};
  for (int type = 1; type <= 8; type++) {
    char name[] = "type 0";
    name[5] = (char)('0' + type);
    DO(counter_set_value, CALL(counter_create_typed, name, "mine", type), values[type - 1]);
  }
  void *counter = CALL(counter_create, "requests", "mine");
  DO(counter_inc_delta, counter, 10);
  DO(counter_dec, counter);
  DO(counter_inc, counter);
  DO(counter_dec_delta, counter, 4);
  DO(counter_set_value_v3, CALL(counter_create_v3, mine, "of a domain", 7), &single);
  DO(counter_set_value_v3, CALL(counter_create_v3, NULL, "of none", 7), &single);
  DO(counter_inc_delta_v3, mine, text("by string"), 3);
  DO(counter_dec_v3, mine, text("by string"));
  DO(counter_inc, (void *)own);
  DO(counter_set_value, (void *)own, &whole);
  DO(counter_set_value, CALL(counter_create_typed, "wrong", "mine", 99), &whole);
  DO(marker, mine, none, text("loaded"), 1);
  DO(marker_ex, mine, NULL, 1, none, text("ready"), 1);
  allocate(1);
}

static void every(void)
{
  begin("around all");
  each_kind();
  call_structures();
  call_rest();
  allocate(1000);
  end();
}

/* The functions that the collector implements. */
static void list(void)
{
  for (struct function *at = functions; at->name; at++)
    if (*at->called)
      puts(at->name);
  printf("version %s, clock %s\n", CALL(api_version), CALL(get_timestamp) ? "runs" : "stands");
}

static long resident_kib(void)
{
  char line[200];
  long kib = 0;
  FILE *file = fopen("/proc/self/status", "r");
  while (file && !kib && fgets(line, sizeof line, file))
    sscanf(line, "VmRSS: %ld", &kib);
  fclose(file);
  return kib;
}

/* Locked memory is resident as soon as it can be used. */
static void locked(void)
{
  enum { MOST_KIB = 2048 };
  long before = mlockall(MCL_CURRENT | MCL_FUTURE) == 0 ? resident_kib() : LONG_MAX - MOST_KIB;
  mine = CALL(domain_create, "mine");
  every();
  count();
  if (resident_kib() > before + MOST_KIB)
    puts("too much is resident");
}

static void keep_errno(void)
{
  errno = 4321;
  every();
  if (errno != 4321)
    abort();
}

/* Objects that the static part made itself, before there was a collector. */
static domain second = {.flags = 1, .name = "early too"}, first = {.flags = 1, .name = "early", .next = &second};
static string early_name = {.text = "early"};

static struct counter {
  const char *name;
  void *wide;
  const char *domain;
  void *wide_domain;
  int type;
  long index;
  int extra1;
  void *extra2; /* the static part does not initialize it */
  struct counter *next;
} early_ratio = {.name = "ratio", .domain = "early too", .type = 8, .extra2 = "nothing"},
  early_counter = {.name = "counter", .domain = "early", .type = 1, .extra2 = "nothing", .next = &early_ratio};

static void early(void)
{
  double ratio = 0.5;
  if (first.flags)
    DO(task_begin, &first, none, none, &early_name);
  allocate(7);
  if (first.flags)
    DO(task_end, &first);
  if (second.flags)
    DO(task_begin, &second, none, none, &early_name);
  allocate(8);
  if (second.flags)
    DO(task_end, &second);
  DO(counter_inc_delta, (void *)&early_counter, 3);
  DO(counter_inc, (void *)&early_counter);
  DO(counter_set_value, (void *)&early_ratio, &ratio);
}

/* The same domain by two objects. */
static void early_and_late(void)
{
  domain *late = CALL(domain_create, "early");
  DO(task_begin, &first, none, none, text("task"));
  allocate(1);
  DO(task_end, late);
  DO(frame_begin_v3, late, NULL);
  allocate(2);
  DO(frame_end_v3, &first, NULL);
  allocate(100);
}

static void *make_early_counter(void)
{
  return NULL;
}

/* Its domains were off at first, and its counters had no static part. */
static void become_old(void)
{
  program.build = 20111111;
  first.flags = second.flags = 0;
  program.counters = (void *)&first;
}

static void become_new(void)
{
  program.counters = &early_counter;
  for (struct function *at = functions; at->name; at++)
    if (strcmp(at->name, "__itt_counter_create") == 0)
      at->without = (void *)(uintptr_t)make_early_counter;
}

/* A thread that the collector has seen ends after the program has closed the collector. */
static pthread_barrier_t meeting;

static void *end_after_the_collector(void *argument)
{
  begin("before the close");
  allocate(5);
  end();
  pthread_barrier_wait(&meeting);
  pthread_barrier_wait(&meeting);
  return argument;
}

static void closed(void)
{
  pthread_t thread;
  pthread_barrier_init(&meeting, NULL, 2);
  pthread_create(&thread, NULL, end_after_the_collector, NULL);
  pthread_barrier_wait(&meeting);
  if (program.library)
    dlclose(program.library);
  pthread_barrier_wait(&meeting);
  pthread_join(thread, NULL);
}

static const struct {
  const char *name;
  void (*run)(void);
} cases[] = {{"attribute", attribute}, {"each kind", each_kind}, {"odd", odd},
             {"overlap", overlap},     {"elsewhere", elsewhere}, {"endless", endless},
             {"deep", deep},           {"threads", threads},     {"die", die},
             {"names", names},         {"every", every},         {"list", list},
             {"errno", keep_errno},    {"early", early},         {"count", count},
             {"fork", split},          {"same ids", same_ids},   {"early and late", early_and_late},
             {"old", early},           {"crowd", crowd},         {"events", events},
             {"locked", locked},       {"closed", closed}};

int main(int argc, char **argv)
{
  bool is_old = argc > 1 && strcmp(argv[1], "old") == 0;
  (is_old ? become_old : become_new)();
  program.domains = &first;
  find_collector();
  if (argc < 2 || strcmp(argv[1], "locked") != 0)
    mine = CALL(domain_create, "mine");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    if (argc > 1 && strcmp(argv[1], cases[i].name) == 0)
      cases[i].run();
  puts("done");
  return 0;
}
