/* nvtx_cxx.cc - a program with the real NVTX for C++: ranges that end by leaving a block and by an exception, a range of
 * another thread, a registered string, a payload */
#include <nvtx3/nvtx3.hpp>

#include <stdexcept>
#include <thread>

struct solver {
  static constexpr char const *name{"solver"};
};
struct step {
  static constexpr char const *message{"step"};
};

static void *volatile kept;

static void allocate(size_t bytes)
{
  kept = malloc(bytes);
}

static void fail()
{
  nvtx3::scoped_range_in<solver> range{"failing"};
  allocate(3);
  throw std::runtime_error("expected");
}

int main()
{
  for (uint64_t i = 0; i < 4; i++) {
    nvtx3::scoped_range outer{"outer"};
    nvtx3::event_attributes attributes{nvtx3::registered_string_in<solver>::get<step>(), nvtx3::payload{i}};
    nvtx3::scoped_range_in<solver> inner{attributes};
    allocate(10);
  }
  try {
    fail();
  } catch (const std::runtime_error &) {
    allocate(100);
  }
  nvtx3::range_handle started = nvtx3::start_range("moves");
  allocate(7);
  std::thread([&] { nvtx3::end_range(started); }).join();
  nvtx3::scoped_range last{"last"};
  nvtx3::mark("a mark");
  puts("done");
}
