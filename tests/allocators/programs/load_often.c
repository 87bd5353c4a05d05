/* load_often.c MODULE... - loads modules as heap_module.c, uses them, and closes them, again and again. Prints "done" if nothing is left of them */
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

static bool use(void *module)
{
  int (*use)(void);
  void (*end)(void);
  *(void **)&use = dlsym(module, "module_use");
  *(void **)&end = dlsym(module, "module_end");
  bool has_memory = use() == 0;
  if (end)
    end();
  return has_memory;
}

/* The module that is loaded last is closed first. */
static bool load_and_use(char **paths)
{
  void *module = *paths ? dlopen(*paths, RTLD_NOW) : NULL;
  if (!module)
    return !*paths;
  return load_and_use(paths + 1) && use(module) && dlclose(module) == 0;
}

int main(int argc, char **argv)
{
  enum { TIMES = 60 };
  int before = 0;
  for (int i = 0; i < TIMES; i++) {
    if (argc < 2 || !load_and_use(argv + 1)) {
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
