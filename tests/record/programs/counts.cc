// counts.cc - what a thread has done so far, as heapwright/monitor.h reports it
#include <heapwright/monitor.h>

#include <cassert>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <malloc.h>
#include <memory>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile kept;

static void on_signal(int)
{
  kept = malloc(5);
}

static void check_calls()
{
  struct hw_counts none = hw_thread_counts();
  assert(none.is_counted && none.allocation_calls == 0 && none.net_bytes == 0);
  void *a = malloc(100), *b = calloc(3, 40);
  long long usable = (long long)(malloc_usable_size(a) + malloc_usable_size(b));
  struct hw_counts made = hw_thread_counts();
  assert(made.allocation_calls == 2 && made.allocated_bytes == 220 && made.net_bytes == usable);
  a = realloc(a, 5000);
  usable = (long long)(malloc_usable_size(a) + malloc_usable_size(b));
  struct hw_counts moved = hw_thread_counts();
  assert(moved.allocation_calls == 3 && moved.free_calls == 1 && moved.net_bytes == usable);
  free(a);
  free(b);
  free(nullptr);
  struct hw_counts freed = hw_thread_counts();
  assert(freed.free_calls == 3 && freed.net_bytes == 0);
  kept = malloc((size_t)-1 / 2);
  assert(hw_thread_counts().failed_calls == 1);
  {
    std::unique_ptr<int[]> array(new int[10]);
    kept = array.get();
  }
  struct hw_counts cxx = hw_thread_counts();
  assert(cxx.allocation_calls == 4 && cxx.free_calls == 4 && cxx.net_bytes == 0);
  signal(SIGUSR1, on_signal);
  raise(SIGUSR1);
  assert(hw_thread_counts().allocation_calls == 5);
}

static void *in_a_thread(void *)
{
  kept = malloc(1); // before the first question
  assert(hw_thread_counts().allocation_calls == 0);
  kept = malloc(1);
  assert(hw_thread_counts().allocation_calls == 1);
  return nullptr;
}

static void check_threads()
{
  for (int i = 0; i < 3; i++) { // a later thread takes over what an earlier one left
    pthread_t id;
    pthread_create(&id, nullptr, in_a_thread, nullptr);
    pthread_join(id, nullptr);
  }
}

static void check_fork()
{
  struct hw_counts before = hw_thread_counts();
  pid_t child = fork();
  kept = malloc(10);
  struct hw_counts after = hw_thread_counts();
  bool is_right = after.is_counted && after.allocation_calls == before.allocation_calls + 1;
  if (child == 0)
    _exit(is_right ? 0 : 1);
  int status;
  waitpid(child, &status, 0);
  assert(is_right && status == 0);
}

int main()
{
  if (hw_thread_counts().is_counted) {
    check_threads();
    pthread_t id;
    pthread_create(
        &id, nullptr, [](void *) -> void * { return check_calls(), nullptr; }, nullptr);
    pthread_join(id, nullptr);
    check_fork();
    puts("counted");
  }
  puts("done");
}
