/* race.c - four threads pass blocks to one another immediately, so that the order across threads must be correct */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
enum { THREADS = 4, ROUNDS = 200000, SLOTS = 64 };
static _Atomic(void *) slots[SLOTS];
static void *work(void *seed)
{
  unsigned long x = (unsigned long)seed;
  for (int i = 0; i < ROUNDS; i++) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    void *other = atomic_exchange(&slots[x >> 58], malloc(16 + (x >> 33) % 64));
    if (i % 4 == 0) /* mostly to a size that the others use, and to another place */
      other = realloc(other, 16 + (x >> 20) % 128);
    free(other);
  }
  return NULL;
}
int main(void)
{
  pthread_t ids[THREADS];
  for (long i = 0; i < THREADS; i++)
    pthread_create(&ids[i], NULL, work, (void *)(i + 1));
  for (int i = 0; i < THREADS; i++)
    pthread_join(ids[i], NULL);
  for (int i = 0; i < SLOTS; i++)
    free(slots[i]);
}
