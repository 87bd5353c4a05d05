/* load_often.c MODULE - loads heap_module.c or the like, uses it, and closes it, again and again. Prints "done" if nothing is left of it */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>

/* Returns how many mappings the process has. */
static int mappings(void)
{
  FILE *file = fopen("/proc/self/maps", "r");
  int lines = 0;
  for (int c; (c = getc(file)) != EOF;)
    lines += c == '\n';
  fclose(file);
  return lines;
}

static bool load_and_use(const char *path)
{
  int (*use)(void);
  void (*end)(void);
  void *module = dlopen(path, RTLD_NOW);
  if (!module)
    return false;
  *(void **)&use = dlsym(module, "module_use");
  *(void **)&end = dlsym(module, "module_end");
  bool has_memory = use() == 0;
  if (end)
    end();
  return has_memory && dlclose(module) == 0;
}

int main(int argc, char **argv)
{
  enum { TIMES = 60 };
  int before = 0;
  for (int i = 0; i < TIMES; i++) {
    if (argc != 2 || !load_and_use(argv[1])) {
      printf("no memory the %dth time\n", i + 1);
      return 1;
    }
    before = i == 0 ? mappings() : before;
  }
  if (mappings() > before)
    return 2;
  puts("done");
  return 0;
}
