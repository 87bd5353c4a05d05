// heap_containers.cc - containers in heaps by heap.hpp, for test_heap_cxx.py. Prints "done" if everything is as promised
#include <heapwright/heap.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <list>
#include <map>
#include <memory_resource>
#include <scoped_allocator>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

using heapwright::heap_allocator;
using heapwright::heap_resource;
using heapwright::unique_heap;

template <typename T> using vector_in = std::vector<T, heap_allocator<T>>;
using string_in = std::basic_string<char, std::char_traits<char>, heap_allocator<char>>;

static void expect(bool condition, const char *what)
{
  if (condition)
    return;
  std::printf("wrong: %s\n", what);
  std::exit(1);
}

static std::size_t used_bytes(hw_heap *heap)
{
  hw_heap_stats stats;
  hw_heap_get_stats(heap, &stats);
  return stats.used_bytes;
}

static bool is_in(hw_heap *heap, const void *block)
{
  return hw_heap_usable_bytes(heap, const_cast<void *>(block)) > 0;
}

static void use_containers(hw_heap *heap)
{
  vector_in<int> numbers(heap);
  std::list<string_in, heap_allocator<string_in>> names(heap);
  std::map<int, int, std::less<int>, heap_allocator<std::pair<const int, int>>> squares(heap);
  std::unordered_map<int, int, std::hash<int>, std::equal_to<int>, heap_allocator<std::pair<const int, int>>> cubes(
      heap);
  std::deque<double, heap_allocator<double>> halves(heap);
  for (int i = 0; i < 5000; i++) {
    numbers.push_back(i);
    names.emplace_back(200, static_cast<char>('a' + i % 26), heap_allocator<char>(heap));
    squares[i] = i * i;
    cubes[i] = i * i * i;
    halves.push_back(i / 2.0);
  }
  expect(is_in(heap, numbers.data()) && is_in(heap, names.front().data()), "the containers are in the heap");
  for (int i = 0; i < 5000; i++)
    expect(numbers[static_cast<std::size_t>(i)] == i && squares[i] == i * i && cubes[i] == i * i * i &&
               halves[static_cast<std::size_t>(i)] == i / 2.0,
           "the elements");
  expect(used_bytes(heap) > 5000 * 200, "memory is counted");
}

/* A container in a container gets the same heap. */
static void use_nested(hw_heap *heap)
{
  using strings = std::vector<string_in, std::scoped_allocator_adaptor<heap_allocator<string_in>>>;
  strings words{std::scoped_allocator_adaptor<heap_allocator<string_in>>(heap)};
  words.resize(1);
  words.back() = "a string that is too long for the object itself";
  expect(is_in(heap, words.back().data()), "the string in the vector is in the heap");
}

static void move_and_copy(hw_heap *one, hw_heap *other)
{
  expect(heap_allocator<int>(one) == heap_allocator<char>(one), "equal: one heap");
  expect(heap_allocator<int>(one) != heap_allocator<int>(other), "not equal: two heaps");
  static_assert(!std::allocator_traits<heap_allocator<int>>::is_always_equal::value);
  vector_in<int> a(100, 1, one), b(50, 2, other);
  const int *of_a = a.data();
  b = std::move(a);
  expect(b.data() == of_a && b.get_allocator().heap() == one && b.size() == 100, "moved with its heap, nothing copied");
  vector_in<int> c(10, 3, other);
  c = b;
  expect(c.get_allocator().heap() == other && is_in(other, c.data()) && c.size() == 100,
         "a copy is assigned: it keeps its heap");
  vector_in<int> copy(b);
  expect(copy.get_allocator().heap() == one && copy == b, "a copy is made: in the same heap");
  const int *of_b = b.data(), *of_c = c.data();
  swap(b, c);
  expect(b.data() == of_c && c.data() == of_b && b.get_allocator().heap() == other, "swapped with their heaps");
  static_assert(std::is_nothrow_move_assignable<vector_in<int>>::value &&
                std::is_nothrow_swappable<vector_in<int>>::value);
}

template <std::size_t Align> static void use_aligned(hw_heap *heap)
{
  struct alignas(Align) wide {
    char bytes[Align];
  };
  vector_in<wide> wides(heap);
  heap_resource resource(heap);
  std::pmr::list<wide> more(&resource);
  for (int i = 0; i < 20; i++) {
    wides.push_back(wide());
    more.push_back(wide());
    expect(reinterpret_cast<std::uintptr_t>(&wides.back()) % Align == 0, "aligned in a vector");
    expect(reinterpret_cast<std::uintptr_t>(&more.back()) % Align == 0, "aligned in a list of pmr");
  }
}

static void use_resources(hw_heap *one, hw_heap *other)
{
  heap_resource resource(one), same(one), another(other);
  expect(resource == same && resource != another && resource != *std::pmr::new_delete_resource(),
         "equality of resources");
  std::pmr::unordered_map<int, std::pmr::string> names(&resource);
  for (int i = 0; i < 1000; i++)
    names.emplace(i, std::pmr::string(100, 'x'));
  expect(is_in(one, names.at(7).data()), "the strings of the map are in the heap");
  std::pmr::unordered_map<int, std::pmr::string> copy(names, &another);
  expect(is_in(other, copy.at(7).data()) && copy == names, "a copy in another heap");
  std::pmr::monotonic_buffer_resource on_top(&resource);
  std::pmr::vector<int> numbers(10000, 1, &on_top);
  expect(numbers.size() == 10000, "a resource on the resource");
}

template <typename Exception, typename Function> static bool throws(Function function)
{
  try {
    function();
  } catch (const Exception &) {
    return true;
  }
  return false;
}

struct bomb {
  bomb() = default;

  bomb(const bomb &)
  {
    static int copies;
    if (++copies == 50)
      throw 42;
  }

  char bytes[100];
};

static void fail(hw_heap *heap)
{
  heap_allocator<int> allocator(heap);
  expect(throws<std::bad_array_new_length>([&] { (void)allocator.allocate(SIZE_MAX / 2); }), "too many elements");
  expect(throws<std::bad_alloc>([&] { (void)allocator.allocate(std::size_t(1) << 55); }), "no memory");
  heap_resource resource(heap);
  expect(throws<std::bad_alloc>([&] { (void)resource.allocate(std::size_t(1) << 60); }), "no memory for a resource");
  expect(throws<std::bad_alloc>([&] { (void)resource.allocate(std::size_t(1) << 60, 4096); }), "none that is aligned");
  expect(throws<std::length_error>([&] { vector_in<int>(heap).reserve(SIZE_MAX); }), "more than a vector can have");
  std::size_t before = used_bytes(heap);
  expect(throws<int>([&] { vector_in<bomb>(100, bomb(), heap); }), "an element throws");
  expect(used_bytes(heap) == before, "nothing is left of a vector whose element threw");
}

static void use_in_threads(hw_heap *heap)
{
  std::vector<std::thread> threads;
  std::vector<vector_in<string_in>> made(4, vector_in<string_in>(heap));
  for (auto &strings : made)
    threads.emplace_back([&strings, heap] {
      for (int i = 0; i < 2000; i++)
        strings.emplace_back(50, 'y', heap_allocator<char>(heap));
    });
  for (auto &thread : threads)
    thread.join();
  for (const auto &strings : made)
    expect(strings.size() == 2000 && strings.back() == string_in(50, 'y', heap), "strings of a thread");
}

static void make_wrong()
{
  const std::size_t classes[] = {24};
  hw_heap_config config{};
  config.class_bytes = classes;
  config.class_count = 1;
  hw_heap_error error{};
  expect(!heapwright::make_heap(&config, &error) && std::string("class_bytes") == error.field, "a wrong config");
}

int main()
{
  unique_heap one = heapwright::make_heap(), other = heapwright::make_heap();
  expect(one && other, "heaps");
  use_containers(one.get());
  use_nested(one.get());
  move_and_copy(one.get(), other.get());
  use_aligned<32>(one.get());
  use_aligned<64>(one.get());
  use_aligned<4096>(one.get());
  use_resources(one.get(), other.get());
  fail(one.get());
  use_in_threads(one.get());
  make_wrong();
  hw_heap_collect(one.get());
  hw_heap_collect(other.get());
  expect(used_bytes(one.get()) == 0 && used_bytes(other.get()) == 0, "all was freed");
  expect(hw_heap_check(one.get(), nullptr) == HW_HEAP_OK, "the heap is right");
  std::puts("done");
}
