/* host.c - a program that loads a library with ROS 2's callbacks, unloads it, and loads it again
 *
 * host PLUGIN
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
  for (int period = 1; period <= 3 && argc > 1; period++) {
    void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    void (*run)(int) = NULL;
    if (plugin)
      *(void **)&run = dlsym(plugin, "run_plugin");
    if (!run)
      return puts(dlerror()), 1;
    run(period);
    dlclose(plugin);
  }
  return 0;
}
