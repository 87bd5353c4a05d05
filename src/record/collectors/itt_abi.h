/* itt_abi.h - the binary interface between ITT's static part, which is linked into a program, and a collector
 *
 * Source: the facts of Intel's published interface (ITT API 3, ittnotify_config.h), for Linux. Only what the
 * collector uses is named.
 */
#ifndef HWI_RECORD_COLLECTORS_ITT_ABI_H
#define HWI_RECORD_COLLECTORS_ITT_ABI_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* An entry of the list of functions that the program may call. A name of NULL ends the list. */
struct hwi_itt_function {
  const char *name;
  void **called; /* what the program calls */
  void *first;   /* calls that come before the collector */
  void *without; /* calls without a collector; NULL: none */
  unsigned int group;
};

enum { HWI_ITT_MAGIC_BYTES = 8 };
#define HWI_ITT_MAGIC "\xed\xab\xab\xec\x0d\xee\xda\x30"

struct hwi_itt_domain;
struct hwi_itt_early_counter;

/* The first parts of the static part's descriptor; those that follow differ between versions. */
struct hwi_itt_program {
  unsigned char magic[HWI_ITT_MAGIC_BYTES];
  unsigned long major, minor, build;
  long is_initialized, has_mutex, counter;
  pthread_mutex_t mutex;
  void *library, *error_handler;
  const char **library_path;
  struct hwi_itt_function *functions;
  void *next, *threads;
  /* What the program made before it had a collector. */
  struct hwi_itt_domain *domains;
  void *strings;
  int state;
  struct hwi_itt_early_counter *counters; /* not in every version */
};
#ifdef __x86_64__ /* elsewhere, words or mutexes have other sizes */
_Static_assert(offsetof(struct hwi_itt_program, library) == 96, "the interface's layout");
_Static_assert(offsetof(struct hwi_itt_program, functions) == 120, "the interface's layout");
_Static_assert(offsetof(struct hwi_itt_program, domains) == 144, "the interface's layout");
_Static_assert(offsetof(struct hwi_itt_program, counters) == 168, "the interface's layout");
#endif

/* Programs read the flags of a domain before each call, and call nothing if they are 0. They may set them. */
struct hwi_itt_domain {
  _Atomic int flags;
  _Atomic(const char *) name;
  void *wide_name;
  _Atomic int number; /* of the collector; 0: not known yet */
  void *collector_data;
  struct hwi_itt_domain *next;
};

struct hwi_itt_string {
  _Atomic(const char *) text;
  void *wide_text;
  _Atomic int number; /* as above */
  void *collector_data;
  struct hwi_itt_string *next;
};

struct hwi_itt_counter;

/* What the static part returns as a counter. */
struct hwi_itt_early_counter {
  const char *name;
  void *wide_name;
  const char *domain;
  void *wide_domain;
  int type;
  long index;
  int number;
  _Atomic(struct hwi_itt_counter *) counter; /* of the collector; undefined at first */
  struct hwi_itt_early_counter *next;
};
_Static_assert(offsetof(struct hwi_itt_early_counter, counter) == 7 * sizeof(void *), "the interface's layout");

struct hwi_itt_id {
  uint64_t parts[3];
};

struct hwi_itt_clock {
  uint64_t frequency, base;
  void *function, *function_data;
  int number;
  void *collector_data;
  struct hwi_itt_clock *next;
};

#endif
