/* referrers.c - holds blocks in several ways, prints their addresses by name, and waits */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ENTRIES = 100, ITEM_BYTES = 5000 };

struct entry {
  struct entry *next;
  char *item;
};

struct table {
  char name[16];
  struct entry *first;
  struct entry *last;
};

struct table *table; /* zero in the file */
char *second = "set";
static _Thread_local char *volatile local;
static pthread_barrier_t barrier;

static void *hold(void *unused)
{
  char *volatile held = malloc(100);
  (void)unused;
  printf("held %p\n", (void *)held);
  pthread_barrier_wait(&barrier);
  for (;;)
    pause();
  return held;
}

int main(void)
{
  pthread_t thread;
  setvbuf(stdout, NULL, _IONBF, 0);
  table = calloc(1, sizeof *table);
  for (int i = 0; i < ENTRIES; i++) {
    struct entry *entry = malloc(sizeof *entry);
    entry->item = calloc(1, ITEM_BYTES);
    entry->next = table->first;
    table->first = entry;
    if (i == 0)
      table->last = entry;
    if (i == ENTRIES - 3) {
      printf("third_entry %p\n", (void *)entry);
      printf("third_item %p\n", (void *)entry->item);
    }
  }
  printf("table %p\n", (void *)table);
  second = malloc(100);
  printf("second %p\n", (void *)second);
  local = malloc(100);
  printf("local %p\n", (void *)local);
  char **pages = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  pages[3] = (char *)malloc(100) + 40;
  printf("mapped %p\n", (void *)(pages[3] - 40));
  printf("pages %p\n", (void *)pages);
  pthread_barrier_init(&barrier, NULL, 2);
  pthread_create(&thread, NULL, hold, NULL);
  pthread_barrier_wait(&barrier);
  puts("ready");
  getchar();
  return 0;
}
