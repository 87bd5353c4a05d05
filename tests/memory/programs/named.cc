// named.cc - holds a block in each kind of variable, prints the addresses of the blocks by name, and waits
#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <unistd.h>

namespace shop {
struct Shelf {
  long number;
  char *box;
};
Shelf shelves[8];                        // zero in the file
static char *volatile till = (char *)""; // not zero
inline char *shared;
struct Counter {
  static inline char *last;
};
thread_local char *basket;
thread_local long padding[5] = {1};
} // namespace shop

extern "C" void put_in_drawer(char *block); // of named_library.c

static pthread_barrier_t barrier;

static char *make(const char *name)
{
  char *block = (char *)malloc(100);
  printf("%s %p\n", name, (void *)block);
  return block;
}

__attribute__((noinline)) static void hold(const char *name)
{
  char *volatile held = make(name);
  shop::basket = make("thread-basket");
  put_in_drawer(make("thread-drawer"));
  pthread_barrier_wait(&barrier);
  for (;;)
    pause();
  (void)held;
}

static void *wait_in_hold(void *name)
{
  hold((const char *)name);
  return nullptr;
}

static void *end(void *)
{
  char *volatile forgotten = make("ended");
  (void)forgotten;
  return nullptr;
}

int main()
{
  pthread_t thread;
  setvbuf(stdout, nullptr, _IONBF, 0);
  shop::shelves[3].box = make("shelf");
  shop::till = make("till");
  shop::shared = make("shared");
  shop::Counter::last = make("last");
  shop::basket = make("basket");
  put_in_drawer(make("drawer"));
  shop::padding[4]++;
  pthread_create(&thread, nullptr, end, nullptr);
  pthread_join(thread, nullptr);
  pthread_barrier_init(&barrier, nullptr, 2);
  pthread_attr_t larger; // so that the stack of the thread that has ended is not used again
  pthread_attr_init(&larger);
  pthread_attr_setstacksize(&larger, 32 << 20);
  pthread_create(&thread, &larger, wait_in_hold, (void *)"held");
  pthread_barrier_wait(&barrier);
  puts("ready");
  getchar();
  return 0;
}
