/* itt_tbb.cc - a program on oneTBB, whose algorithms and flow graphs report tasks to a collector of ITT */
#define TBB_USE_PROFILING_TOOLS 1
#include <tbb/flow_graph.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <atomic>
#include <cstdio>
#include <new>

static void *volatile kept;

int main()
{
  std::atomic<long> sum{0};
  tbb::flow::graph graph;
  tbb::flow::function_node<int, int> doubled(graph, 1, [](int number) {
    kept = ::operator new(77);
    ::operator delete(kept);
    return 2 * number;
  });
  tbb::flow::function_node<int> added(graph, 1, [&](int number) {
    sum += number;
    return tbb::flow::continue_msg();
  });
  tbb::flow::make_edge(doubled, added);
  for (int i = 0; i < 100; i++)
    doubled.try_put(i);
  graph.wait_for_all();
  tbb::task_arena alone(1); // each thread that works on the loop begins a task of its own
  alone.execute([&] { tbb::parallel_for(0, 1000, [&](int i) { sum += i; }); });
  std::printf("%ld\n", sum.load());
  return 3;
}
