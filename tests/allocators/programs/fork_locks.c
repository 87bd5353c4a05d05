/* fork_locks.c - forks while other threads are within libc and hold its locks: its first argument says where. Prints
 * "done"
 *
 * If malloc's lock and one of libc's are taken in two orders, this hangs. The children end at once, or use what they
 * inherited.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <locale.h>
#include <netdb.h>
#include <pthread.h>
#include <pwd.h>
#include <semaphore.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

extern char **environ;

enum { THREADS = 4, FORKS = 120, MOST_FORKS = 400, MOST_REGISTERED = 100000 };
static int forks = FORKS; /* or HW_FORKS */

static atomic_bool is_over;

static void fail(const char *what)
{
  printf("wrong: %s\n", what);
  _exit(1);
}

/* --- one turn of a thread, whose number is `number` --- */

typedef void turn_fn(unsigned number);

/* Half of the threads flush all streams. The others get one of their own. */
static FILE *flush_or_open(unsigned number)
{
  if (number % 2) {
    fflush(NULL);
    return NULL;
  }
  FILE *file = fopen("/etc/passwd", "r");
  if (!file)
    fail("fopen");
  return file;
}

static void use_stdio(unsigned number)
{
  char *line = NULL;
  size_t bytes = 0;
  FILE *file = flush_or_open(number);
  if (!file)
    return;
  while (getline(&line, &bytes, file) > 0)
    ;
  fclose(file);
  free(line);
}

static void use_loader(unsigned number)
{
  static const char *const names[] = {"libresolv.so.2", "libm.so.6"};
  void *library = dlopen(names[number % 2], RTLD_NOW);
  free(dlsym(RTLD_DEFAULT, "there_is_no_such_name")); /* for the text of the error, which belongs to the loader */
  if (!library)
    fail("dlopen");
  dlclose(library);
}

static void at_end(int status, void *argument)
{
  (void)status, (void)argument;
}

static void register_for_end(unsigned number)
{
  static atomic_int registered;
  if (registered++ < MOST_REGISTERED)
    on_exit(at_end, (void *)(uintptr_t)number);
  else
    free(malloc(100));
}

static void use_locales(unsigned number)
{
  setlocale(LC_ALL, number % 2 ? "C" : "C.UTF-8");
  locale_t locale = newlocale(LC_ALL_MASK, "C.UTF-8", NULL);
  if (locale)
    freelocale(locale);
}

static __thread char large[1 << 16];

static void *touch(void *argument)
{
  large[sizeof large / 2] = 1;
  return malloc(10) == argument ? argument : NULL;
}

static void make_threads(unsigned number)
{
  pthread_t thread;
  pthread_key_t key;
  (void)number;
  if (pthread_create(&thread, NULL, touch, NULL))
    fail("pthread_create");
  pthread_join(thread, NULL);
  if (!pthread_key_create(&key, free)) {
    pthread_setspecific(key, NULL);
    pthread_key_delete(key);
  }
}

static void use_environment(unsigned number)
{
  char name[32], value[64];
  snprintf(name, sizeof name, "FORK_LOCKS_%u", number);
  snprintf(value, sizeof value, "%d", rand() % 20);
  setenv(name, value, 1);
  unsetenv(name); /* but no getenv: it may read the list that another thread's setenv has freed */
}

static void use_syslog(unsigned number)
{
  openlog("fork_locks", LOG_PID | LOG_NDELAY, LOG_USER);
  setlogmask(LOG_MASK(LOG_EMERG)); /* they are not logged */
  syslog(LOG_DEBUG, "%u", number);
  closelog();
}

static void use_names(unsigned number)
{
  if (number % 2)
    getpwnam("root");
  else if (number)
    getservbyname("http", "tcp");
  else
    freeaddrinfo(({
      struct addrinfo *found = NULL;
      getaddrinfo("localhost", NULL, NULL, &found) ? NULL : found;
    }));
}

static void use_malloc(unsigned number)
{
  enum { BLOCKS = 64 };
  void *blocks[BLOCKS];
  for (unsigned i = 0; i < BLOCKS; i++)
    blocks[i] = realloc(malloc(i * 40 + number), i * 60);
  for (unsigned i = 0; i < BLOCKS; i++)
    free(blocks[i]);
}

enum { FAILURES = 20, LIMIT = 1 << 30 };

/* The allocator does what it can before a request fails, while its thread has a stream's lock, for which another one waits that has the
 * lock of libc's list of streams. */
static void ask_for_too_much(unsigned number)
{
  static volatile size_t bytes = LIMIT;
  FILE *file = flush_or_open(number);
  if (!file)
    return;
  flockfile(file);
  for (int i = 0; i < FAILURES; i++)
    free(malloc(bytes));
  funlockfile(file);
  fclose(file);
}

static void start_programs(unsigned number)
{
  char *const words[] = {"/bin/true", NULL};
  char text[8];
  pid_t child;
  if (number % 2) {
    FILE *pipe = popen("echo 1", "r");
    if (!pipe || !fgets(text, sizeof text, pipe))
      fail("popen");
    pclose(pipe);
  } else if (posix_spawn(&child, *words, NULL, NULL, words, environ) || waitpid(child, NULL, 0) != child) {
    fail("posix_spawn");
  }
}

static void fork_too(unsigned number)
{
  pid_t child = number ? fork() : -1;
  if (!child)
    _exit(0);
  if (child > 0)
    waitpid(child, NULL, 0);
  else
    free(malloc(100));
}

/* --- during a fork: a handler that libc runs after malloc's own waits for a thread that allocates --- */

static sem_t wanted, served;
static bool is_waiting; /* the handlers are to wait */

static void wait_for_the_other(void)
{
  if (!is_waiting)
    return;
  sem_post(&wanted);
  sem_wait(&served);
}

/* Before malloc is used for the first time, and before any constructor. */
static void register_first(int argc, char **argv, char **variables)
{
  (void)argc, (void)variables;
  if (argv[1] && !strcmp(argv[1], "under-way"))
    pthread_atfork(wait_for_the_other, NULL, NULL);
}

__attribute__((section(".preinit_array"), used)) static void (*const first)(int, char **, char **) = register_first;

static void nothing(void)
{}

/* libc's list of the first handlers grows, by malloc and under libc's lock. */
static void *serve(void *argument)
{
  enum { BYTES = 100, MORE = 100000, HANDLERS_EACH_TIME = 20 };
  static char *kept[MOST_FORKS];
  for (int i = 0;; i++) {
    sem_wait(&wanted);
    if (is_over)
      return argument;
    char *before = kept[i],
         *block = realloc(malloc(BYTES), MORE); /* of this fork; freed in the next one, and after it */
    memset(block, i, MORE);
    if (before)
      free(before);
    kept[i + 1] = memset(malloc(BYTES), i, BYTES);
    free(realloc(block, BYTES));
    for (int k = 0; i < HANDLERS_EACH_TIME && k < HANDLERS_EACH_TIME; k++)
      pthread_atfork(NULL, NULL, nothing);
    sem_post(&served);
  }
}

/* --- */

static const struct {
  const char *name;
  turn_fn *turn;
} places[] = {{"stdio", use_stdio},    {"loader", use_loader},    {"exit", register_for_end},
              {"locale", use_locales}, {"threads", make_threads}, {"environment", use_environment},
              {"syslog", use_syslog},  {"names", use_names},      {"programs", start_programs},
              {"malloc", use_malloc},  {"fork", fork_too},        {"no-memory", ask_for_too_much}};

static turn_fn *turn;

static void *take_turns(void *number)
{
  while (!is_over)
    turn((unsigned)(uintptr_t)number);
  return NULL;
}

static void fork_once(void)
{
  int status;
  pid_t child = fork();
  if (!child) {
    use_malloc(1);
    _exit(0);
  }
  if (child < 0 || waitpid(child, &status, 0) != child || status)
    fail("a child did not come through");
}

static void fork_often(void)
{
  for (int i = 0; i < forks; i++)
    fork_once();
}

static void fork_under_way(void)
{
  enum { TIMES = 100 };
  pthread_t thread;
  sem_init(&wanted, 0, 0);
  sem_init(&served, 0, 0);
  pthread_create(&thread, NULL, serve, NULL);
  is_waiting = true;
  for (int i = 0; i < TIMES; i++)
    fork_once();
  is_over = true;
  sem_post(&wanted);
  pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
  const char *text = getenv("HW_FORKS");
  if (text && atoi(text) > 0 && atoi(text) <= MOST_FORKS)
    forks = atoi(text);
  for (size_t i = 0; i < sizeof places / sizeof *places; i++)
    if (argc > 1 && !strcmp(argv[1], places[i].name))
      turn = places[i].turn;
  if (turn == ask_for_too_much && setrlimit(RLIMIT_AS, &(struct rlimit){LIMIT, LIMIT}) != 0)
    fail("setrlimit");
  pthread_t threads[THREADS];
  for (uintptr_t i = 0; turn && i < THREADS; i++)
    if (pthread_create(&threads[i], NULL, take_turns, (void *)i))
      fail("pthread_create");
  if (turn)
    fork_often();
  else
    fork_under_way();
  is_over = true;
  for (int i = 0; turn && i < THREADS; i++)
    pthread_join(threads[i], NULL);
  puts("done");
  fflush(stdout);
  _exit(0); /* too many handlers are registered to run them at the end */
}
