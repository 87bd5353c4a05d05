/* within.c - starts a live view of itself, and does other things, as the lines on stdin say. C and C++. Each line is answered
 * by one on stdout; that of a call of live.h ends with "errno changed" if the call changed errno */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <heapwright/live.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ERRNO = 77, THREADS = 4 };

static void *kept[1 << 16];
static size_t kept_count;
static volatile sig_atomic_t child_signals;

static void count_signal(int number)
{
  (void)number;
  child_signals = child_signals + 1;
}

static void allocate(long count)
{
  for (; count > 0; count--)
    kept[kept_count++] = malloc(1000);
}

static void *churn(void *unused)
{
  for (;;) {
    void *volatile block = malloc(100);
    free(block);
  }
  return unused;
}

static const char *changed(void)
{
  return errno == ERRNO ? "" : " errno changed";
}

static const char *url(void)
{
  return hw_live_url() ? hw_live_url() : "none";
}

static void start(const char *address, const char *port)
{
  errno = ERRNO;
  const int result = hw_live_start(*address ? address : NULL, (uint16_t)strtol(port, NULL, 10));
  const char *note = changed();
  printf("%d %s%s\n", result, url(), note);
}

static void stop(void)
{
  errno = ERRNO;
  hw_live_stop();
  printf("%s%s\n", url(), changed());
}

/* A process that is a child in any way would be found. */
static void look_for_children(void)
{
  const pid_t found = waitpid(-1, NULL, WNOHANG | __WALL);
  printf("%d %d signals %d\n", (int)found, found < 0 ? errno : 0, (int)child_signals);
}

static void list_descriptors(void)
{
  DIR *folder = opendir("/proc/self/fd");
  for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder))
    if (*entry->d_name != '.' && strtol(entry->d_name, NULL, 10) != dirfd(folder))
      printf("%s ", entry->d_name);
  closedir(folder);
  puts("");
}

/* The child takes over; this process ends with it. */
static void fork_and_wait(void)
{
  const pid_t child = fork();
  if (child == 0) {
    puts(url());
    return;
  }
  waitpid(child, NULL, 0);
  _exit(0);
}

static void start_threads(void)
{
  pthread_t thread;
  for (int i = 0; i < THREADS; i++)
    pthread_create(&thread, NULL, churn, NULL);
  puts("done");
}

static void hold_signals(void)
{
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, NULL);
  signal(SIGUSR1, SIG_IGN);
  signal(SIGINT, SIG_IGN);
  puts("done");
}

static void use_own_heap(void)
{
  static char arena[1000];
  static struct hw_custom_heap heap;
  heap = hw_custom_heap_create("arena");
  hw_custom_heap_alloc(&heap, arena, 600);
  hw_custom_heap_alloc(&heap, arena + 600, 100);
  hw_custom_heap_free(&heap, arena + 600);
  puts("done");
}

int main(void)
{
  static char line[256], out[BUFSIZ];
  char word[32], first[128], second[32];
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = count_signal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGCHLD, &action, NULL);
  setvbuf(stdout, out, _IOLBF, sizeof out);
  setvbuf(stdin, NULL, _IONBF, 0);
  while (fgets(line, sizeof line, stdin)) {
    *first = *second = 0;
    if (sscanf(line, "%31s %127s %31s", word, first, second) < 1)
      continue;
    if (strcmp(word, "start") == 0)
      start(strcmp(first, "-") == 0 ? "" : first, second);
    else if (strcmp(word, "stop") == 0)
      stop();
    else if (strcmp(word, "url") == 0)
      puts(url());
    else if (strcmp(word, "children") == 0)
      look_for_children();
    else if (strcmp(word, "descriptors") == 0)
      list_descriptors();
    else if (strcmp(word, "fork") == 0)
      fork_and_wait();
    else if (strcmp(word, "threads") == 0)
      start_threads();
    else if (strcmp(word, "signals") == 0)
      hold_signals();
    else if (strcmp(word, "heap") == 0)
      use_own_heap();
    else if (strcmp(word, "subreaper") == 0)
      printf("%d\n", prctl(PR_SET_CHILD_SUBREAPER, 1));
    else if (strcmp(word, "no-tsc") == 0)
      printf("%d\n", prctl(PR_SET_TSC, PR_TSC_SIGSEGV));
    else if (strcmp(word, "open") == 0)
      printf("%d\n", open(first, O_RDWR | O_CREAT, 0600));
    else if (strcmp(word, "reset") == 0)
      (hw_live_reset(), puts("done"));
    else
      (allocate(strtol(word, NULL, 10)), puts("done"));
  }
  return 0;
}
