/* threads.c - claims of threads, and the end of a thread, with glibc's and musl's threads */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>

#include "platform/os.h"

/* A claim is a robust mutex. libc writes the tid that it knows into the lock word, and when a thread ends, the kernel
 * (with musl, libc) marks the mutexes on that thread's robust list. So a reused tid is never taken for the earlier thread, and no
 * system call is needed. One case is not covered: a signal handler that takes a claim while it interrupts libc in the middle
 * of locking another robust mutex. Only a thread's first event takes a claim. */
static pthread_mutex_t *mutex_of(struct hwi_os_claim *claim)
{
  static_assert(sizeof(pthread_mutex_t) <= sizeof(struct hwi_os_claim), "a claim has room for a mutex");
  static_assert(_Alignof(pthread_mutex_t) <= _Alignof(struct hwi_os_claim), "a claim is aligned as a mutex");
  return (pthread_mutex_t *)claim->words;
}

/* The lock word is glibc's first word, and musl's second one. */
static uint32_t *lock_of(const struct hwi_os_claim *claim)
{
  return (uint32_t *)claim->words + hwi_os_libc_is_musl();
}

void hwi_os_claim_init(struct hwi_os_claim *claim)
{
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(mutex_of(claim), &attributes);
  pthread_mutexattr_destroy(&attributes);
}

/* In the child, musl's list of the thread's robust mutexes still has the claim; glibc empties that list. musl's unlocking checks the
 * owner, whose tid is another one there. */
void hwi_os_claim_init_in_child(struct hwi_os_claim *claim, bool is_own)
{
  if (is_own && hwi_os_libc_is_musl() && pthread_mutex_unlock(mutex_of(claim))) {
    *lock_of(claim) = hwi_os_tid();
    pthread_mutex_unlock(mutex_of(claim));
  }
  hwi_os_claim_init(claim);
}

bool hwi_os_claim_is_held(const struct hwi_os_claim *claim)
{
  uint32_t word = __atomic_load_n(lock_of(claim), __ATOMIC_RELAXED);
  return word && !(word & FUTEX_OWNER_DIED);
}

uint32_t hwi_os_claim_take(struct hwi_os_claim *claim)
{
  pthread_mutex_t *mutex = mutex_of(claim);
  if (hwi_os_claim_is_held(claim)) /* as most are; an attempt would write to another thread's cache line */
    return 0;
  int result = pthread_mutex_trylock(mutex);
  if (result == EOWNERDEAD)
    pthread_mutex_consistent(mutex);
  else if (result)
    return 0;
  uint32_t tid = __atomic_load_n(lock_of(claim), __ATOMIC_RELAXED) & FUTEX_TID_MASK;
  return tid ? tid : hwi_os_tid(); /* before glibc 2.34 without libpthread, a mutex does nothing: there is one thread */
}

/* libc stores the values of the first keys in the thread's own block, and calls calloc for those of later keys. That
 * calloc would enter the recorder while it makes the thread's stream. */
enum { KEYS_WITHOUT_MALLOC = 32 };

static pthread_key_t thread_end_key;
static bool thread_end_is_ready;

int hwi_os_prepare_thread_end(void (*ended)(void *), bool may_call_malloc)
{
  int result = pthread_key_create(&thread_end_key, ended);
  if (result == 0 && !may_call_malloc && thread_end_key >= KEYS_WITHOUT_MALLOC) {
    pthread_key_delete(thread_end_key);
    result = ENOMEM;
  }
  thread_end_is_ready = result == 0;
  return -result;
}

void hwi_os_forget_thread_end(void)
{
  if (thread_end_is_ready)
    pthread_key_delete(thread_end_key);
  thread_end_is_ready = false;
}

int hwi_os_at_thread_end(void *argument)
{
  return thread_end_is_ready ? -pthread_setspecific(thread_end_key, argument) : -EAGAIN;
}
