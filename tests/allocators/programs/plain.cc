// plain.cc - a program that does not know which malloc it has: C, C++, threads; and at last frees a block twice
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static bool throws()
{
  try {
    std::vector<std::string> strings;
    strings.reserve(std::size_t(1) << 50);
  } catch (const std::bad_alloc &) {
    return !new (std::nothrow) char[std::size_t(1) << 60] && !std::malloc(std::size_t(1) << 60);
  }
  return false;
}

int main()
{
  std::vector<std::thread> threads;
  std::vector<std::string> strings(4);
  for (std::size_t i = 0; i < strings.size(); i++)
    threads.emplace_back([&strings, i] {
      for (int k = 0; k < 20000; k++)
        strings[i] += std::to_string(k);
    });
  for (auto &thread : threads)
    thread.join();
  char *copy = strdup(strings[3].c_str());
  if (copy != strings[0] || !throws())
    return 1;
  std::free(copy);
  char *volatile block = static_cast<char *>(std::malloc(40));
  std::free(block);
  std::free(block);
  std::puts("done");
}
