/* plugin.cc - a C++ library that a C program loads: each of its operators new fails, and it catches that itself */
#include <cstddef>
#include <cstdint>
#include <new>

static volatile size_t huge[] = {PTRDIFF_MAX, PTRDIFF_MAX / 4}; /* the second is a valid size of an object */
static const std::align_val_t align{256};
static int handled;

static void throws_after_two()
{
  if (++handled % 2 == 0)
    throw std::bad_alloc();
}

static void gives_up_after_two()
{
  if (++handled % 2 == 0)
    std::set_new_handler(nullptr);
}

static void *new_of_kind(int kind, size_t size)
{
  switch (kind) {
  case 0:
    return operator new(size);
  case 1:
    return operator new[](size);
  case 2:
    return operator new(size, align);
  case 3:
    return operator new[](size, align);
  case 4:
    return operator new(size, std::nothrow);
  case 5:
    return operator new[](size, std::nothrow);
  case 6:
    return operator new(size, align, std::nothrow);
  default:
    return operator new[](size, align, std::nothrow);
  }
}

enum { THROWING_KINDS = 4, KINDS = 8 };

static bool throws(int kind, size_t size)
{
  try {
    new_of_kind(kind, size);
  } catch (const std::bad_alloc &) {
    return true;
  }
  return false;
}

extern "C" int plugin_failures(void);
extern "C" int plugin_handled(void);
extern "C" void *plugin_block(void);
extern "C" void plugin_free(void *block);

/* 100 times, 25 of each kind. */
int plugin_failures(void)
{
  int caught = 0;
  for (int i = 0; i < 100; i++)
    caught += throws(i % THROWING_KINDS, huge[i / THROWING_KINDS % 2]);
  return caught;
}

/* Two calls of each of two handlers, from each kind of operator. */
int plugin_handled(void)
{
  int thrown = 0;
  for (int i = 0; i < 2 * KINDS; i++) {
    std::set_new_handler(i < KINDS ? throws_after_two : gives_up_after_two);
    thrown += throws(i % KINDS, huge[1]);
  }
  std::set_new_handler(nullptr);
  return thrown == 2 * THROWING_KINDS ? handled : -1;
}

void *plugin_block(void)
{
  return operator new(48);
}

void plugin_free(void *block)
{
  operator delete(block);
}
