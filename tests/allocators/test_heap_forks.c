/* test_heap_forks.c - forks at moments that a program cannot choose: while another one is beginning, while a thread takes back
 * blocks, and while there is one thread
 *
 * Breaks if the child of such a fork never takes the lock again, follows links between pages in a circle, loses the memory of
 * ended threads, or takes blocks for used that others have freed.
 */
#include "new_heap.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "allocators/heap/process_owner.h"
#include "allocators/lock.h"

enum { BLOCK_BYTES = 4096, OF_PAGE = 65536 / BLOCK_BYTES, PAGES = 6, BLOCKS = PAGES * OF_PAGE, PATIENCE_S = 60 };

static void expect_child(pid_t child)
{
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

static void run_thread(void *(*body)(void *), void *argument)
{
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, body, argument), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
}

/* --- while another thread closes the locks --- */

static struct hwi_lock outer, inner;

static struct hwi_lock *next_lock(const struct hwi_lock *lock)
{
  return lock == &outer ? &inner : NULL;
}

static const struct hwi_lock_set locks = {&outer, &inner, next_lock};

static void *close_locks(void *argument)
{
  hwi_lock_before_fork(&locks, false);
  if (hwi_lock_after_fork(&locks, false))
    hwi_lock_give(&outer);
  return argument;
}

/* As a handler that has interrupted malloc: its thread has the inner lock, for which the closing thread waits. To be run before
 * the process has a heap, whose own handlers would close and open the locks, too. */
static void a_child_is_not_left_closed(void **state)
{
  (void)state;
  pthread_t closing;
  hwi_lock_take_always(&inner);
  assert_int_equal(pthread_create(&closing, NULL, close_locks, NULL), 0);
  while (!hwi_lock_is_closed())
    sched_yield();
  assert_false(hwi_lock_before_fork(&locks, true));
  pid_t child = fork();
  if (!child) {
    hwi_lock_after_fork(&locks, true);
    _exit(hwi_lock_is_closed() || !hwi_lock_is_mine(&inner));
  }
  hwi_lock_after_fork(&locks, false);
  assert_true(hwi_lock_is_closed());
  hwi_lock_give(&inner);
  assert_int_equal(pthread_join(closing, NULL), 0);
  assert_false(hwi_lock_is_closed());
  expect_child(child);
}

/* --- locks of a fork --- */

static struct hwi_lock outermost, second, third, last;
static bool had_others_with_last; /* when the next lock was asked for */

static struct hwi_lock *next_of_four(const struct hwi_lock *lock)
{
  had_others_with_last |= hwi_lock_is_mine(&last);
  return lock == &outermost ? &second : lock == &second ? &third : lock == &third ? &last : NULL;
}

static const struct hwi_lock_set four = {&outermost, &last, next_of_four};

static void expect_mine(bool has_first, bool has_second, bool has_third, bool has_last)
{
  assert_int_equal(hwi_lock_is_mine(&outermost), has_first);
  assert_int_equal(hwi_lock_is_mine(&second), has_second);
  assert_int_equal(hwi_lock_is_mine(&third), has_third);
  assert_int_equal(hwi_lock_is_mine(&last), has_last);
}

static void *take_and_give(void *lock)
{
  hwi_lock_take_always(lock);
  hwi_lock_give(lock);
  return lock;
}

/* The last lock is taken last and given first. A fork within another one takes nothing, and gives nothing of the other one's. */
static void locks_of_forks_in_one_another(void **state)
{
  (void)state;
  assert_true(hwi_lock_before_fork(&four, false));
  expect_mine(true, true, true, true);
  assert_false(hwi_lock_before_fork(&four, false));
  assert_false(hwi_lock_after_fork(&four, false));
  expect_mine(true, true, true, true);
  assert_true(hwi_lock_is_closed());
  had_others_with_last = false;
  assert_true(hwi_lock_after_fork(&four, false));
  assert_false(had_others_with_last);
  expect_mine(true, false, false, false);
  assert_false(hwi_lock_is_closed());
  hwi_lock_give(&outermost);

  hwi_lock_take_always(&second);
  assert_false(hwi_lock_before_fork(&four, true));
  expect_mine(true, true, true, true);
  assert_false(hwi_lock_before_fork(&four, true));
  assert_false(hwi_lock_after_fork(&four, false));
  expect_mine(true, true, true, true);
  assert_false(hwi_lock_after_fork(&four, false));
  expect_mine(false, true, false, false);
  hwi_lock_give(&second);
  run_thread(take_and_give, &outermost);
  run_thread(take_and_give, &third);
  run_thread(take_and_give, &last);
}

static void *close_four(void *argument)
{
  if (hwi_lock_before_fork(&four, false) && hwi_lock_after_fork(&four, false))
    hwi_lock_give(&outermost);
  return argument;
}

/* It has the first lock, and waits for the one that the handler's thread has: it gives all locks back, and tries again. On a busy machine,
 * it may have no processor for longer than the handler waits. */
static void a_handler_forks_before_a_thread_that_waits_for_it(void **state)
{
  (void)state;
  enum { MOST_TRIES = 100 };
  pthread_t closing;
  hwi_lock_take_always(&second);
  assert_int_equal(pthread_create(&closing, NULL, close_four, NULL), 0);
  while (!hwi_lock_is_closed())
    sched_yield();
  bool has_all = false;
  for (int tries = 0; tries < MOST_TRIES && !has_all; tries++) {
    assert_false(hwi_lock_before_fork(&four, true));
    has_all = hwi_lock_is_mine(&outermost) && hwi_lock_is_mine(&third) && hwi_lock_is_mine(&last);
    assert_false(hwi_lock_after_fork(&four, false));
    expect_mine(false, true, false, false);
  }
  assert_true(has_all);
  hwi_lock_give(&second);
  assert_int_equal(pthread_join(closing, NULL), 0);
  assert_false(hwi_lock_is_closed());
}

static void *hold_outermost(void *barrier)
{
  hwi_lock_take_always(&outermost);
  pthread_barrier_wait(barrier);
  pthread_barrier_wait(barrier);
  hwi_lock_give(&outermost);
  return barrier;
}

/* Another thread has the first lock for long: only the last one is taken. */
static void a_fork_does_not_wait_for_ever(void **state)
{
  (void)state;
  pthread_t thread;
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, NULL, 2);
  assert_int_equal(pthread_create(&thread, NULL, hold_outermost, &barrier), 0);
  pthread_barrier_wait(&barrier);
  hwi_lock_take_always(&second);
  assert_false(hwi_lock_before_fork(&four, true));
  expect_mine(false, true, false, true);
  assert_false(hwi_lock_after_fork(&four, false));
  expect_mine(false, true, false, false);
  hwi_lock_give(&second);
  pthread_barrier_wait(&barrier);
  assert_int_equal(pthread_join(thread, NULL), 0);
  pthread_barrier_destroy(&barrier);
}

/* --- in handlers that have interrupted threads which wait for a lock --- */

enum { WAITING_THREADS = 2 };

static int tids[WAITING_THREADS];
static pthread_barrier_t in_handlers;

static void close_in_handler(int number)
{
  (void)number;
  pthread_barrier_wait(&in_handlers);
  close_locks(NULL);
}

static void *wait_for_inner(void *tid)
{
  __atomic_store_n((int *)tid, gettid(), __ATOMIC_RELAXED);
  hwi_lock_leave(&inner, hwi_lock_enter(&inner));
  return tid;
}

static bool is_asleep(int tid)
{
  char path[64], state = 0;
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
  FILE *file = fopen(path, "r");
  bool is_read = file && fscanf(file, "%*d (%*[^)]) %c", &state) == 1;
  if (file)
    fclose(file);
  return is_read && state == 'S';
}

static void await_sleep(const int *tid)
{
  while (!__atomic_load_n(tid, __ATOMIC_RELAXED) || !is_asleep(*tid))
    usleep(1000);
}

/* Each of them would let the other one have its lock first. */
static void handlers_fork_while_their_threads_wait(void **state)
{
  (void)state;
#ifdef HW_SANITIZED_THREAD
  skip(); /* it runs handlers later */
#endif
  pthread_t threads[WAITING_THREADS];
  struct sigaction action = {.sa_handler = close_in_handler}, before;
  sigaction(SIGUSR1, &action, &before);
  pthread_barrier_init(&in_handlers, NULL, WAITING_THREADS + 1);
  hwi_lock_take_always(&inner);
  alarm(PATIENCE_S);
  for (int i = 0; i < WAITING_THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, wait_for_inner, &tids[i]), 0);
  for (int i = 0; i < WAITING_THREADS; i++) {
    await_sleep(&tids[i]);
    pthread_kill(threads[i], SIGUSR1);
  }
  pthread_barrier_wait(&in_handlers);
  hwi_lock_give(&inner);
  for (int i = 0; i < WAITING_THREADS; i++)
    assert_int_equal(pthread_join(threads[i], NULL), 0);
  alarm(0);
  assert_false(hwi_lock_is_closed());
  close_locks(NULL); /* no thread counts as one that waits */
  assert_int_equal(inner.word, 0);
  pthread_barrier_destroy(&in_handlers);
  sigaction(SIGUSR1, &before, NULL);
}

/* --- while a thread takes back what others have freed --- */

static struct hw_heap *heap;
static char *blocks[BLOCKS];
static volatile pid_t forked;
static volatile sig_atomic_t has_forked;

/* Frees a block of each page. */
static void *free_some(void *first)
{
  for (int i = (int)(intptr_t)first; i < BLOCKS; i += OF_PAGE)
    if (hw_heap_free(heap, blocks[i]) != HW_HEAP_OK)
      abort();
  return NULL;
}

/* The thread has read a block that it may not read. */
static void fork_in_handler(int number)
{
  (void)number;
  for (int i = 0; i < BLOCKS; i++)
    mprotect(blocks[i], BLOCK_BYTES, PROT_READ | PROT_WRITE);
  has_forked = true;
  forked = fork();
  if (!forked)
    alarm(PATIENCE_S);
}

/* The first page of the inbox is that of the last block which was freed. */
static void take_back(void)
{
  mprotect(blocks[BLOCKS - OF_PAGE], BLOCK_BYTES, PROT_NONE);
  hw_heap_collect(heap);
}

static bool free_rest(void)
{
  for (int i = 3; i < BLOCKS; i++)
    if (i % OF_PAGE > 2 && hw_heap_free(heap, blocks[i]) != HW_HEAP_OK)
      return false;
  hw_heap_collect(heap);
  return hw_heap_check(heap, NULL) == HW_HEAP_OK && stats_of(heap).used_bytes == 0;
}

/* Other threads of parent and child push the same pages again; nothing may be lost. */
static void a_handler_forks_while_blocks_are_taken_back(void **state)
{
  (void)state;
#ifdef HW_SANITIZED_THREAD
  skip(); /* it does not let a handler fork */
#endif
  heap = new_heap();
  for (int i = 0; i < BLOCKS; i++)
    assert_int_equal((uintptr_t)(blocks[i] = hw_heap_alloc(heap, BLOCK_BYTES)) % BLOCK_BYTES, 0);
  struct sigaction action = {.sa_handler = fork_in_handler}, before;
  sigaction(SIGSEGV, &action, &before);
  run_thread(free_some, (void *)0);
  take_back();
  for (int i = 1; i < 3; i++) {
    run_thread(free_some, (void *)(intptr_t)i);
    hw_heap_collect(heap);
  }
  bool is_right = free_rest();
  if (!forked)
    _exit(!is_right);
  sigaction(SIGSEGV, &before, NULL);
  assert_true(has_forked);
  assert_true(is_right);
  expect_child(forked);
  hw_heap_destroy(heap);
}

/* --- while a thread has the lock of a heap --- */

struct forking {
  struct hw_heap *with_lock, *other;
  pthread_barrier_t *barrier;
  pid_t child;
};

static bool use_in_child(struct hw_heap *of_child)
{
  enum { LARGE_BYTES = 5 << 20 };
  void *small = hw_heap_alloc(of_child, 1), *page = hw_heap_alloc(of_child, BLOCK_BYTES);
  void *large = hw_heap_alloc(of_child, LARGE_BYTES);
  hw_heap_collect(of_child);
  return small && page && large && hw_heap_check(of_child, NULL) == HW_HEAP_OK &&
         hw_heap_free(of_child, large) == HW_HEAP_OK && hw_heap_free(of_child, page) == HW_HEAP_OK &&
         hw_heap_free(of_child, small) == HW_HEAP_OK;
}

static bool use_all_in_child(struct hw_heap *one, struct hw_heap *other)
{
  struct hw_heap *new_one = hw_heap_create(NULL, NULL);
  return new_one && use_in_child(new_one) && use_in_child(one) && use_in_child(other);
}

/* As a handler that has interrupted a call. */
static bool fork_with_lock(void *context, void *block, size_t bytes)
{
  (void)block, (void)bytes;
  struct forking *forking = context;
  pthread_barrier_wait(forking->barrier);
  forking->child = fork();
  if (!forking->child)
    alarm(PATIENCE_S);
  return false;
}

/* The child goes on in the same call. */
static void *fork_in_walk(void *argument)
{
  struct forking *forking = argument;
  hw_heap_walk(forking->with_lock, fork_with_lock, forking);
  if (!forking->child)
    _exit(!use_all_in_child(forking->with_lock, forking->other));
  return argument;
}

static void *fork_as_usual(void *argument)
{
  struct forking *forking = argument;
  pthread_barrier_wait(forking->barrier);
  forking->child = fork();
  if (!forking->child) {
    alarm(PATIENCE_S);
    _exit(!(use_in_child(forking->with_lock) && use_in_child(forking->other)));
  }
  return argument;
}

static struct hw_heap *heap_with_a_block(void)
{
  struct hw_heap *made = new_heap();
  assert_non_null(hw_heap_alloc(made, 1));
  return made;
}

/* `body` is run in as many threads, which have as many heaps. */
static void fork_at_once(int count, void *(*const bodies[])(void *))
{
  enum { MOST = 3 };
  struct forking forkings[MOST];
  struct hw_heap *heaps[MOST];
  pthread_t threads[MOST];
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, NULL, (unsigned)count);
  for (int i = 0; i < count; i++)
    heaps[i] = heap_with_a_block();
  for (int i = 0; i < count; i++) {
    forkings[i] = (struct forking){heaps[i], heaps[(i + 1) % count], &barrier, 0};
    assert_int_equal(pthread_create(&threads[i], NULL, bodies[i], &forkings[i]), 0);
  }
  for (int i = 0; i < count; i++) {
    assert_int_equal(pthread_join(threads[i], NULL), 0);
    expect_child(forkings[i].child);
  }
  for (int i = 0; i < count; i++) {
    assert_true(use_in_child(heaps[i]));
    hw_heap_destroy(heaps[i]);
  }
  pthread_barrier_destroy(&barrier);
}

/* Each waits for locks that another one has, and does not give. */
static void threads_with_locks_fork(void **state)
{
  (void)state;
#ifdef HW_SANITIZED_THREAD
  skip(); /* forks wait for each other in its own handlers */
#endif
  for (int i = 0; i < 3; i++) {
    fork_at_once(1, (void *(*[])(void *)){fork_in_walk});
    fork_at_once(2, (void *(*[])(void *)){fork_in_walk, fork_in_walk});
    fork_at_once(3, (void *(*[])(void *)){fork_in_walk, fork_as_usual, fork_in_walk});
  }
}

static volatile bool is_over;

static void *come_and_go(void *of_all)
{
  enum { OF_ROUND = 100, LARGE_BYTES = 3 << 20 };
  while (!is_over) {
    struct hw_heap *own = hw_heap_create(NULL, NULL);
    void *of_thread[OF_ROUND], *large = own ? hw_heap_alloc(own, LARGE_BYTES) : NULL;
    if (!large)
      abort();
    for (int i = 0; i < OF_ROUND; i++)
      of_thread[i] = hw_heap_alloc(of_all, BLOCK_BYTES);
    for (int i = 0; i < OF_ROUND; i++)
      hw_heap_free(of_all, of_thread[i]);
    hw_heap_collect(of_all);
    hw_heap_free(own, large);
    hw_heap_destroy(own);
  }
  return of_all;
}

enum { WORKERS = 3 };

static void begin_work(pthread_t threads[WORKERS], struct hw_heap *of_all)
{
  is_over = false;
  for (int i = 0; i < WORKERS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, of_all), 0);
}

static void end_work(pthread_t threads[WORKERS])
{
  is_over = true;
  for (int i = 0; i < WORKERS; i++)
    assert_int_equal(pthread_join(threads[i], NULL), 0);
}

/* The other heaps, and the list of heaps, are as right in the child as after any fork. */
static void a_thread_with_a_lock_forks_while_others_work(void **state)
{
  (void)state;
#ifdef HW_SANITIZED_THREAD
  skip(); /* lists are followed while they change, link by link */
#endif
  enum { FORKS = 60 };
  pthread_t threads[WORKERS];
  pthread_barrier_t barrier;
  struct hw_heap *of_all = heap_with_a_block();
  struct forking forking = {heap_with_a_block(), of_all, &barrier, 0};
  pthread_barrier_init(&barrier, NULL, 1);
  begin_work(threads, of_all);
  for (int i = 0; i < FORKS; i++) {
    fork_in_walk(&forking);
    expect_child(forking.child);
  }
  end_work(threads);
  pthread_barrier_destroy(&barrier);
  hw_heap_destroy(forking.with_lock);
  hw_heap_destroy(of_all);
}

struct forks {
  struct hw_heap *of_all;
  bool all_right;
};

static void *fork_and_wait(void *argument)
{
  enum { FORKS = 40 };
  struct forks *forks = argument;
  forks->all_right = true;
  for (int i = 0; i < FORKS; i++) {
    int status = -1;
    pid_t child = fork();
    if (!child) {
      alarm(PATIENCE_S);
      _exit(!use_all_in_child(forks->of_all, forks->of_all));
    }
    forks->all_right &= waitpid(child, &status, 0) == child && status == 0;
  }
  return argument;
}

/* Two threads fork at once, and the heaps are destroyed as soon as a fork ends. */
static void threads_fork_while_heaps_come_and_go(void **state)
{
  (void)state;
#ifdef HW_SANITIZED_THREAD
  skip(); /* lists are followed while they change, link by link */
#endif
  pthread_t threads[WORKERS], forking;
  struct forks forks[2];
  forks[0].of_all = forks[1].of_all = heap_with_a_block();
  begin_work(threads, forks[0].of_all);
  assert_int_equal(pthread_create(&forking, NULL, fork_and_wait, &forks[1]), 0);
  fork_and_wait(&forks[0]);
  assert_int_equal(pthread_join(forking, NULL), 0);
  end_work(threads);
  assert_true(forks[0].all_right);
  assert_true(forks[1].all_right);
  assert_int_equal(hw_heap_check(forks[0].of_all, NULL), HW_HEAP_OK);
  hw_heap_destroy(forks[0].of_all);
}

/* --- while there is one thread --- */

static void *leave_blocks(void *argument)
{
  for (int i = 0; i < BLOCKS; i++)
    blocks[i] = hw_heap_alloc(heap, BLOCK_BYTES);
  return argument;
}

static size_t pages_of_blocks(void)
{
  return row_of(heap, BLOCK_BYTES).page_count;
}

static int free_in_child(void)
{
  for (int i = 0; i < BLOCKS; i++)
    if (hw_heap_free(heap, blocks[i]) != HW_HEAP_OK)
      return 1;
  hw_heap_collect(heap);
  return pages_of_blocks() != 0 || hw_heap_check(heap, NULL) != HW_HEAP_OK;
}

/* Libc says that there is one thread: then nothing is closed. The child has the memory of a thread that ended before. */
static void a_process_with_one_thread_forks(void **state)
{
  (void)state;
  static const char yes = 1;
  const char *before = hwi_lock_alone;
  heap = new_heap();
  void *own = hw_heap_alloc(heap, 1);
  run_thread(leave_blocks, NULL);
  assert_int_equal(pages_of_blocks(), PAGES);
  hwi_lock_alone = &yes;
  pid_t child = fork();
  if (!child)
    _exit(free_in_child());
  hwi_lock_alone = before;
  expect_child(child);
  assert_int_equal(free_in_child(), 0);
  assert_int_equal(hw_heap_free(heap, own), HW_HEAP_OK);
  hw_heap_destroy(heap);
}

/* --- what other threads had freed --- */

static void *free_from(void *first)
{
  for (int i = (int)(intptr_t)first; i < BLOCKS; i++)
    if (hw_heap_free(heap, blocks[i]) != HW_HEAP_OK)
      abort();
  return NULL;
}

/* Returns whether the heap knows of all blocks that they are free, and so after the next allocation. */
static bool are_all_free(void)
{
  bool is_right = stats_of(heap).used_bytes == 0 && visited_bytes(heap) == 0;
  for (int i = 0; i < BLOCKS; i++)
    is_right &= hw_heap_free(heap, blocks[i]) == HW_HEAP_FREED && hw_heap_usable_bytes(heap, blocks[i]) == 0;
  is_right &= hw_heap_check(heap, NULL) == HW_HEAP_OK;
  void *more = hw_heap_alloc(heap, BLOCK_BYTES);
  is_right &= hw_heap_usable_bytes(heap, more) == BLOCK_BYTES && stats_of(heap).used_bytes == BLOCK_BYTES;
  return is_right && hw_heap_free(heap, more) == HW_HEAP_OK && hw_heap_check(heap, NULL) == HW_HEAP_OK;
}

/* They are in the pages of the thread that forks, which has not looked since. */
static void what_others_freed_before_a_fork_is_free_in_the_child(void **state)
{
  (void)state;
  heap = new_heap();
  leave_blocks(NULL);
  run_thread(free_from, (void *)0);
  pid_t child = fork();
  if (!child)
    _exit(!are_all_free());
  expect_child(child);
  assert_true(are_all_free());
  hw_heap_destroy(heap);
}

/* A thread that does something, and lives until it is told to end. */
struct other {
  pthread_t thread;
  pthread_barrier_t barrier;
  void (*act)(void);
};

static void *act_and_wait(void *argument)
{
  struct other *other = argument;
  other->act();
  pthread_barrier_wait(&other->barrier);
  pthread_barrier_wait(&other->barrier);
  return NULL;
}

static void begin_other(struct other *other, void (*act)(void))
{
  other->act = act;
  pthread_barrier_init(&other->barrier, NULL, 2);
  assert_int_equal(pthread_create(&other->thread, NULL, act_and_wait, other), 0);
  pthread_barrier_wait(&other->barrier);
}

static void end_other(struct other *other)
{
  pthread_barrier_wait(&other->barrier);
  assert_int_equal(pthread_join(other->thread, NULL), 0);
  pthread_barrier_destroy(&other->barrier);
}

static void act_leave_blocks(void)
{
  leave_blocks(NULL);
}

static bool are_all_free_in_a_child(void)
{
  int status = -1;
  pid_t child = fork();
  if (!child)
    _exit(!are_all_free());
  return waitpid(child, &status, 0) == child && status == 0;
}

/* They are in the pages of a thread that the child does not have: nobody gives them out again. */
static void what_was_freed_of_others_before_a_fork_is_free_in_the_child(void **state)
{
  (void)state;
  struct other other;
  heap = new_heap();
  begin_other(&other, act_leave_blocks);
  free_from((void *)1);
  pid_t child = fork();
  if (!child)
    _exit(!(hw_heap_free(heap, blocks[0]) == HW_HEAP_OK && are_all_free() && are_all_free_in_a_child()));
  expect_child(child);
  end_other(&other);
  hw_heap_destroy(heap);
}

static void *free_second(void *argument)
{
  return hw_heap_free(heap, blocks[1]) == HW_HEAP_OK ? argument : NULL;
}

/* As a child that goes on in a call which has locked the orphan, and makes it an orphan again. */
static bool use_orphan(struct hwi_owner *orphan)
{
  orphan->state = HWI_OWNER_ORPHAN;
  const struct hwi_page *page = hwi_page_of(blocks[0]);
  if (hw_heap_free(heap, blocks[0]) != HW_HEAP_OK || page->owner == orphan)
    return false;
  run_thread(free_from, (void *)2);
  hw_heap_collect(heap);
  return page->remote == 0 && hw_heap_check(heap, NULL) == HW_HEAP_OK;
}

static void do_nothing(void)
{}

/* What others had freed of it is lost, but what is freed afterwards is not. */
static void a_handler_forks_while_its_thread_has_locked_an_orphan(void **state)
{
  (void)state;
#ifdef HW_SANITIZED_THREAD
  skip(); /* it does not let the child have threads */
#endif
  struct other other;
  heap = new_heap();
  void *own = hw_heap_alloc(heap, 1);
  run_thread(leave_blocks, NULL);
  begin_other(&other, do_nothing); /* so that the fork closes the lock */
  struct hwi_owner *orphan = hwi_page_of(blocks[0])->owner;
  assert_int_equal(orphan->state, HWI_OWNER_ORPHAN);
  orphan->state = HWI_OWNER_LOCKED;
  run_thread(free_second, heap);
  pid_t child = fork();
  if (!child)
    _exit(!use_orphan(orphan));
  expect_child(child);
  orphan->state = HWI_OWNER_ORPHAN;
  end_other(&other);
  assert_int_equal(hw_heap_free(heap, own), HW_HEAP_OK);
  hw_heap_destroy(heap);
}

enum { SMALL_BYTES = 64 };

static void leave_one(void)
{
  blocks[0] = hw_heap_alloc(heap, SMALL_BYTES);
}

static bool is_right_with(size_t bytes)
{
  return hw_heap_check(heap, NULL) == HW_HEAP_OK && stats_of(heap).used_bytes == bytes && visited_bytes(heap) == bytes;
}

/* The list of a thread that the child does not have: with checked frees, it is always its own one. */
static void what_a_thread_had_free_before_a_fork_is_free_in_the_child(void **state)
{
  (void)state;
  for (int checks = 0; checks < 2; checks++) {
    struct other other;
    heap = heap_with(&(struct hw_heap_config){.check_all_frees = checks});
    begin_other(&other, leave_one);
    pid_t child = fork();
    if (!child)
      _exit(!is_right_with(SMALL_BYTES));
    expect_child(child);
    end_other(&other);
    hw_heap_destroy(heap);
  }
}

static void keep_two(void)
{
  for (int i = 0; i < 2; i++)
    if (hw_heap_free(heap, blocks[i]) != HW_HEAP_OK)
      abort();
}

/* Then its list still has them, which its own thread would not see. Of the two, one is free in its page, and the other
 * one counts as used. */
static void a_fork_while_a_thread_hands_kept_blocks_back(void **state)
{
  (void)state;
  enum { ALL_BYTES = BLOCKS * BLOCK_BYTES };
  struct other other;
  heap = new_heap();
  leave_blocks(NULL);
  begin_other(&other, keep_two);
  struct hwi_page *page = hwi_page_of(blocks[0]);
  struct hwi_owner *owner = heap->owners == page->owner ? heap->owners->next : heap->owners;
  struct hwi_free_block **kept = &owner->own_lists[page->class_index], *first = *kept, *rest = first->next;
  assert_ptr_equal(first, blocks[1]);
  hwi_page_push_remote(page, first, first, 1);
  pid_t child = fork();
  if (!child)
    _exit(!(is_right_with(ALL_BYTES - BLOCK_BYTES) && hw_heap_alloc(heap, BLOCK_BYTES) == first &&
            is_right_with(ALL_BYTES)));
  *kept = rest;
  expect_child(child);
  end_other(&other);
  assert_true(is_right_with(ALL_BYTES - 2 * BLOCK_BYTES));
  hw_heap_destroy(heap);
}

/* --- pages that become empty during a fork --- */

static void *close_until_freed(void *barrier)
{
  hwi_heaps_before_fork();
  pthread_barrier_wait(barrier);
  pthread_barrier_wait(barrier);
  hwi_heaps_after_fork(false, NULL, NULL);
  return NULL;
}

/* A thread that frees does not wait for the fork, and gives them back the next time that it needs memory. */
static void pages_that_become_empty_during_a_fork_go_back_after_it(void **state)
{
  (void)state;
  pthread_t closing;
  pthread_barrier_t barrier;
  heap = new_heap();
  leave_blocks(NULL);
  pthread_barrier_init(&barrier, NULL, 2);
  assert_int_equal(pthread_create(&closing, NULL, close_until_freed, &barrier), 0);
  pthread_barrier_wait(&barrier);
  free_from((void *)0);
  for (int i = 0; i < BLOCKS; i++) { /* looks for pages that it does not use, and can give none */
    hwi_heap_owner(heap)->looked_ns = 1;
    assert_int_equal(hw_heap_free(heap, hw_heap_alloc(heap, BLOCK_BYTES)), HW_HEAP_OK);
  }
  pthread_barrier_wait(&barrier);
  assert_int_equal(pthread_join(closing, NULL), 0);
  assert_int_equal(pages_of_blocks(), PAGES);
  assert_int_equal(hw_heap_free(heap, hw_heap_alloc(heap, 1)), HW_HEAP_OK);
  assert_int_equal(pages_of_blocks(), 1);
  assert_int_equal(hw_heap_check(heap, NULL), HW_HEAP_OK);
  pthread_barrier_destroy(&barrier);
  hw_heap_destroy(heap);
}

/* Its memory, and that of its lock, are gone. */
static void a_heap_that_was_used_is_destroyed_before_the_fork(void **state)
{
  (void)state;
  enum { HEAPS = 5000 };
  static const char yes = 1;
  const char *before = hwi_lock_alone;
  struct hw_heap *first = new_heap();
  hwi_lock_alone = &yes;
  assert_non_null(hw_heap_alloc(first, BLOCK_BYTES));
  hwi_lock_alone = before;
  assert_true(hw_heap_destroy(first));
  for (int i = 0; i < HEAPS; i++)
    assert_true(hw_heap_destroy(new_heap()));
  pid_t child = fork();
  if (!child)
    _exit(0);
  expect_child(child);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_child_is_not_left_closed), /* first: the process has no heap yet */
      cmocka_unit_test(locks_of_forks_in_one_another),
      cmocka_unit_test(a_handler_forks_before_a_thread_that_waits_for_it),
      cmocka_unit_test(a_fork_does_not_wait_for_ever),
      cmocka_unit_test(handlers_fork_while_their_threads_wait),
      cmocka_unit_test(a_handler_forks_while_blocks_are_taken_back),
      cmocka_unit_test(threads_with_locks_fork),
      cmocka_unit_test(a_thread_with_a_lock_forks_while_others_work),
      cmocka_unit_test(threads_fork_while_heaps_come_and_go),
      cmocka_unit_test(a_process_with_one_thread_forks),
      cmocka_unit_test(what_others_freed_before_a_fork_is_free_in_the_child),
      cmocka_unit_test(what_was_freed_of_others_before_a_fork_is_free_in_the_child),
      cmocka_unit_test(a_handler_forks_while_its_thread_has_locked_an_orphan),
      cmocka_unit_test(what_a_thread_had_free_before_a_fork_is_free_in_the_child),
      cmocka_unit_test(a_fork_while_a_thread_hands_kept_blocks_back),
      cmocka_unit_test(pages_that_become_empty_during_a_fork_go_back_after_it),
      cmocka_unit_test(a_heap_that_was_used_is_destroyed_before_the_fork),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
