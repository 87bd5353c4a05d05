/* snapshots.c - for the tests: two moments, of which the second one has a block more; then the program crashes
 *
 * With the argument "threads", two threads allocate blocks of one byte instead, and free most of them.
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum { HALF = 128 << 10, ALL = 1 << 20, PAIRS = 4, ROUNDS = 1 << 20, EACH = 1024 };

static void *kept[2 * PAIRS + 1];

__attribute__((noipa)) static void pairs_function(void)
{
  for (size_t i = 0; i < 2 * PAIRS; i++)
    kept[i] = malloc(HALF - 1 + i % 2 * 2); /* without a condition, so that compilers make one call of it */
}

__attribute__((noipa)) static void large_function(void)
{
  kept[2 * PAIRS] = malloc(ALL);
}

__attribute__((noipa)) static void *churn(void *unused)
{
  for (int i = 0; i < ROUNDS; i++) {
    void *volatile block = malloc(1);
    if (i % EACH)
      free(block);
  }
  return unused;
}

/* Says that a moment is reached, and waits for a line. */
static void pause_here(void)
{
  char answer;
  if (write(STDOUT_FILENO, "moment\n", 7) != 7 || read(STDIN_FILENO, &answer, 1) != 1)
    _exit(1);
}

int main(int count, char **words)
{
  (void)words;
  if (count > 1) {
    pthread_t thread;
    pthread_create(&thread, NULL, churn, NULL);
    churn(NULL);
    pthread_join(thread, NULL);
  } else {
    pairs_function();
    pause_here();
    large_function();
    pause_here();
  }
  *(volatile int *)NULL = 0;
  return 0;
}
