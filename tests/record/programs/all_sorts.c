/* all_sorts.c - does everything that makes the recorder look something up or start again: threads, names, forks,
 * libraries, signals, limits */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static sigjmp_buf jump;

static void handle(int number)
{
  (void)number;
  siglongjmp(jump, 1);
}

static void *work(void *argument)
{
  char name[16];
  snprintf(name, sizeof name, "worker %d", (int)(size_t)argument);
  pthread_setname_np(pthread_self(), name);
  prctl(PR_SET_NAME, name);
  for (int i = 1; i < 200; i++)
    free(realloc(malloc((size_t)i), (size_t)i * 3));
  return malloc(100);
}

static void make_threads(void)
{
  pthread_t threads[40];
  for (size_t i = 0; i < 40; i++)
    pthread_create(&threads[i], NULL, work, (void *)i);
  for (size_t i = 0; i < 40; i++) {
    void *block;
    pthread_join(threads[i], &block);
    free(block);
  }
}

static void make_children(void)
{
  for (int i = 0; i < 5; i++) {
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
      free(malloc(1000));
      if (i == 4)
        execl("/bin/true", "true", NULL);
      exit(0);
    }
    waitpid(child, NULL, 0);
  }
}

static void load_libraries(void)
{
  for (int i = 0; i < 5; i++) {
    void *library = dlopen("libz.so.1", RTLD_NOW);
    if (dlsym(RTLD_DEFAULT, "no such name"))
      abort();
    if (library)
      dlclose(library);
  }
  printf("left by the loader: %s\n", dlerror() ? "a text" : "nothing");
}

int main(void)
{
  pthread_key_t key;
  for (int i = 0; i < 40; i++)
    pthread_key_create(&key, free);
  pthread_setspecific(key, malloc(10));
  make_threads();
  make_children();
  load_libraries();
  signal(SIGUSR1, handle);
  for (int i = 0; i < 100; i++)
    if (!sigsetjmp(jump, 1))
      raise(SIGUSR1);
  free(malloc((size_t)-1 / 4));
  void *aligned;
  if (posix_memalign(&aligned, 4096, 100) == 0)
    free(aligned);
  free(strdup("done"));
  puts("done");
  return 0;
}
