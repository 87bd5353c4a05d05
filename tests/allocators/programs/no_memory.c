/* no_memory.c - each mapping in turn is the first one that fails: malloc and the others return NULL with ENOMEM, and nothing else changes
 *
 * The limit of the address space is raised step by step, each time in a new child. Prints how many limits were too low.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCKS = 36, STEPS = 4000, STEP_BYTES = 16 << 10, MORE_EACH_STEP = 1 << 10 };

static const size_t sizes[] = {24, 700, 9000, 70000, 400000, 2500000};

static void *volatile seen; /* the compiler must not leave out calls */

static size_t size_of(int i)
{
  return sizes[i % 6] + (size_t)i;
}

static void *request(int i)
{
  const size_t bytes = size_of(i);
  void *block = NULL;
  switch (i % 4) {
  case 0:
    return malloc(bytes);
  case 1:
    return calloc(1, bytes);
  case 2:
    return aligned_alloc(256, bytes / 256 * 256 + 256);
  default:
    errno = posix_memalign(&block, 64, bytes);
    return block;
  }
}

static void fail(const char *what, int i)
{
  fprintf(stderr, "%s, block %d, errno %d\n", what, i, errno);
  _exit(2);
}

static void *checked_request(int i)
{
  errno = 0;
  unsigned char *block = seen = request(i);
  if (!block && errno != ENOMEM)
    fail("refused without ENOMEM", i);
  for (size_t at = 0; block && i % 4 == 1 && at < size_of(i); at++)
    if (block[at])
      fail("not zeroed", i);
  if (block)
    memset(block, i + 1, size_of(i));
  return block;
}

static void check(const unsigned char *block, int i)
{
  for (size_t at = 0; at < size_of(i); at++)
    if (block[at] != (unsigned char)(i + 1))
      fail("contents changed", i);
}

/* Returns the block, which is longer now if there was memory. */
static void *grown(unsigned char *block, int i)
{
  errno = 0;
  unsigned char *longer = seen = realloc(block, 2 * size_of(i));
  if (!longer && errno != ENOMEM)
    fail("realloc refused without ENOMEM", i);
  return longer ? longer : block;
}

static size_t address_space(void)
{
  size_t pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file || fscanf(file, "%zu", &pages) != 1)
    exit(3);
  fclose(file);
  return pages * 4096;
}

/* Returns whether there was enough. */
static int use(size_t room)
{
  void *blocks[BLOCKS];
  int refused = 0;
  struct rlimit usual, limit;
  if (getrlimit(RLIMIT_AS, &usual) != 0)
    fail("no limit", -1);
  limit = (struct rlimit){address_space() + room, usual.rlim_max};
  if (setrlimit(RLIMIT_AS, &limit) != 0)
    fail("the limit cannot be set", -1);
  for (int i = 0; i < BLOCKS; i++) {
    blocks[i] = checked_request(i);
    refused += !blocks[i];
    if (blocks[i] && i % 3 == 0)
      blocks[i] = grown(blocks[i], i);
  }
  setrlimit(RLIMIT_AS, &usual);
  for (int i = 0; i < BLOCKS; i++) {
    if (blocks[i])
      check(blocks[i], i);
    free(blocks[i]);
    if (!(blocks[i] = checked_request(i)))
      fail("refused although there is memory again", i);
  }
  for (int i = 0; i < BLOCKS; i++) {
    check(blocks[i], i);
    free(blocks[i]);
  }
  return refused == 0;
}

int main(void)
{
  for (int step = 0; step < STEPS; step++) {
    int status;
    fflush(stdout);
    const pid_t child = fork();
    if (!child)
      _exit(use((size_t)step * (STEP_BYTES + (size_t)step * MORE_EACH_STEP)) ? 0 : 1);
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) > 1) {
      printf("step %d: status %#x\n", step, status);
      return 1;
    }
    if (WEXITSTATUS(status) == 0) {
      printf("%d limits were too low\n", step);
      return 0;
    }
  }
  printf("no limit was high enough\n");
  return 1;
}
