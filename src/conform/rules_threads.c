/* rules_threads.c - threads: many at once, blocks that move between them, threads that start and end */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "conform/conform.h"

enum { THREAD_COUNT = 64, SLOT_COUNT = 256, SIZE_MAX_BYTES = 20000 };

static void start(pthread_t *thread, void *(*work)(void *), void *argument)
{
  int error = pthread_create(thread, NULL, work, argument);
  if (error)
    hwi_conform_untried("a thread cannot be made: %s", strerror(error));
}

/* A block that describes its own contents. */
struct parcel {
  size_t bytes;
  uint32_t seed;
  unsigned char contents[];
};

static struct parcel *pack(uint32_t *state)
{
  size_t bytes = sizeof(struct parcel) + hwi_random_size(state, SIZE_MAX_BYTES);
  struct parcel *parcel = seen(malloc(bytes));
  EXPECT(parcel, "no memory for %zu bytes", bytes);
  parcel->bytes = bytes - sizeof *parcel;
  parcel->seed = hwi_random(state);
  hwi_pattern_fill(parcel->contents, parcel->bytes, parcel->seed);
  return parcel;
}

static void check_parcel(const struct parcel *parcel)
{
  EXPECT(parcel->bytes <= SIZE_MAX_BYTES &&
             hwi_pattern_check(parcel->contents, parcel->bytes, parcel->seed) == parcel->bytes,
         "a live block was overwritten while other threads allocated");
}

static void unpack(struct parcel *parcel)
{
  if (!parcel)
    return;
  check_parcel(parcel);
  free(parcel);
}

/* --- blocks move between threads: any thread may empty and refill a slot --- */

static struct parcel *slots[SLOT_COUNT];

static void *exchange(void *argument)
{
  enum { STEPS = 800 };
  uint32_t state = (uint32_t)(uintptr_t)argument * 7919 + 1;
  for (int i = 0; i < STEPS; i++) {
    struct parcel *mine = pack(&state);
    if (i % 5 == 0) {
      size_t bytes = mine->bytes;
      mine = seen(realloc(mine, sizeof *mine + bytes * 2));
      EXPECT(mine, "no memory to reallocate");
      check_parcel(mine);
    }
    unpack(__atomic_exchange_n(&slots[hwi_random(&state) % SLOT_COUNT], mine, __ATOMIC_ACQ_REL));
  }
  return NULL;
}

void hwi_rule_threads_64(void)
{
  pthread_t threads[THREAD_COUNT];
  hwi_conform_now("with 64 threads");
  for (uintptr_t i = 0; i < THREAD_COUNT; i++)
    start(&threads[i], exchange, (void *)(i + 1));
  for (int i = 0; i < THREAD_COUNT; i++)
    pthread_join(threads[i], NULL);
  for (int i = 0; i < SLOT_COUNT; i++)
    unpack(slots[i]);
}

/* --- threads run as fast as they can and are stopped at any point, so that missing locks show --- */

static bool race_is_over;
static uint32_t stop_count;

/* Each block is marked at both ends while this thread has it. */
static void *race(void *argument)
{
  enum { LIVE = 8, WORDS = 40 };
  uintptr_t mine = (uintptr_t)argument;
  while (!__atomic_load_n(&race_is_over, __ATOMIC_RELAXED)) {
    uintptr_t *live[LIVE];
    for (uintptr_t i = 0; i < LIVE; i++) {
      live[i] = seen(malloc(WORDS * sizeof *live[i]));
      EXPECT(live[i], "no memory");
      live[i][0] = live[i][WORDS - 1] = mine + i;
    }
    for (uintptr_t i = 0; i < LIVE; i++) {
      EXPECT(*(uintptr_t *)seen(live[i]) == mine + i && live[i][WORDS - 1] == mine + i, "two threads have one block");
      free(live[i]);
    }
  }
  return NULL;
}

static const struct timespec stop_time = {.tv_nsec = 100000};

static void stop_here(int signal_number)
{
  int before = errno;
  (void)signal_number;
  __atomic_fetch_add(&stop_count, 1, __ATOMIC_RELAXED);
  nanosleep(&stop_time, NULL);
  errno = before;
}

/* A signal stops one thread after the other at any point while the others go on. So threads meet inside the allocator
 * even on a machine that has one processor for them, or is busy. The rule counts the stops and does not depend on
 * time. */
void hwi_rule_thread_race(void)
{
  enum { THREADS = 4, STOPS = 200 };
  pthread_t threads[THREADS];
  struct sigaction action = {.sa_handler = stop_here, .sa_flags = SA_RESTART};
  sigaction(SIGUSR1, &action, NULL);
  hwi_conform_now("while threads allocate one size as fast as they can");
  for (uintptr_t i = 0; i < THREADS; i++)
    start(&threads[i], race, (void *)((i + 1) * 1000));
  for (uint32_t i = 0; __atomic_load_n(&stop_count, __ATOMIC_RELAXED) < STOPS; i++) {
    pthread_kill(threads[i % THREADS], SIGUSR1);
    nanosleep(&stop_time, NULL);
  }
  __atomic_store_n(&race_is_over, true, __ATOMIC_RELAXED);
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
}

/* --- one thread allocates, the other frees --- */

static void *consume(void *argument)
{
  enum { PARCELS = 40000 };
  (void)argument;
  for (uint32_t i = 0; i < PARCELS; i++) {
    struct parcel *parcel;
    while (!(parcel = __atomic_exchange_n(&slots[i % SLOT_COUNT], NULL, __ATOMIC_ACQUIRE)))
      sched_yield();
    unpack(parcel);
  }
  return NULL;
}

void hwi_rule_cross_thread_free(void)
{
  enum { PARCELS = 40000 };
  pthread_t consumer;
  uint32_t state = 17;
  hwi_conform_now("one thread allocates, the other frees");
  start(&consumer, consume, NULL);
  for (uint32_t i = 0; i < PARCELS; i++) {
    struct parcel *parcel = pack(&state);
    while (__atomic_load_n(&slots[i % SLOT_COUNT], __ATOMIC_ACQUIRE))
      sched_yield();
    __atomic_store_n(&slots[i % SLOT_COUNT], parcel, __ATOMIC_RELEASE);
  }
  pthread_join(consumer, NULL);
}

/* --- threads start and end --- */

static void *leave_one(void *argument)
{
  uint32_t state = (uint32_t)(uintptr_t)argument;
  struct parcel *left = pack(&state);
  unpack(pack(&state));
  return left;
}

void hwi_rule_thread_exit(void)
{
  enum { ROUNDS = 125, AT_ONCE = 8, BLOCKS = ROUNDS * AT_ONCE };
  static void *left[BLOCKS];
  pthread_t threads[AT_ONCE];
  hwi_conform_now("after threads have ended");
  for (size_t round = 0; round < ROUNDS; round++) {
    for (uintptr_t i = 0; i < AT_ONCE; i++)
      start(&threads[i], leave_one, (void *)(round * AT_ONCE + i + 1));
    for (size_t i = 0; i < AT_ONCE; i++)
      pthread_join(threads[i], &left[round * AT_ONCE + i]);
  }
  for (int i = 0; i < BLOCKS; i++)
    unpack(left[i]);
}

static pthread_key_t keys[20];
static int destroyed;

/* In each round of destructors the thread allocates and frees again. */
static void destroy(void *value)
{
  uint32_t state = 5;
  unpack(value);
  int count = __atomic_add_fetch(&destroyed, 1, __ATOMIC_RELAXED);
  if (count % 3)
    pthread_setspecific(keys[count % 20], pack(&state));
}

static void *use_keys(void *argument)
{
  uint32_t state = (uint32_t)(uintptr_t)argument;
  for (int i = 0; i < 20; i++)
    pthread_setspecific(keys[i], pack(&state));
  return NULL;
}

void hwi_rule_thread_destructors(void)
{
  pthread_t threads[8];
  hwi_conform_now("in a destructor of a thread's key");
  for (int i = 0; i < 20; i++)
    pthread_key_create(&keys[i], destroy);
  for (int round = 0; round < 20; round++) {
    for (uintptr_t i = 0; i < 8; i++)
      start(&threads[i], use_keys, (void *)(i + 1));
    for (int i = 0; i < 8; i++)
      pthread_join(threads[i], NULL);
  }
}

static void *use_little_stack(void *argument)
{
  (void)argument;
  for (size_t bytes = 1; bytes < 1 << 20; bytes = bytes * 3 + 1) {
    void *block = seen(malloc(bytes)), *aligned = seen(aligned_alloc(256, bytes));
    block = seen(realloc(block, bytes * 2));
    EXPECT(block && aligned, "no memory for %zu bytes", bytes);
    free(block);
    free(aligned);
  }
  return NULL;
}

void hwi_rule_small_stack(void)
{
  pthread_attr_t attributes;
  pthread_t thread;
  hwi_conform_now("on a thread with the smallest stack");
  pthread_attr_init(&attributes);
  if (pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN) != 0 ||
      pthread_create(&thread, &attributes, use_little_stack, NULL) != 0)
    hwi_conform_untried("a thread with a stack of PTHREAD_STACK_MIN cannot be made");
  pthread_join(thread, NULL);
}
