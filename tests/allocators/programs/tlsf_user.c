/* tlsf_user.c - a program for the pool of a process: its first argument selects the test. Prints "done" if everything
 * succeeded */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCKS = 1000, THREADS = 8, FORKS = 80 };

static void expect(bool condition, const char *what)
{
  if (!condition) {
    printf("wrong: %s\n", what);
    exit(1);
  }
}

static unsigned any(unsigned *seed)
{
  *seed ^= *seed << 13;
  *seed ^= *seed >> 17;
  return *seed ^= *seed << 5;
}

/* Blocks of all sizes are allocated and freed, each filled with its own pattern. */
static void churn(unsigned seed, int steps)
{
  static __thread struct {
    unsigned char *at;
    unsigned bytes;
  } blocks[BLOCKS];
  while (steps--) {
    unsigned which = any(&seed) % BLOCKS, bytes = any(&seed) % (1u << any(&seed) % 14);
    for (unsigned i = 0; blocks[which].at && i < blocks[which].bytes; i += 1 + blocks[which].bytes / 16)
      expect(blocks[which].at[i] == (unsigned char)which, "a block was overwritten");
    if (any(&seed) % 4 == 0) {
      unsigned char *moved = realloc(blocks[which].at, bytes + 1);
      expect(moved, "no memory");
      blocks[which].at = moved;
    } else {
      free(blocks[which].at);
      blocks[which].at = any(&seed) % 8 ? malloc(bytes + 1) : aligned_alloc(256, bytes + 1);
      expect(blocks[which].at, "no memory");
    }
    blocks[which].bytes = bytes + 1;
    memset(blocks[which].at, (int)which, bytes + 1);
  }
  for (int i = 0; i < BLOCKS; i++) {
    free(blocks[i].at);
    blocks[i].at = NULL;
  }
}

static void *churn_in_thread(void *argument)
{
  churn((unsigned)(uintptr_t)argument + 1, 30000);
  return NULL;
}

static void run_threads(void)
{
  pthread_t threads[THREADS];
  for (uintptr_t i = 0; i < THREADS; i++)
    expect(!pthread_create(&threads[i], NULL, churn_in_thread, (void *)i), "no thread");
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
}

/* Maps a page right after the pool, so that it cannot grow in place. */
static void build_wall(void)
{
  FILE *maps = fopen("/proc/self/maps", "r");
  char *block = malloc(1), line[512];
  unsigned long start, end;
  while (maps && fgets(line, sizeof line, maps))
    if (sscanf(line, "%lx-%lx", &start, &end) == 2 && (uintptr_t)block - start < end - start)
      expect(mmap((void *)end, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) ==
                 (void *)end,
             "wall");
  fclose(maps);
  free(block);
}

/* Uses up the pool, block by block, then makes one request of `argument` bytes. */
static void exhaust(const char *argument)
{
  struct mallinfo2 info = mallinfo2();
  size_t least = strtoull(argument, NULL, 0);
  void *filled = NULL;
  for (size_t bytes = info.arena; bytes >= 16; bytes = bytes > 4096 ? bytes - 4096 : bytes / 2)
    if (bytes < info.fordblks && bytes < 1 << 20)
      while (mallinfo2().fordblks > bytes + 64 && (filled = malloc(bytes)))
        if (mallinfo2().arena != info.arena)
          return;
  errno = 0;
  void *block = malloc(least);
  fprintf(stderr, "malloc(%zu): %s, errno %d\n", least, block ? "a block" : "NULL", errno);
  if (block)
    memset(block, 1, least);
}

static atomic_bool is_over;

static void *churn_until_over(void *argument)
{
  for (unsigned seed = (unsigned)(uintptr_t)argument + 1; !is_over; seed++)
    churn(seed, 500);
  return NULL;
}

/* Children of a process whose other threads are in malloc at that moment. */
static void fork_with_threads(const char *argument)
{
  int forks = *argument ? (int)strtol(argument, NULL, 10) : FORKS;
  pthread_t threads[THREADS];
  for (uintptr_t i = 0; i < THREADS; i++)
    pthread_create(&threads[i], NULL, churn_until_over, (void *)i);
  for (int i = 0; i < forks; i++) {
    int status = 0;
    pid_t child = fork();
    if (!child) {
      alarm(20);
      churn(7, 200);
      _exit(0);
    }
    expect(waitpid(child, &status, 0) == child && status == 0, "a child did not come through");
  }
  is_over = true;
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
}

static long fault_count(void)
{
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

/* Between two marks for strace there must be no system call, and no page fault except those that the kernel causes when
 * it moves pages: neither if nothing was allocated before, nor while blocks are allocated and freed. */
static void be_steady(void)
{
  enum { LARGE = 20 << 20, WINDOWS = 5, FEW = 50 };
  long least = LONG_MAX;
  churn(3, 20000);
  long before = fault_count();
  char *volatile large = malloc(LARGE);
  memset(large, 1, LARGE);
  printf("faults in fresh memory: %s\n", fault_count() - before <= FEW ? "few" : "many");
  free(large);
  expect(write(-1, "begin", 5) < 0, "the mark");
  churn(3, 50000);
  expect(write(-1, "end", 3) < 0, "the mark");
  for (int i = 0; i < WINDOWS; i++) {
    before = fault_count();
    churn(3, 50000);
    long faults = fault_count() - before;
    least = faults < least ? faults : least;
  }
  printf("faults in a window: %ld\n", least);
}

static long resident_bytes(void)
{
  long all, resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  expect(file && fscanf(file, "%ld %ld", &all, &resident) == 2, "statm");
  fclose(file);
  return resident * 4096;
}

static void expect_zero(const unsigned char *block, size_t bytes)
{
  expect(block && !block[0] && !memcmp(block, block + 1, bytes - 1), "calloc gave what is not zero");
}

/* Large blocks for which the pool has to grow, of which little is used: is more of them present? Some reach from the
 * start of the pool into its new part. Then calloc of memory that was written and freed, on both sides and at odd
 * places. */
static void use_little(void)
{
  enum { LARGE = 200 << 20, ODD = 12345, LITTLE = 50 << 20, TIMES = 20 };
  long before = resident_bytes();
  unsigned char *large = calloc(1, LARGE), *another = malloc(LARGE);
  large[LARGE / 2] = another[LARGE / 2] = 1;
  printf("present of what is not used: %s\n", resident_bytes() - before <= LITTLE ? "little" : "much");
  free(another);
  free(large);
  for (size_t i = 1; i <= TIMES; i++) {
    size_t bytes = i * i * 200003 + i;
    unsigned char *front = malloc(i * ODD), *written = malloc(bytes), *behind = malloc(ODD);
    memset(front, 1, i * ODD);
    memset(written, 2, bytes);
    memset(behind, 3, ODD);
    free(written);
    unsigned char *zeroed = calloc(1, bytes);
    expect_zero(zeroed, bytes);
    for (size_t k = 0; k < i * ODD; k++)
      expect(front[k] == 1 && behind[k % ODD] == 3, "calloc wrote beside its block");
    free(front);
    free(zeroed);
    free(behind);
  }
}

void *__libc_malloc(size_t bytes);

static void do_wrong(const char *what)
{
  static _Alignas(16) char no_block[4096];
  char *volatile block = malloc(40);
  char *volatile next = malloc(40);
  if (!strcmp(what, "double-free")) {
    free(block);
    free(block);
  } else if (!strcmp(what, "interior")) {
    memset(block, 0, 40);
    free(block + 16);
  } else if (!strcmp(what, "overrun")) {
    block[malloc_usable_size(block)] ^= 'x'; /* a byte that keeps its value is not damaged */
    free(block);
  } else if (!strcmp(what, "realloc")) {
    free(block);
    expect(realloc(block, 100) == NULL, "a freed block was reallocated");
  } else if (!strcmp(what, "wild-free")) {
    free(no_block + sizeof no_block / 2);
  } else if (!strcmp(what, "wild-realloc")) {
    block = realloc(no_block + sizeof no_block / 2, 100);
  } else if (!strcmp(what, "foreign")) {
    free(__libc_malloc(40));
  }
  free(next);
}

static void allocate_in_handler(int number)
{
  (void)number;
  free(malloc(10));
}

/* A handler that breaks malloc's rules, until it runs at the moment at which its thread holds the lock. */
static void interrupt_malloc(void)
{
  pthread_t thread;
  pthread_create(&thread, NULL, churn_until_over, NULL);
  signal(SIGALRM, allocate_in_handler);
  for (;;) {
    pthread_kill(thread, SIGALRM);
    usleep(20);
  }
}

int main(int argc, char **argv)
{
  const char *what = argc > 1 ? argv[1] : "", *argument = argc > 2 ? argv[2] : "";
  if (!strcmp(what, "churn"))
    churn(1, 200000);
  else if (!strcmp(what, "threads"))
    run_threads();
  else if (!strcmp(what, "exhaust"))
    exhaust(argument);
  else if (!strcmp(what, "exhaust-apart")) {
    build_wall();
    exhaust(argument);
    churn(1, 50000); /* in both regions */
  } else if (!strcmp(what, "fork"))
    fork_with_threads(argument);
  else if (!strcmp(what, "steady"))
    be_steady();
  else if (!strcmp(what, "steady-threads")) {
    run_threads();
    be_steady();
  } else if (!strcmp(what, "little"))
    use_little();
  else if (!strcmp(what, "wrong"))
    do_wrong(argument);
  else if (!strcmp(what, "interrupt"))
    interrupt_malloc();
  else
    return 2;
  printf("done\n");
  return 0;
}
