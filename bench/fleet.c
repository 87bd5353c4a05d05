/* fleet.c - a service of a fleet: it serves SECONDS long so many requests a second, each of some allocations, keeps a cache, and
 * leaks a little */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { CACHE = 4096, BLOCKS = 10, HANDLERS = 8, LEAK_EVERY = 100 };

static void *cache[CACHE];
static unsigned long seed;

static unsigned long draw(void)
{
  seed = seed * 6364136223846793005UL + 1442695040888963407UL;
  return seed >> 33;
}

__attribute__((noinline)) static void handle(int depth, unsigned kind)
{
  void *blocks[BLOCKS];
  if (depth > 0) {
    handle(depth - 1, kind);
    __asm__ volatile("");
    return;
  }
  for (int i = 0; i < BLOCKS; i++) {
    const size_t size = 16 + draw() % (64u << kind);
    blocks[i] = malloc(size);
    memset(blocks[i], 1, size);
  }
  const size_t slot = draw() % CACHE;
  free(cache[slot]);
  cache[slot] = blocks[0];
  for (int i = 1; i < BLOCKS; i++)
    free(blocks[i]);
}

int main(int count, char **words)
{
  const double seconds = count > 1 ? atof(words[1]) : 60;
  const long requests = count > 2 ? atol(words[2]) : 50;
  const time_t end = time(NULL) + (time_t)seconds;
  seed = (unsigned long)getpid();
  for (unsigned long i = 0; time(NULL) < end; i++) {
    const unsigned kind = draw() % HANDLERS;
    handle(4 + (int)kind, kind);
    if (i % LEAK_EVERY == 0 && !malloc(256))
      return 1;
    usleep((useconds_t)(1000000 / requests));
  }
  return 0;
}
