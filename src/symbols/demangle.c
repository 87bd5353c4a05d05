/* demangle.c - demangles the symbol names of compilers
 *
 * libiberty demangles; three things are added here. First, a forged name of a hundred letters can expand to gigabytes:
 * when the result is longer than any real name, a callback leaves libiberty by a longjmp, which is safe since libiberty
 * allocates nothing then. Second, libiberty's limit of recursion rejects names of more than about a thousand letters,
 * but template libraries make such names: they are demangled without that limit, on a thread whose stack is sufficient
 * for LONGEST_NAME nested letters. Third, clones of a function get the function's name.
 */
#include "symbols/demangle.h"

#include <libiberty/demangle.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
  LIMITED_NAME = 1000,             /* libiberty's limit of recursion allows twice as many components */
  LONGEST_NAME = 64 * 1024,        /* of mangled names */
  LONGEST_RESULT = 1024 * 1024,    /* of demangled ones */
  STACK_BYTES = 512 * 1024 * 1024, /* address space, 8 KiB per letter: only used pages take memory */
};

struct attempt {
  const char *name;
  char *text; /* malloc'ed, not terminated while it grows; NULL: empty */
  size_t length, capacity;
  bool unlimited, succeeded;
  jmp_buf give_up;
};

static void append(const char *part, size_t bytes, void *context)
{
  struct attempt *attempt = context;
  if (bytes > (size_t)LONGEST_RESULT - attempt->length)
    longjmp(attempt->give_up, 1);
  if (attempt->length + bytes + 1 > attempt->capacity) {
    size_t capacity = (attempt->length + bytes + 1) * 2;
    char *text = realloc(attempt->text, capacity);
    if (!text)
      longjmp(attempt->give_up, 1);
    attempt->text = text;
    attempt->capacity = capacity;
  }
  memcpy(attempt->text + attempt->length, part, bytes);
  attempt->length += bytes;
  attempt->text[attempt->length] = '\0';
}

/* Rust first: its old scheme looks like C++, and the C++ demangler would show the hash. */
static void *try_schemes(void *context)
{
  struct attempt *attempt = context;
  if (setjmp(attempt->give_up))
    return NULL;
  int options = DMGL_PARAMS | DMGL_ANSI | DMGL_RET_DROP | (attempt->unlimited ? DMGL_NO_RECURSE_LIMIT : 0);
  attempt->succeeded = rust_demangle_callback(attempt->name, options, append, attempt) != 0;
  if (!attempt->succeeded) {
    attempt->length = 0;
    attempt->succeeded = cplus_demangle_v3_callback(attempt->name, options, append, attempt) != 0;
  }
  return NULL;
}

static void try_on_large_stack(struct attempt *attempt)
{
  pthread_attr_t attributes;
  pthread_t thread;
  if (pthread_attr_init(&attributes))
    return;
  if (!pthread_attr_setstacksize(&attributes, STACK_BYTES) &&
      !pthread_create(&thread, &attributes, try_schemes, attempt))
    pthread_join(thread, NULL);
  pthread_attr_destroy(&attributes);
}

/* Returns NULL if `name` is not mangled or cannot be demangled. */
static char *from_cxx_or_rust(const char *name)
{
  struct attempt attempt = {.name = name};
  size_t length = strlen(name);
  if (length <= LIMITED_NAME) {
    try_schemes(&attempt);
  } else if (length <= LONGEST_NAME) {
    attempt.unlimited = true;
    try_on_large_stack(&attempt);
  }
  if (attempt.succeeded && attempt.length > 0)
    return attempt.text;
  free(attempt.text);
  return NULL;
}

static bool looks_like_d(const char *name)
{
  return name[0] == '_' && name[1] == 'D' && (strcmp(name, "_Dmain") == 0 || (name[2] >= '0' && name[2] <= '9'));
}

/* Suffixes as in "function.part.0" start with one of these; the rest of the name is dropped, since it does not help the
 * user. */
static bool is_clone_suffix(const char *dot)
{
  static const char *const suffixes[] = {".cold",      ".part.", ".constprop.", ".isra.",
                                         ".lto_priv.", ".llvm.", ".localalias"};
  for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
    if (strncmp(dot, suffixes[i], strlen(suffixes[i])) == 0)
      return true;
  }
  return false;
}

static size_t plain_length(const char *name)
{
  for (size_t i = 1; name[0] && name[i]; i++) {
    if (name[i] == '@' || (name[i] == '.' && is_clone_suffix(name + i)))
      return i;
  }
  return strlen(name);
}

char *hwi_demangle(const char *name)
{
  char *plain = strndup(name, plain_length(name));
  if (!plain)
    return NULL;
  char *shown = NULL;
  if (plain[0] == '_' && (plain[1] == 'Z' || plain[1] == 'R' || plain[1] == '_'))
    shown = from_cxx_or_rust(plain);
  else if (looks_like_d(plain) && strlen(plain) <= LIMITED_NAME)
    shown = dlang_demangle(plain, DMGL_PARAMS);
  if (!shown)
    return plain;
  free(plain);
  return shown;
}
