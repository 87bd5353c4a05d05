/* linked_allocator.c - calls the functions of an allocator that is linked in, and counts by itself what it does
 *
 * Also C++. NAME(x) is the allocator's function x; JEMALLOC, MIMALLOC, TCMALLOC: it has functions of its own. Prints for each size
 * how many blocks were allocated, and how many of them live at the end. No size is one that a library uses.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __cplusplus
#include <new>
#endif

#ifndef NAME
#define NAME(name) name
#endif
#ifdef __cplusplus
extern "C" {
#endif
void *NAME(malloc)(size_t);
void NAME(free)(void *);
void *NAME(calloc)(size_t, size_t);
void *NAME(realloc)(void *, size_t);
int NAME(posix_memalign)(void **, size_t, size_t);
void *NAME(memalign)(size_t, size_t);
#ifdef JEMALLOC
void *JEMALLOC(mallocx)(size_t, int);
void *JEMALLOC(rallocx)(void *, size_t, int);
size_t JEMALLOC(xallocx)(void *, size_t, size_t, int);
void JEMALLOC(dallocx)(void *, int);
void JEMALLOC(sdallocx)(void *, size_t, int);
#endif
#ifdef MIMALLOC
typedef struct heap heap;
void *mi_zalloc(size_t);
void *mi_malloc_small(size_t);
void *mi_mallocn(size_t, size_t);
void *mi_reallocn(void *, size_t, size_t);
void *mi_recalloc(void *, size_t, size_t);
void *mi_malloc_aligned(size_t, size_t);
void *mi_malloc_aligned_at(size_t, size_t, size_t);
char *mi_strdup(const char *);
char *mi_strndup(const char *, size_t);
void *mi_new(size_t);
void *mi_new_n(size_t, size_t);
void mi_free_size(void *, size_t);
heap *mi_heap_new(void);
void mi_heap_delete(heap *);
void *mi_heap_malloc(heap *, size_t);
void *mi_heap_calloc(heap *, size_t, size_t);
void *mi_heap_realloc(heap *, void *, size_t);
void *mi_heap_malloc_aligned(heap *, size_t, size_t);
size_t mi_usable_size(const void *);
#endif
#ifdef TCMALLOC
void *tc_new(size_t);
void *tc_newarray_nothrow(size_t, const void *);
void tc_delete(void *);
void tc_deletearray(void *);
void tc_delete_sized(void *, size_t);
void *tc_malloc_skip_new_handler(size_t);
void tc_free_sized(void *, size_t);
size_t tc_malloc_size(void *);
#endif
#ifndef MIMALLOC
#ifndef TCMALLOC
size_t NAME(malloc_usable_size)(void *);
#endif
#endif
#ifdef __cplusplus
}
#endif

/* --- what was done --- */

enum { SIZES = 64, ROUNDS = 200, THREADS = 4 };
static struct {
  size_t size;
  long calls, live;
} done[SIZES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void note(size_t size, long calls, long live)
{
  pthread_mutex_lock(&lock);
  int i = 0;
  while (done[i].calls && done[i].size != size)
    i++;
  done[i].size = size, done[i].calls += calls, done[i].live += live;
  pthread_mutex_unlock(&lock);
}

static void *got(void *block, size_t size)
{
  if (!block)
    abort();
  memset(block, 0xa5, size);
  note(size, 1, 1);
  return block;
}

static void gone(size_t size)
{
  note(size, 0, -1);
}

static void check(int right)
{
  if (!right)
    abort();
}

/* --- the calls --- */

static __attribute__((noinline)) void *inner(size_t size)
{
  void *block = got(NAME(malloc)(size), size);
  __asm__ volatile("");
  return block;
}

static __attribute__((noinline)) void *outer(size_t size)
{
  void *block = inner(size);
  __asm__ volatile("");
  return block;
}

static void drop(void *block, size_t size)
{
  gone(size);
  NAME(free)(block);
}

static void all_of_c(void)
{
  void *block = outer(1013);
#if !defined MIMALLOC && !defined TCMALLOC
  check(NAME(malloc_usable_size)(block) >= 1013);
#endif
  drop(block, 1013);
  block = NAME(calloc)(13, 157);
  for (int i = 0; i < 13 * 157; i++)
    check(((char *)block)[i] == 0);
  got(block, 2041);
  gone(2041);
  block = got(NAME(realloc)(block, 3011), 3011);
  gone(3011);
  block = got(NAME(realloc)(block, 70001), 70001); /* moves, and is large */
  drop(block, 70001);
  drop(got(NAME(realloc)(NULL, 1511), 1511), 1511);
  check(NAME(posix_memalign)(&block, 512, 4099) == 0 && (uintptr_t)block % 512 == 0);
  drop(got(block, 4099), 4099);
  block = NAME(memalign)(256, 4111);
  check((uintptr_t)block % 256 == 0);
  drop(got(block, 4111), 4111);
  NAME(free)(NULL);
#if defined __cplusplus && !defined PREFIXED
  int *one = new int[401];
  got(one, 1604);
  gone(1604);
  delete[] one;
  struct odd {
    char bytes[1709];
  } *two = new odd;
  got(two, 1709);
  gone(1709);
  delete two;
  struct alignas(128) wide {
    char bytes[1792 + 128];
  } *three = new wide;
  check((uintptr_t)three % 128 == 0);
  got(three, 1920);
  gone(1920);
  delete three;
  block = ::operator new(1811, std::nothrow);
  got(block, 1811);
  gone(1811);
  ::operator delete(block, std::nothrow);
#endif
}

static void all_of_its_own(void)
{
  void *block;
#ifdef JEMALLOC
  block = got(JEMALLOC(mallocx)(5003, 7), 5003); /* aligned to 1 << 7 */
  check((uintptr_t)block % 128 == 0);
  gone(5003);
  block = got(JEMALLOC(rallocx)(block, 5501, 0), 5501);
  if (JEMALLOC(xallocx)(block, 5507, 0, 0) >= 5507) {
    gone(5501);
    note(5507, 1, 1);
    gone(5507);
  } else {
    gone(5501);
  }
  JEMALLOC(dallocx)(block, 0);
  block = got(JEMALLOC(mallocx)(5009, 0), 5009);
  gone(5009);
  JEMALLOC(sdallocx)(block, 5009, 0);
#endif
#ifdef MIMALLOC
  drop(got(mi_zalloc(6007), 6007), 6007);
  drop(got(mi_malloc_small(503), 503), 503);
  block = got(mi_mallocn(17, 359), 6103);
  gone(6103);
  block = got(mi_reallocn(block, 19, 331), 6289);
  check(mi_usable_size(block) >= 6289);
  gone(6289);
  block = got(mi_recalloc(block, 21, 307), 6447);
  gone(6447);
  mi_free_size(block, 6447);
  block = mi_malloc_aligned(6607, 1024);
  check((uintptr_t)block % 1024 == 0);
  drop(got(block, 6607), 6607);
  drop(got(mi_malloc_aligned_at(6701, 64, 8), 6701), 6701);
  static char text[6803];
  memset(text, 'x', sizeof text - 1);
  block = mi_strdup(text);
  check(strcmp((char *)block, text) == 0);
  drop(got(block, 6803), 6803);
  drop(got(mi_strndup(text, 6700), 6701), 6701);
  drop(got(mi_new(6907), 6907), 6907);
  drop(got(mi_new_n(23, 301), 6923), 6923);
  heap *own = mi_heap_new();
  drop(got(mi_heap_malloc(own, 7001), 7001), 7001);
  block = got(mi_heap_calloc(own, 29, 243), 7047);
  gone(7047);
  drop(got(mi_heap_realloc(own, block, 17011), 17011), 17011);
  drop(got(mi_heap_malloc_aligned(own, 7109, 32), 7109), 7109);
  mi_heap_delete(own);
#endif
#ifdef TCMALLOC
  block = got(tc_new(6007), 6007);
  check(tc_malloc_size(block) >= 6007);
  gone(6007);
  tc_delete(block);
  block = got(tc_newarray_nothrow(6101, NULL), 6101);
  gone(6101);
  tc_deletearray(block);
  block = got(tc_new(6203), 6203);
  gone(6203);
  tc_delete_sized(block, 6203);
  block = got(tc_malloc_skip_new_handler(6301), 6301);
  gone(6301);
  tc_free_sized(block, 6301);
#endif
  (void)block;
}

static void *work(void *unused)
{
  for (int i = 0; i < ROUNDS; i++) {
    all_of_c();
    all_of_its_own();
  }
  return unused;
}

/* Each block is freed by another thread than the one that allocated it. */
static void *passed[ROUNDS];

static void *give(void *unused)
{
  for (int i = 0; i < ROUNDS; i++)
    passed[i] = outer(8009);
  return unused;
}

static void *take(void *unused)
{
  for (int i = 0; i < ROUNDS; i++)
    drop(passed[i], 8009);
  return unused;
}

static void in_thread(void *(*function)(void *))
{
  pthread_t thread;
  pthread_create(&thread, NULL, function, NULL);
  pthread_join(thread, NULL);
}

static void print(void)
{
  for (int i = 0; i < SIZES && done[i].calls; i++)
    printf("%zu %ld %ld\n", done[i].size, done[i].calls, done[i].live);
  fflush(stdout);
}

int main(int count, char **arguments)
{
  pthread_t threads[THREADS];
  (void)arguments;
  void *inherited = outer(9001);
  for (int i = 0; i < THREADS; i++)
    pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  in_thread(give);
  in_thread(take);
  for (int i = 0; i < 7; i++)
    outer(9011); /* stays */
  if (count > 1) {
    int status;
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      drop(inherited, 9001);
      memset(done, 0, sizeof done);
      work(NULL);
      print();
      _exit(3);
    }
    waitpid(child, &status, 0);
    check(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    printf("parent\n");
  }
  drop(inherited, 9001);
  print();
  return 7;
}
