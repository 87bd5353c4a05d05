// operators.cc - operator new in C++: what it allocates, what fails, and an exception that passes through several frames
#include <cstdio>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#define FRAME __attribute__((noinline, noclone))

struct wide {
  alignas(64) char bytes[192];
};

FRAME static void *volatile_copy(void *block)
{
  __asm__ volatile("" : "+r"(block));
  return block;
}

FRAME static void by_new()
{
  for (int i = 0; i < 5; i++)
    delete static_cast<long *>(volatile_copy(new long(i)));
}

FRAME static void by_aligned_new()
{
  for (int i = 0; i < 3; i++)
    delete static_cast<wide *>(volatile_copy(new wide));
}

FRAME static void thrower(int depth)
{
  std::string text(300, 'x');
  if (depth == 0)
    throw std::runtime_error(text);
  thrower(depth - 1);
  __asm__ volatile("");
}

FRAME static bool fails()
{
  try {
    volatile std::size_t too_much = ~std::size_t(0) / 2 + 1;
    volatile_copy(::operator new(too_much));
  } catch (const std::bad_alloc &) {
    return true;
  }
  return false;
}

int main()
{
  int caught = 0;
  by_new();
  by_aligned_new();
  for (int i = 0; i < 3; i++) {
    try {
      thrower(i);
    } catch (const std::runtime_error &error) {
      caught += error.what()[0] == 'x';
    }
  }
  std::printf("%d %d\n", caught, fails());
  return 0;
}
