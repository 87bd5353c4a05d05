/* close_module.c MODULE - a thread uses heap_module.c, which is closed before the thread ends; then a fork. Prints "done". */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_barrier_t barrier;
static int (*use)(void);

static void *body(void *argument)
{
  use();
  pthread_barrier_wait(&barrier);
  pthread_barrier_wait(&barrier);
  return argument;
}

int main(int argc, char **argv)
{
  void *module = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
  if (!module) {
    fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  void (*end)(void);
  *(void **)&use = dlsym(module, "module_use");
  *(void **)&end = dlsym(module, "module_end");
  pthread_t thread;
  pthread_barrier_init(&barrier, NULL, 2);
  pthread_create(&thread, NULL, body, NULL);
  pthread_barrier_wait(&barrier);
  use();
  end();
  if (dlclose(module) != 0 || dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD))
    return 3;
  pthread_barrier_wait(&barrier);
  pthread_join(thread, NULL);
  pid_t child = fork();
  if (!child)
    _exit(0);
  int status;
  if (waitpid(child, &status, 0) != child || status != 0)
    return 4;
  puts("done");
  return 0;
}
