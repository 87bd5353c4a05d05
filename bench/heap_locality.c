/* heap_locality.c - reads and writes many objects of 32 bytes: heap_locality OBJECTS shuffled|in-order VISITS
 *
 * The objects are allocated one after the other. "shuffled" frees them in random order, and allocates as many again, before
 * all are visited in the order of their allocation. The difference between runs that differ in VISITS is the cost of a visit.
 */
#include "heap_bench.h"

struct object {
  uint64_t words[4];
};

static void allocate(void **objects, size_t count)
{
  for (size_t i = 0; i < count; i++)
    objects[i] = get(sizeof(struct object));
}

int main(int argc, char **argv)
{
  if (argc != 4)
    return 2;
  size_t count = strtoul(argv[1], NULL, 10);
  void **objects = map(count * sizeof *objects), **others = map(count * sizeof *others);
  allocate(objects, count);
  if (!strcmp(argv[2], "shuffled")) {
    memcpy(others, objects, count * sizeof *objects);
    shuffle(others, count);
    for (size_t i = 0; i < count; i++)
      free(others[i]);
    allocate(objects, count);
  }
  uint64_t sum = 0;
  for (size_t visit = strtoul(argv[3], NULL, 10); visit; visit--)
    for (size_t i = 0; i < count; i++) {
      volatile struct object *object = objects[i];
      object->words[0] = i;
      sum += object->words[3];
    }
  return sum == 1;
}
