/* heaps.cc - a program that gives out memory itself, and reports it with heapwright/monitor.h */
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "heapwright/monitor.h"

static void *at(uintptr_t address)
{
  return reinterpret_cast<void *>(address);
}

/* An arena of one block of malloc. */
struct arena {
  hw_custom_heap heap;
  char *memory;
  size_t used;

  explicit arena(const char *name) : heap(hw_custom_heap_create(name)), memory((char *)malloc(1 << 16)), used(0) {}
  ~arena()
  {
    hw_custom_heap_destroy(&heap);
    free(memory);
  }
  __attribute__((noinline)) void *take(size_t size)
  {
    void *block = used + size <= 1 << 16 ? memory + used : nullptr;
    hw_custom_heap_alloc(&heap, block, size);
    used += block ? size : 0;
    return block;
  }
  void reset()
  {
    hw_custom_heap_reset(&heap);
    used = 0;
  }
};

__attribute__((noinline)) static void parse(arena &a)
{
  for (int i = 0; i < 10; i++)
    a.take(100);
}

__attribute__((noinline)) static void render(arena &a)
{
  for (int i = 0; i < 5; i++)
    a.take(1000);
}

/* Two frames: 10 blocks of 100 bytes and 5 of 1,000 in each. The second frame stays. */
static void frames()
{
  static arena a("frame arena");
  parse(a);
  render(a);
  a.reset();
  parse(a);
  render(a);
  a.take(1 << 20);
  _exit(0);
}

/* Two heaps with one name whose blocks have the same addresses, and a third with another name. */
static void offsets()
{
  hw_custom_heap first = hw_custom_heap_create("gpu"), second = hw_custom_heap_create("gpu"),
                 other = hw_custom_heap_create("shared");
  for (uintptr_t i = 1; i <= 100; i++) {
    hw_custom_heap_alloc(&first, at(i), 10);
    hw_custom_heap_alloc(&second, at(i), 20);
    hw_custom_heap_alloc(&other, at(i), 30);
  }
  for (uintptr_t i = 1; i <= 40; i++)
    hw_custom_heap_free(&first, at(i));
  hw_custom_heap_destroy(&other);
  hw_custom_heap_free(&second, at(12345));    /* no block of it */
  hw_custom_heap_alloc(&second, at(100), 25); /* whose free was not reported */
}

/* Threads that share one heap: each has a part of its addresses, and hands every tenth block to the next one. */
static void threads(int count, int rounds)
{
  hw_custom_heap heap = hw_custom_heap_create("shared pool");
  std::vector<std::thread> list;
  for (int t = 0; t < count; t++)
    list.emplace_back([&heap, t, rounds] {
      for (int i = 0; i < rounds; i++) {
        const uintptr_t address = (uintptr_t)(t + 1) << 32 | (uintptr_t)(i + 1) << 4;
        hw_custom_heap_alloc(&heap, at(address), (uint64_t)(i % 100 + 1));
        if (i % 10)
          hw_custom_heap_free(&heap, at(address));
      }
    });
  for (std::thread &thread : list)
    thread.join();
}

/* Threads that take the block that another one has just given back. */
static void exchange(int count, int rounds)
{
  hw_custom_heap heap = hw_custom_heap_create("free list");
  std::vector<uintptr_t> free_blocks = {16, 32, 48}; /* with room for them all */
  std::atomic_flag lock = ATOMIC_FLAG_INIT;
  std::vector<std::thread> list;
  const auto take = [&]() {
    while (lock.test_and_set(std::memory_order_acquire))
      continue;
    const uintptr_t block = free_blocks.empty() ? 0 : free_blocks.back();
    if (block)
      free_blocks.pop_back();
    lock.clear(std::memory_order_release);
    return block;
  };
  const auto give = [&](uintptr_t block) {
    while (lock.test_and_set(std::memory_order_acquire))
      continue;
    free_blocks.push_back(block);
    lock.clear(std::memory_order_release);
  };
  for (int t = 0; t < count; t++)
    list.emplace_back([&] {
      for (int i = 0; i < rounds;) {
        const uintptr_t block = take();
        if (!block)
          continue;
        hw_custom_heap_alloc(&heap, at(block), 8);
        hw_custom_heap_free(&heap, at(block));
        give(block);
        i++;
      }
    });
  for (std::thread &thread : list)
    thread.join();
}

/* A thread that allocates from a heap, and one that resets it or frees the block, each as soon as it may. */
static void turns(const std::string &what, int rounds)
{
  hw_custom_heap heap = hw_custom_heap_create("turns");
  std::atomic<int> turn = 0;
  const auto take_turns = [&](int mine, auto act) {
    for (int i = 0; i < rounds; i++) {
      for (int tries = 0; turn.load(std::memory_order_acquire) != mine; tries++)
        if (tries > 1000)
          std::this_thread::yield();
      act();
      turn.store(!mine, std::memory_order_release);
    }
  };
  std::thread giver([&] { take_turns(0, [&] { hw_custom_heap_alloc(&heap, at(16), 8); }); });
  take_turns(1, [&] {
    if (what == "resets")
      hw_custom_heap_reset(&heap);
    else
      hw_custom_heap_free(&heap, at(16));
  });
  giver.join();
}

/* Blocks before a fork are the parent's; the child has heaps with the same numbers. */
static void forked()
{
  hw_custom_heap heap = hw_custom_heap_create("forked");
  for (uintptr_t i = 1; i <= 10; i++)
    hw_custom_heap_alloc(&heap, at(i * 16), 100);
  if (fork() == 0) {
    for (uintptr_t i = 1; i <= 3; i++)
      hw_custom_heap_free(&heap, at(i * 16));
    for (uintptr_t i = 1; i <= 7; i++)
      hw_custom_heap_alloc(&heap, at(i * 16), 1);
    _exit(0);
  }
  wait(nullptr);
}

static void many(int count)
{
  for (int i = 0; i < count; i++) {
    const std::string name = "heap " + std::to_string(i);
    hw_custom_heap heap = hw_custom_heap_create(name.c_str());
    hw_custom_heap_alloc(&heap, at(16), 1);
    hw_custom_heap_destroy(&heap);
  }
}

static void peaks()
{
  hw_custom_heap late = hw_custom_heap_create("small, late"), early = hw_custom_heap_create("small, early"),
                 large = hw_custom_heap_create("large");
  hw_custom_heap_alloc(&early, at(16), 10);
  for (volatile int i = 0; i < 100000; i++)
    continue;
  hw_custom_heap_alloc(&late, at(16), 10);
  hw_custom_heap_alloc(&large, at(16), 20);
}

/* More than the process has in memory, for some time. */
static void slow()
{
  hw_custom_heap heap = hw_custom_heap_create("gpu");
  hw_custom_heap_alloc(&heap, at(16), 1000000000);
  getchar();
}

static void killed()
{
  hw_custom_heap heap = hw_custom_heap_create("killed");
  hw_custom_heap_alloc(&heap, at(16), 48);
  kill(getpid(), SIGKILL);
}

static void none()
{
  hw_custom_heap heap = {};
  hw_custom_heap_alloc(&heap, at(16), 48);
  hw_custom_heap_free(&heap, at(16));
  hw_custom_heap_reset(&heap);
  hw_custom_heap_destroy(&heap);
  heap = hw_custom_heap_create("empty");
  hw_custom_heap_free(&heap, nullptr);
}

int main(int argc, char **argv)
{
  const std::string what = argc > 1 ? argv[1] : "";
  const int count = argc > 2 ? atoi(argv[2]) : 0, rounds = argc > 3 ? atoi(argv[3]) : 0;
  if (what == "frames")
    frames();
  else if (what == "offsets")
    offsets();
  else if (what == "threads")
    threads(count, rounds);
  else if (what == "exchange")
    exchange(count, rounds);
  else if (what == "resets" || what == "handovers")
    turns(what, count);
  else if (what == "fork")
    forked();
  else if (what == "many")
    many(count);
  else if (what == "peaks")
    peaks();
  else if (what == "slow")
    slow();
  else if (what == "killed")
    killed();
  else if (what == "none")
    none();
  else
    return 2;
  return 0;
}
