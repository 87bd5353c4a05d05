// coroutine.cc - coroutines that go on in other threads, each a task whose scope stays open across the moves
#include <heapwright/monitor.h>

#include <coroutine>
#include <cstdio>
#include <cstdlib>
#include <thread>

enum { JOBS = 8 };

static void *volatile kept;

struct job {
  struct promise_type {
    struct hw_task task = hw_task_create("job");
    job get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() {}
  };
  std::coroutine_handle<promise_type> handle;

  // One thread after the other is inside.
  void resume()
  {
    HW_TASK(&handle.promise().task);
    handle.resume();
  }
};

static job work()
{
  HW_SCOPE("step");
  kept = malloc(10);
  co_await std::suspend_always{};
  kept = malloc(20);
  co_await std::suspend_always{};
  kept = malloc(30);
}

int main()
{
  job jobs[JOBS];
  for (job &one : jobs)
    one = work();
  for (int round = 0; round < 3; round++) {
    std::thread threads[JOBS];
    for (int i = 0; i < JOBS; i++)
      threads[i] = std::thread([&jobs, i] { jobs[i].resume(); });
    for (std::thread &thread : threads)
      thread.join();
  }
  for (job &one : jobs) {
    hw_task_finish(&one.handle.promise().task);
    one.handle.destroy();
  }
  puts("done");
}
