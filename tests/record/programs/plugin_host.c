/* plugin_host.c - a C program that loads a C++ library with RTLD_LOCAL, fails in it, and unloads it */
#include <dlfcn.h>
#include <stdio.h>

#include "entries_marks.h"

typedef int count_fn(void);
typedef void *block_fn(void);
typedef void free_fn(void *);

int main(int argc, char **argv)
{
  void *plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  if (!plugin)
    return 1;
  printf("text left by the loader: %s\n", dlerror() ? "yes" : "none");
  printf("caught %d\n", ((count_fn *)dlsym(plugin, "plugin_failures"))());
  printf("handled %d\n", ((count_fn *)dlsym(plugin, "plugin_handled"))());
  void *block;
  MARKED(block = ((block_fn *)dlsym(plugin, "plugin_block"))(); ((free_fn *)dlsym(plugin, "plugin_free"))(block));
  MARKED(dlclose(plugin));
  printf("done\n");
  return 0;
}
