/* plugin.cc - a C++ library that a C program loads: its operator new fails, and it catches that itself */
#include <cstddef>
#include <cstdint>
#include <new>

static volatile size_t huge = PTRDIFF_MAX;
static int handled;

static void throws_after_two()
{
  if (++handled == 2)
    throw std::bad_alloc();
}

extern "C" int plugin_failures(void);
extern "C" int plugin_handled(void);
extern "C" void *plugin_block(void);
extern "C" void plugin_free(void *block);

int plugin_failures(void)
{
  int caught = 0;
  for (int i = 0; i < 100; i++)
    try {
      operator delete(operator new(huge));
    } catch (const std::bad_alloc &) {
      caught++;
    }
  return caught;
}

int plugin_handled(void)
{
  std::set_new_handler(throws_after_two);
  void *block = operator new(huge, std::nothrow);
  std::set_new_handler(nullptr);
  return block ? -1 : handled;
}

void *plugin_block(void)
{
  return operator new(48);
}

void plugin_free(void *block)
{
  operator delete(block);
}
