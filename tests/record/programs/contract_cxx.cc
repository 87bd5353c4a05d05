/* contract_cxx.cc - calls every operator new and delete at its edges, and prints the results */
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include <sys/resource.h>

#include "entries_marks.h"

static void *volatile p;
static volatile size_t huge = PTRDIFF_MAX;
static const std::align_val_t wide = std::align_val_t(256);
static bool threw;

#define STEP(name, calls, ...)                                            \
  do {                                                                    \
    threw = false;                                                        \
    p = NULL;                                                             \
    MARKED(                                                               \
        try { calls; } catch (const std::bad_alloc &) { threw = true; }); \
    printf("%s: ", name);                                                 \
    printf(__VA_ARGS__);                                                  \
    printf("\n");                                                         \
  } while (0)

#define BAD_ALLOC_STEP(name, calls) STEP(name, calls, "threw %d, gave %d", threw, p != NULL)

static bool is_aligned(void *block)
{
  return (uintptr_t)block % 256 == 0;
}

static void pairs()
{
  STEP("new", p = operator new(100); operator delete(p), "%d", p != NULL);
  STEP("new[]", p = operator new[](101); operator delete[](p), "%d", p != NULL);
  STEP("new nothrow", p = operator new(102, std::nothrow); operator delete(p, std::nothrow), "%d", p != NULL);
  STEP("new[] nothrow", p = operator new[](103, std::nothrow); operator delete[](p, std::nothrow), "%d", p != NULL);
  STEP("sized", p = operator new(104); operator delete(p, size_t(104)), "%d", p != NULL);
  STEP("sized []", p = operator new[](105); operator delete[](p, size_t(105)), "%d", p != NULL);
  STEP("aligned", p = operator new(106, wide); operator delete(p, wide), "%d", is_aligned(p));
  STEP("aligned []", p = operator new[](107, wide); operator delete[](p, wide), "%d", is_aligned(p));
  STEP("aligned nothrow", p = operator new(108, wide, std::nothrow);
       operator delete(p, wide, std::nothrow), "%d", is_aligned(p));
  STEP("aligned [] nothrow", p = operator new[](109, wide, std::nothrow);
       operator delete[](p, wide, std::nothrow), "%d", is_aligned(p));
  STEP("aligned sized", p = operator new(110, wide); operator delete(p, 110, wide), "%d", is_aligned(p));
  STEP("aligned sized []", p = operator new[](111, wide); operator delete[](p, 111, wide), "%d", is_aligned(p));
  STEP("new 0", p = operator new(0); operator delete(p), "%d", p != NULL);
  STEP("aligned 0", p = operator new(0, wide); operator delete(p, wide), "%d", p != NULL);
  STEP("delete NULL", operator delete(nullptr); operator delete[](nullptr); operator delete(nullptr, wide), "done");
}

static void failures()
{
  std::align_val_t odd = std::align_val_t(24);
  BAD_ALLOC_STEP("new huge", p = operator new(huge));
  BAD_ALLOC_STEP("new[] huge", p = operator new[](huge));
  BAD_ALLOC_STEP("new nothrow huge", p = operator new(huge, std::nothrow));
  BAD_ALLOC_STEP("new[] nothrow huge", p = operator new[](huge, std::nothrow));
  BAD_ALLOC_STEP("aligned huge", p = operator new(huge, wide));
  BAD_ALLOC_STEP("aligned nothrow huge", p = operator new[](huge, wide, std::nothrow));
  BAD_ALLOC_STEP("aligned odd", p = operator new(100, odd));
  BAD_ALLOC_STEP("aligned odd nothrow", p = operator new(100, odd, std::nothrow));
  errno = 0;
  p = operator new(huge, std::nothrow);
  printf("errno %s\n", errno == ENOMEM ? "ENOMEM" : "other");
}

static int handled;

static void gives_up_at_three()
{
  if (++handled == 3)
    std::set_new_handler(nullptr);
}

struct other_error {};

static void throws_bad_alloc()
{
  handled++;
  throw std::bad_alloc();
}

static void throws_other()
{
  throw other_error();
}

/* The handler frees it when an operator needs memory. */
static void *reserve;

static void frees_reserve()
{
  handled++;
  free(reserve);
  reserve = NULL;
  void *extra = malloc(55); /* counts as a free of the handler */
  free(extra);
  std::set_new_handler(nullptr);
}

/* Limits the address space so that an operator new of `size` fails until the reserve is freed. */
static void with_reserve(size_t size)
{
  struct rlimit before, tight;
  getrlimit(RLIMIT_AS, &before);
  tight = before;
  tight.rlim_cur = 0;
  handled = 0;
  reserve = malloc(size + size / 2);
  std::set_new_handler(frees_reserve);
  size_t pages = 0;
  FILE *statm = fopen("/proc/self/statm", "r");
  if (!statm || fscanf(statm, "%zu", &pages) != 1)
    abort();
  fclose(statm);
  tight.rlim_cur = pages * 4096 + size / 2;
  setrlimit(RLIMIT_AS, &tight);
  BAD_ALLOC_STEP("handler frees a reserve", p = operator new(size));
  setrlimit(RLIMIT_AS, &before);
  printf("handled %d, reserve %d\n", handled, reserve != NULL);
  operator delete(p);
}

static void handlers()
{
  std::set_new_handler(gives_up_at_three);
  BAD_ALLOC_STEP("handler gives up", p = operator new(huge));
  printf("handled %d\n", handled);
  handled = 0;
  std::set_new_handler(throws_bad_alloc);
  BAD_ALLOC_STEP("handler throws", p = operator new(huge));
  BAD_ALLOC_STEP("handler throws, nothrow", p = operator new(huge, std::nothrow));
  BAD_ALLOC_STEP("handler throws, aligned nothrow", p = operator new[](huge, wide, std::nothrow));
  printf("handled %d\n", handled);
  bool other = false;
  std::set_new_handler(throws_other);
  try {
    BAD_ALLOC_STEP("handler throws what is no bad_alloc", p = operator new(huge));
  } catch (const other_error &) {
    if (entries_end)
      entries_end();
    other = true;
  }
  printf("other %d\n", other);
  with_reserve(size_t(64) << 20);
  std::set_new_handler(nullptr);
}

static void many()
{
  int caught = 0;
  for (int i = 0; i < 10000; i++)
    try {
      p = operator new(huge);
    } catch (const std::bad_alloc &) {
      caught++;
    }
  printf("caught %d\n", caught);
  STEP("new after that", p = operator new(64); operator delete(p), "%d", p != NULL);
}

int main()
{
  pairs();
  failures();
  handlers();
  many();
  return 0;
}
