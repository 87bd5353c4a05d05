/* shapes.c - for the tests: a program whose heap has the shape that its argument names; then it waits for its end
 *
 * It prints a line when the heap is ready. All threads wait then, none of them in malloc. If there is a second argument, it
 * first writes a line "ADDRESS USABLE" for each of its blocks to that file, for a program that cannot be preloaded.
 */
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { THREADS = 12, BLOCKS = 5000 };

static void *kept[THREADS + 1][BLOCKS];
static size_t kept_count[THREADS + 1];
static pthread_barrier_t ready;

static uint32_t below(uint64_t *state, uint32_t limit)
{
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*state >> 33) % limit;
}

static void *keep(unsigned thread, void *block)
{
  if (kept_count[thread] < BLOCKS)
    kept[thread][kept_count[thread]++] = block;
  return block;
}

static void *filled(void *block, int byte, size_t bytes)
{
  if (block)
    memset(block, byte, bytes);
  return block;
}

/* Allocates, reallocates, aligns and frees blocks of all sizes in any order. */
static void churn(unsigned thread, unsigned rounds, size_t most)
{
  uint64_t state = thread + 1;
  for (unsigned i = 0; i < rounds; i++) {
    void **one = &kept[thread][below(&state, BLOCKS)];
    const size_t bytes = below(&state, 4) ? below(&state, 300) : below(&state, (uint32_t)most);
    switch (below(&state, 8)) {
    case 0:
      *one = realloc(*one, bytes + 1);
      break;
    case 1:
      free(*one);
      *one = memalign((size_t)32 << below(&state, 10), bytes);
      break;
    case 2:
    case 3:
      free(*one);
      *one = NULL;
      break;
    default:
      free(*one);
      *one = filled(malloc(bytes), 0xa5, bytes);
    }
  }
}

static void *churn_in_thread(void *number)
{
  churn((unsigned)(uintptr_t)number, 15000, 5000);
  pthread_barrier_wait(&ready);
  pause();
  return NULL;
}

static void *churn_and_end(void *number)
{
  churn((unsigned)(uintptr_t)number, 10000, 5000);
  return NULL;
}

/* Each thread frees and changes what others allocated. */
static void *exchange(void *number)
{
  uint64_t state = (uintptr_t)number;
  for (unsigned i = 0; i < 15000; i++) {
    const size_t bytes = below(&state, 50) ? below(&state, 400) : below(&state, 60000);
    void *block = below(&state, 3) ? filled(malloc(bytes), 0x5a, bytes) : NULL;
    free(__atomic_exchange_n(&kept[0][below(&state, BLOCKS / 4)], block, __ATOMIC_ACQ_REL));
  }
  pthread_barrier_wait(&ready);
  pause();
  return NULL;
}

/* More than a sub-heap of 64 MiB can hold. */
static void *fill_sub_heaps(void *number)
{
  for (unsigned i = 0; i < 900; i++)
    filled(keep((unsigned)(uintptr_t)number, malloc(100000)), 1, 100000);
  for (unsigned i = 0; i < 900; i += 3) {
    free(kept[(uintptr_t)number][i]);
    kept[(uintptr_t)number][i] = NULL;
  }
  pthread_barrier_wait(&ready);
  pause();
  return NULL;
}

static void start_all(void *(*run)(void *), unsigned count)
{
  pthread_t thread;
  pthread_barrier_init(&ready, NULL, count + 1);
  for (uintptr_t i = 1; i <= count; i++)
    pthread_create(&thread, NULL, run, (void *)i);
  pthread_barrier_wait(&ready);
}

static void start_and_end_all(void)
{
  pthread_t threads[THREADS];
  for (uintptr_t i = 0; i < THREADS; i++)
    pthread_create(&threads[i], NULL, churn_and_end, (void *)(i + 1));
  for (unsigned i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
}

/* Others take memory from the kernel where malloc does. */
static void make_gaps(void)
{
  for (unsigned i = 0; i < 30; i++) {
    for (unsigned k = 0; k < 40; k++)
      filled(keep(0, malloc(5000 + i)), 2, 5000);
    filled(sbrk(100000 + (intptr_t)i * 24), 0xff, 100000);
  }
  for (unsigned i = 0; i < kept_count[0]; i += 3) {
    free(kept[0][i]);
    kept[0][i] = NULL;
  }
}

/* The break cannot be moved any more: malloc goes on in mappings. */
static void block_break(void)
{
  keep(0, malloc(1000));
  const uintptr_t end = ((uintptr_t)sbrk(0) + 4095) / 4096 * 4096;
  mmap((void *)(end + 40960), 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  churn(0, 20000, 3000);
}

static void use_huge_blocks(void)
{
  for (unsigned i = 0; i < 40; i++) {
    filled(keep(0, malloc(130000 + i * 50000)), 3, 100000);
    keep(0, memalign((size_t)4096 << i % 6, 140000 + i * 7000));
    keep(0, calloc(1, 200000 + i));
  }
  for (unsigned i = 0; i < kept_count[0]; i += 4)
    kept[0][i] = realloc(kept[0][i], 1000000 + i * 10000);
  keep(0, malloc((size_t)300 << 20));
}

static void use_settings(void)
{
  mallopt(M_MMAP_THRESHOLD, 5000);
  mallopt(M_ARENA_MAX, 2);
  mallopt(M_MMAP_MAX, 1000);
  churn(0, 3000, 20000);
  start_all(churn_in_thread, 5);
}

static void write_kept(const char *path)
{
  char line[64];
  const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  for (unsigned i = 0; i <= THREADS; i++)
    for (unsigned k = 0; k < BLOCKS; k++)
      if (kept[i][k])
        (void)!write(fd, line,
                     (size_t)snprintf(line, sizeof line, "%p %zu\n", kept[i][k], malloc_usable_size(kept[i][k])));
  close(fd);
}

int main(int count, char **words)
{
  const char *shape = count > 1 ? words[1] : "one";
  if (strcmp(shape, "one") == 0)
    churn(0, 30000, 20000);
  else if (strcmp(shape, "few") == 0)
    keep(0, malloc(100));
  else if (strcmp(shape, "threads") == 0)
    start_all(churn_in_thread, THREADS);
  else if (strcmp(shape, "exchange") == 0)
    start_all(exchange, THREADS);
  else if (strcmp(shape, "ended") == 0)
    start_and_end_all();
  else if (strcmp(shape, "sub-heaps") == 0)
    start_all(fill_sub_heaps, 2);
  else if (strcmp(shape, "gaps") == 0)
    make_gaps();
  else if (strcmp(shape, "blocked") == 0)
    block_break();
  else if (strcmp(shape, "huge") == 0)
    use_huge_blocks();
  else if (strcmp(shape, "settings") == 0)
    use_settings();
  else
    return 2;
  if (count > 2)
    write_kept(words[2]);
  (void)!write(1, "ready\n", 6);
  for (;;)
    pause();
}
