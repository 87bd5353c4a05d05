/* rules_process.c - the process: which library defines the heap, blocks from libc, start, exit, libraries loaded
 * later */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conform/conform.h"

static const char *file_of(const void *address)
{
  Dl_info info;
  return address && dladdr(address, &info) && info.dli_fname ? info.dli_fname : "nowhere";
}

/* glibc's other entry points use these: reallocarray calls realloc, free_sized calls free. */
void hwi_rule_family(void)
{
  static const char *const names[] = {
      "free",   "calloc", "realloc", "posix_memalign", "aligned_alloc", "memalign", "malloc_usable_size",
      "valloc", "pvalloc"};
  const char *home = file_of(dlsym(RTLD_DEFAULT, "malloc"));
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *place = file_of(dlsym(RTLD_DEFAULT, names[i]));
    EXPECT(!strcmp(place, home), "%s comes from %s, malloc from %s: its blocks do not belong to that free", names[i],
           place, home);
  }
}

/* Blocks that must be freed by free according to the manual. */
void hwi_rule_libc_blocks(void)
{
  char *text = strdup("contents"), *printed = NULL, *stream_text = NULL, *line = NULL, *path = realpath("/", NULL);
  size_t bytes = 0, line_bytes = 0;
  hwi_conform_now("with a block that libc allocated");
  EXPECT(text && path && asprintf(&printed, "%d %s", 7, text) == 10, "strdup, realpath or asprintf fails");
  FILE *stream = open_memstream(&stream_text, &bytes);
  EXPECT(stream, "open_memstream fails");
  for (int i = 0; i < 10000; i++)
    fprintf(stream, "%d\n", i);
  fclose(stream);
  EXPECT(bytes == 48890 && !strncmp(stream_text, "0\n1\n", 4), "open_memstream lost bytes");
  stream = fmemopen(stream_text, bytes, "r");
  for (int i = 0; i < 10000; i++)
    EXPECT(stream && getline(&line, &line_bytes, stream) > 0, "getline fails");
  fclose(stream);
  EXPECT(malloc_usable_size(text) >= 9 && (text = realloc(text, 5000)) && !strcmp(text, "contents"),
         "a block of strdup loses its contents");
  free(text), free(printed), free(stream_text), free(line), free(path);
  EXPECT(setenv("HEAPWRIGHT_CONFORM", "a longer value than before", 1) == 0 && unsetenv("HEAPWRIGHT_CONFORM") == 0,
         "setenv fails");
}

/* --- start and end --- */

static char *early;

__attribute__((constructor)) static void allocate_early(void)
{
  early = malloc(1000);
  if (early)
    hwi_pattern_fill(early, 1000, 8);
}

void hwi_rule_before_main(void)
{
  EXPECT(early && hwi_pattern_check(early, 1000, 8) == 1000, "a block of a constructor has other contents in main");
  early = seen(realloc(early, 5000));
  EXPECT(early && hwi_pattern_check(early, 1000, 8) == 1000, "it loses them by realloc");
  free(early);
}

static char *late;

static void allocate_late(void)
{
  EXPECT(hwi_pattern_check(late, 1000, 4) == 1000, "a block has other contents at exit");
  free(late);
  free(seen(calloc(100, 100)));
}

/* Registered twice: handlers of a process run one after the other. */
void hwi_rule_at_exit(void)
{
  late = seen(malloc(1000));
  EXPECT(late, "no memory");
  hwi_pattern_fill(late, 1000, 4);
  hwi_conform_now("in a handler at exit");
  atexit(allocate_late);
}

/* --- libraries --- */

#define USER_LIBRARY "heapwright-conform-user.so"

/* The folder of this program. */
static void user_library(char path[PATH_MAX])
{
  ssize_t bytes = readlink("/proc/self/exe", path, PATH_MAX - sizeof USER_LIBRARY);
  path[bytes > 0 ? bytes : 0] = 0;
  char *slash = strrchr(path, '/');
  if (!slash)
    hwi_conform_untried("/proc/self/exe cannot be read");
  memcpy(slash + 1, USER_LIBRARY, sizeof USER_LIBRARY);
}

void hwi_rule_dlopen_user(void)
{
  char path[PATH_MAX];
  user_library(path);
  hwi_conform_now("in a library that was loaded at run time");
  for (int i = 0; i < 50; i++) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
      hwi_conform_untried("%s cannot be loaded: %s", USER_LIBRARY, dlerror());
    char *(*give)(void);
    void *symbol = dlsym(library, "hwi_conform_give");
    memcpy(&give, &symbol, sizeof give);
    char *block = give();
    EXPECT(block && !strcmp(block, "given"), "a block that the library allocated has other contents");
    free(block);
    EXPECT(dlclose(library) == 0, "it cannot be unloaded");
  }
}

/* --- figures --- */

void hwi_rule_figures(void)
{
  char *text = NULL;
  size_t bytes = 0;
  void *block = seen(malloc(100000));
  FILE *out = open_memstream(&text, &bytes);
  hwi_conform_now("in malloc_info");
  EXPECT(malloc_info(0, out) == 0, "malloc_info(0, file) fails");
  fclose(out);
  EXPECT(strstr(text, "<malloc"), "malloc_info wrote no document");
  free(text);
  hwi_conform_now("in mallinfo, mallopt or malloc_trim");
  (void)seen((void *)(uintptr_t)mallinfo2().uordblks);
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
  malloc_trim(0);
  free(block);
  free(seen(malloc(100)));
}

/* --- other mallocs --- */

void *__libc_malloc(size_t size) __attribute__((weak));

void hwi_rule_foreign(void)
{
  if (!__libc_malloc)
    hwi_conform_untried("libc has no __libc_malloc");
  char *block = seen(__libc_malloc(100));
  EXPECT(block, "__libc_malloc gave NULL");
  hwi_pattern_fill(block, 100, 2);
  hwi_conform_now("with a block of libc's own malloc");
  EXPECT(malloc_usable_size(block) >= 100, "malloc_usable_size of another malloc's block of 100 bytes is %zu",
         malloc_usable_size(block));
  block = seen(realloc(block, 3000));
  EXPECT(block && hwi_pattern_check(block, 100, 2) == 100, "realloc of another malloc's block loses the contents");
  free(block);
  free(seen(__libc_malloc(20)));
}
