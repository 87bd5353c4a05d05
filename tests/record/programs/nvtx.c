/* nvtx.c - a program with NVTX: a small client of its own, as far as the published interface goes, and its calls
 *
 * nvtx CASE: does what the case of this name does, prints "done", and exits with status 0. Without a collector the calls do
 * nothing.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>

typedef struct domain *domain;
typedef struct string *string;
typedef uint64_t range;

typedef struct {
  uint16_t version, size;
  uint32_t category;
  int32_t color_type;
  uint32_t color;
  int32_t payload_type, reserved;
  union {
    uint64_t u64;
    int64_t i64;
    double whole;
    uint32_t u32;
    int32_t i32;
    float single;
  } payload;
  int32_t message_type;
  union {
    const char *ascii;
    const wchar_t *wide;
    string registered;
  } message;
} event;
enum { ASCII = 1, WIDE, REGISTERED };
enum { U64 = 1, I64, DOUBLE, U32, I32, FLOAT };

/* X(module, index, what it returns, name, parameters): every function of the modules CORE and CORE2 */
enum { CORE = 1, CORE2 = 5, ENTRIES = 16 };
#define FUNCTIONS(X)                                                          \
  X(CORE, 1, void, MarkEx, (const event *))                                   \
  X(CORE, 2, void, MarkA, (const char *))                                     \
  X(CORE, 3, void, MarkW, (const wchar_t *))                                  \
  X(CORE, 4, range, RangeStartEx, (const event *))                            \
  X(CORE, 5, range, RangeStartA, (const char *))                              \
  X(CORE, 6, range, RangeStartW, (const wchar_t *))                           \
  X(CORE, 7, void, RangeEnd, (range))                                         \
  X(CORE, 8, int, RangePushEx, (const event *))                               \
  X(CORE, 9, int, RangePushA, (const char *))                                 \
  X(CORE, 10, int, RangePushW, (const wchar_t *))                             \
  X(CORE, 11, int, RangePop, (void))                                          \
  X(CORE, 12, void, NameCategoryA, (uint32_t, const char *))                  \
  X(CORE, 13, void, NameCategoryW, (uint32_t, const wchar_t *))               \
  X(CORE, 14, void, NameOsThreadA, (uint32_t, const char *))                  \
  X(CORE, 15, void, NameOsThreadW, (uint32_t, const wchar_t *))               \
  X(CORE2, 1, void, DomainMarkEx, (domain, const event *))                    \
  X(CORE2, 2, range, DomainRangeStartEx, (domain, const event *))             \
  X(CORE2, 3, void, DomainRangeEnd, (domain, range))                          \
  X(CORE2, 4, int, DomainRangePushEx, (domain, const event *))                \
  X(CORE2, 5, int, DomainRangePop, (domain))                                  \
  X(CORE2, 6, void *, DomainResourceCreate, (domain, void *))                 \
  X(CORE2, 7, void, DomainResourceDestroy, (void *))                          \
  X(CORE2, 8, void, DomainNameCategoryA, (domain, uint32_t, const char *))    \
  X(CORE2, 9, void, DomainNameCategoryW, (domain, uint32_t, const wchar_t *)) \
  X(CORE2, 10, string, DomainRegisterStringA, (domain, const char *))         \
  X(CORE2, 11, string, DomainRegisterStringW, (domain, const wchar_t *))      \
  X(CORE2, 12, domain, DomainCreateA, (const char *))                         \
  X(CORE2, 13, domain, DomainCreateW, (const wchar_t *))                      \
  X(CORE2, 14, void, DomainDestroy, (domain))                                 \
  X(CORE2, 15, void, Initialize, (const void *))

#define POINTER(module, index, type, name, parameters) static type(*nvtx##name) parameters;
FUNCTIONS(POINTER)

/* What the program calls: only if a collector implements it, as NVTX's header does. */
#define CALL(name, otherwise, ...) (nvtx##name ? nvtx##name(__VA_ARGS__) : (otherwise))
#define DO(name, ...)          \
  do {                         \
    if (nvtx##name)            \
      nvtx##name(__VA_ARGS__); \
  } while (0)
enum { NOT_TRACKED = -2 };

/* --- the client's side of the interface --- */

typedef void any_function(void);

/* One more entry than there are indices. */
static any_function **tables[CORE2 + 1][ENTRIES + 1];

static int find_module(int module, any_function ****table, unsigned *count)
{
  if (module != CORE && module != CORE2)
    return 0;
  *table = tables[module];
  *count = ENTRIES;
  return 1;
}

static const struct {
  size_t size;
  int (*find_module)(int module, any_function ****table, unsigned *count);
} callbacks = {sizeof callbacks, find_module};

static const void *find_table(uint32_t table)
{
  return table == 1 ? &callbacks : NULL;
}

static void find_collector(void)
{
  const char *path = getenv("NVTX_INJECTION64_PATH");
  void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
  int (*initialize)(const void *(*)(uint32_t)) = NULL;
#define ENTRY(module, index, type, name, parameters) tables[module][index] = (any_function **)(void *)&nvtx##name;
  FUNCTIONS(ENTRY)
  if (library)
    *(void **)&initialize = dlsym(library, "InitializeInjectionNvtx2");
  if (initialize && !initialize(find_table))
    puts("the collector refuses");
}

/* --- what the cases need --- */

static void *volatile kept;
static domain mine;

static void allocate(size_t bytes)
{
  kept = malloc(bytes);
}

static event message(const char *text)
{
  return (event){.version = 3, .size = sizeof(event), .message_type = ASCII, .message.ascii = text};
}

static event wide(const wchar_t *text)
{
  return (event){.version = 3, .size = sizeof(event), .message_type = WIDE, .message.wide = text};
}

static event registered(string text)
{
  return (event){.version = 3, .size = sizeof(event), .message_type = REGISTERED, .message.registered = text};
}

static int begin(const char *name)
{
  return CALL(RangePushA, NOT_TRACKED, name);
}

static int end(void)
{
  return CALL(RangePop, NOT_TRACKED);
}

static int begin_in(domain in, const char *name)
{
  event named = message(name);
  return CALL(DomainRangePushEx, NOT_TRACKED, in, &named);
}

static int end_in(domain in)
{
  return CALL(DomainRangePop, NOT_TRACKED, in);
}

static range start(const char *name)
{
  return CALL(RangeStartA, 0, name);
}

static void stop(range started)
{
  DO(RangeEnd, started);
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

static void each_push(void)
{
  event narrow = message("ex"), broad = wide(L"ex wide"),
        by_handle = registered(CALL(DomainRegisterStringA, 0, mine, "registered")),
        by_wide_handle = registered(CALL(DomainRegisterStringW, 0, mine, L"registered wide"));
  begin("plain");
  allocate(1);
  CALL(RangePushW, 0, L"wide");
  allocate(2);
  end();
  end();
  CALL(RangePushEx, 0, &narrow);
  allocate(3);
  end();
  CALL(RangePushEx, 0, &broad);
  allocate(4);
  end();
  CALL(DomainRangePushEx, 0, mine, &by_handle);
  allocate(5);
  end_in(mine);
  CALL(DomainRangePushEx, 0, mine, &by_wide_handle);
  allocate(6);
  end_in(mine);
  allocate(100);
}

static void each_start(void)
{
  event narrow = message("start ex"), in_domain = message("start in domain");
  range started = start("start plain");
  allocate(1);
  stop(started);
  started = CALL(RangeStartW, 0, L"start wide");
  allocate(2);
  stop(started);
  started = CALL(RangeStartEx, 0, &narrow);
  allocate(3);
  stop(started);
  started = CALL(DomainRangeStartEx, 0, mine, &in_domain);
  allocate(4);
  DO(DomainRangeEnd, mine, started);
  allocate(100);
}

/* What has no message is named after its domain. */
static void nameless(void)
{
  event none = {.version = 3, .size = sizeof none}, null = message(NULL), no_handle = registered(NULL),
        unknown = {.version = 3, .size = sizeof none, .message_type = 99};
  const event *events[] = {&none, &null, &no_handle, &unknown, NULL};
  for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
    CALL(DomainRangePushEx, 0, mine, events[i]);
    allocate(1);
    end_in(mine);
    CALL(RangePushEx, 0, events[i]);
    allocate(2);
    end();
  }
}

static void levels(void)
{
  domain other = CALL(DomainCreateA, NULL, "other");
  int in[] = {begin("a"), begin("b"), begin_in(other, "c")};
  int out[] = {end_in(other), end_in(other), end(), end(), end()};
  printf("%d %d %d, %d %d %d %d %d\n", in[0], in[1], in[2], out[0], out[1], out[2], out[3], out[4]);
  for (int i = 0; i < 100; i++)
    if (begin("deep") != (nvtxRangePushA ? i : NOT_TRACKED))
      printf("a wrong level on the way in: %d\n", i);
  for (int i = 99; i >= 0; i--)
    if (end() != (nvtxRangePop ? i : NOT_TRACKED))
      printf("a wrong level on the way out: %d\n", i);
}

/* Ends that come first, twice, in another domain, or not at all. */
static void odd(void)
{
  domain other = CALL(DomainCreateW, NULL, L"other");
  end();
  stop(0);
  stop(12345);
  begin_in(mine, "left");
  begin_in(mine, "left inside");
  end_in(other);
  allocate(1);
  begin_in(other, "of another domain");
  allocate(2);
  end_in(mine); /* and with it the range of the other domain */
  end_in(other);
  allocate(3);
  end_in(mine);
  end_in(mine);
  allocate(4);
  if (CALL(DomainCreateA, NULL, "other") != other)
    abort();
}

/* Handles that the collector did not make must not take the numbers of later names. */
static void wrong_handles(void)
{
  enum { NUMBER = 20, NAMES = 30 };
  domain no_domain = (domain)(uintptr_t)NUMBER;
  event no_string = registered((string)(uintptr_t)(NUMBER + 1)), none = {.version = 3, .size = sizeof none};
  CALL(RangePushEx, 0, &no_string);
  end();
  CALL(DomainRangePushEx, 0, no_domain, &none);
  end_in(no_domain);
  for (int i = 0; i < NAMES; i++) {
    char name[16];
    snprintf(name, sizeof name, "later %d", i);
    begin(name);
    allocate(1);
    end();
  }
}

/* The first one to start is the first one to end. */
static void overlap(void)
{
  range first = start("first");
  allocate(1);
  range second = start("second");
  allocate(2);
  begin("pushed");
  stop(first);
  allocate(3);
  end();
  allocate(4);
  stop(second);
  allocate(5);
  if (nvtxRangeStartA && (!first || !second || first == second))
    abort();
}

static void *end_request(void *started)
{
  stop((uintptr_t)started);
  return NULL;
}

/* Each request starts in this thread and ends in another one. */
static void elsewhere(void)
{
  for (int i = 0; i < 100; i++) {
    pthread_t other;
    range started = start("request");
    allocate(10);
    pthread_create(&other, NULL, end_request, (void *)(uintptr_t)started);
    pthread_join(other, NULL);
    begin("after");
    allocate(20);
    end();
  }
}

/* Requests that never end do not pile up. */
static void endless(void)
{
  for (int i = 0; i < 100; i++) {
    start("request");
    allocate(10);
  }
}

static void *work(void *number)
{
  int id = (int)(intptr_t)number;
  char name[32];
  wchar_t wide_name[32];
  snprintf(name, sizeof name, "worker %d", id);
  swprintf(wide_name, 32, L"worker %d", id);
  if (id % 2)
    DO(NameOsThreadA, (uint32_t)syscall(SYS_gettid), name);
  else
    DO(NameOsThreadW, (uint32_t)syscall(SYS_gettid), wide_name);
  DO(NameOsThreadA, (uint32_t)getppid(), "not this thread");
  begin("thread");
  for (int i = 0; i < 100; i++) {
    begin_in(mine, "work");
    void *volatile block = malloc(7 * ((size_t)id + 1));
    if (i % 2)
      free(block);
    end_in(mine);
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

static void payloads(void)
{
  static const event values[] = {
      {.payload_type = U64, .payload.u64 = UINT64_MAX},
      {.payload_type = I64, .payload.i64 = INT64_MAX},
      {.payload_type = DOUBLE, .payload.whole = 1e6},
      {.payload_type = U32, .payload.u32 = UINT32_MAX},
      {.payload_type = I32, .payload.i32 = 7},
      {.payload_type = FLOAT, .payload.single = 3},
      {.payload_type = U64, .payload.u64 = 0},
      {.payload_type = I64, .payload.i64 = -1},
      {.payload_type = DOUBLE, .payload.whole = 0.5},
      {.payload_type = I32, .payload.i32 = -1},
      {.payload_type = FLOAT, .payload.single = -0.25f},
      {.payload_type = DOUBLE, .payload.whole = 0x1p64},
      {.payload_type = DOUBLE, .payload.whole = __builtin_nan("")},
      {.payload_type = 99, .payload.u64 = 8},
      {.payload_type = 0, .payload.u64 = 9},
  };
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    char name[32];
    snprintf(name, sizeof name, "number %zu", i);
    event numbered = values[i];
    numbered.message_type = ASCII;
    numbered.message.ascii = name;
    CALL(RangePushEx, 0, &numbered);
    allocate(1);
    end();
    range started = CALL(DomainRangeStartEx, 0, mine, &numbered);
    allocate(2);
    DO(DomainRangeEnd, mine, started);
  }
}

static void marks(void)
{
  event narrow = message("by ex"), in_domain = wide(L"in a domain"), none = {.size = sizeof none};
  DO(MarkA, "plain");
  DO(MarkW, L"wide");
  DO(MarkEx, &narrow);
  DO(DomainMarkEx, mine, &in_domain);
  DO(DomainMarkEx, mine, &none);
  allocate(1);
}

static void names(void)
{
  char *name = malloc(10001);
  wchar_t wide_name[2001] = {0};
  memset(name, 'x', 10000);
  name[10000] = 0;
  for (int i = 0; i < 2000; i++)
    wide_name[i] = L'\u00e9';
  const char *unusual[] = {"\"quoted\" \\ and <b>", "\xf0\x9f\x90\x98 emoji", name, ""};
  const wchar_t *wide_ones[] = {L"a\u00e9\u20ac\U0001f418", wide_name, L"half \xd800 a pair", L"far \x7fffffff out"};
  for (size_t i = 0; i < sizeof unusual / sizeof *unusual; i++) {
    begin(unusual[i]);
    allocate(3);
    end();
  }
  for (size_t i = 0; i < sizeof wide_ones / sizeof *wide_ones; i++) {
    CALL(RangePushW, 0, wide_ones[i]);
    allocate(3);
    end();
  }
}

/* More domains and strings than there is room for: none is NULL, and all work. */
static void many(void)
{
  for (int i = 0; i < 70000; i++) {
    char name[32];
    snprintf(name, sizeof name, "number %d", i);
    domain made = CALL(DomainCreateA, NULL, name);
    string text = CALL(DomainRegisterStringA, NULL, made, name);
    event named = registered(text);
    if (nvtxDomainCreateA && (!made || !text))
      abort();
    if (i % 69999 == 0) {
      int level = CALL(DomainRangePushEx, 0, made, &named);
      allocate(1);
      if (level != 0 || CALL(DomainRangePop, 0, made) != 0)
        abort();
    }
  }
}

static void die(void)
{
  begin("before");
  begin("at the end");
  allocate(77);
  raise(SIGKILL);
}

/* The child continues in the ranges of its parent. */
static void split(void)
{
  begin("outer");
  range inner = start("inner");
  pid_t child = fork();
  allocate(child ? 100 : 200);
  stop(inner);
  allocate(child ? 10 : 20);
  end();
  if (child == 0)
    _exit(0);
  waitpid(child, NULL, 0);
}

static void every(void)
{
  begin("around all");
  each_push();
  each_start();
  nameless();
  marks();
  DO(Initialize, NULL);
  DO(NameCategoryA, 1, "category");
  DO(NameCategoryW, 2, L"category");
  DO(DomainNameCategoryA, mine, 1, "category");
  DO(DomainNameCategoryW, mine, 2, L"category");
  DO(DomainResourceDestroy, CALL(DomainResourceCreate, NULL, mine, &(event){0}));
  DO(NameOsThreadA, (uint32_t)getpid(), NULL);
  DO(NameOsThreadW, (uint32_t)getpid(), NULL);
  DO(DomainDestroy, CALL(DomainCreateA, NULL, "short-lived"));
  CALL(DomainCreateA, NULL, NULL);
  CALL(DomainCreateW, NULL, NULL);
  CALL(DomainRegisterStringA, NULL, mine, NULL);
  CALL(DomainRegisterStringW, NULL, mine, NULL);
  allocate(1000);
  end();
}

/* The functions that the collector implements. */
static void list(void)
{
#define SAY(module, index, type, name, parameters) \
  if (nvtx##name)                                  \
    puts(#name);
  FUNCTIONS(SAY)
}

static void keep_errno(void)
{
  errno = 4321;
  every();
  odd();
  if (errno != 4321)
    abort();
}

/* A library that the program loads has its own NVTX, which finds the collector, too. */
static void twice(void)
{
  begin("before");
  int (*before)(const char *) = nvtxRangePushA;
  nvtxRangePushA = NULL;
  find_collector();
  if (nvtxRangePushA != before)
    abort();
  begin("after");
  allocate(1);
  end();
  end();
}

static const struct {
  const char *name;
  void (*run)(void);
} cases[] = {{"attribute", attribute},
             {"each push", each_push},
             {"each start", each_start},
             {"nameless", nameless},
             {"levels", levels},
             {"odd", odd},
             {"wrong handles", wrong_handles},
             {"overlap", overlap},
             {"elsewhere", elsewhere},
             {"endless", endless},
             {"threads", threads},
             {"payloads", payloads},
             {"marks", marks},
             {"names", names},
             {"many", many},
             {"die", die},
             {"fork", split},
             {"every", every},
             {"list", list},
             {"errno", keep_errno},
             {"twice", twice}};

int main(int argc, char **argv)
{
  find_collector();
  mine = CALL(DomainCreateA, NULL, "mine");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    if (argc > 1 && strcmp(argv[1], cases[i].name) == 0)
      cases[i].run();
  puts("done");
  return 0;
}
