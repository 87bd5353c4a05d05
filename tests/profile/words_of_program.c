/* words_of_program.c - what a program may note besides its calls: scopes, tasks, breaches, marks, counters, heaps */
#include "words_of_program.h"

enum { FRAME = 1, ZONE, WARM, LEVEL, ARENA, TASK, NODE = 2, INSTANCES = 6, INSTANCE_TICKS = 60 };

/* One instance of a scope; every other one has a forbidden zone, in which it allocates and frees. */
static void add_instance(struct enc *enc, int chunk, uint64_t tick, uint64_t number)
{
  const uint64_t at = 0x900000 + number * 64;
  enc_scope(enc, chunk, tick, HW_SCOPE_BEGIN_NUMBER, FRAME, number);
  enc_alloc(enc, chunk, tick + 1, NODE, 24 + number, at);
  if (number % 2) {
    enc_scope(enc, chunk, tick + 2, HW_SCOPE_BEGIN_FORBIDDEN, ZONE, 0);
    enc_alloc(enc, chunk, tick + 3, NODE, 8, at + 32);
    enc_free(enc, chunk, tick + 4, at + 32);
    enc_scope(enc, chunk, tick + 5, HW_SCOPE_END, 1, 0);
  }
  enc_scope(enc, chunk, tick + 6, HW_SCOPE_COUNTER, LEVEL, hw_counter_encode(1.5 * (double)number));
  enc_scope(enc, chunk, tick + 7, HW_SCOPE_END, 1, 0);
  enc_free(enc, chunk, tick + 8, at);
}

/* A task that is entered twice, in which a scope with a text goes on. */
static void add_task(struct enc *enc, int chunk, uint64_t tick)
{
  enum { NUMBER = 1 };
  static const char text[] = {NUMBER, '/', 'a'};
  enc_record(enc, chunk, HW_RECORD_TEXT, text, sizeof text);
  enc_scope(enc, chunk, tick, HW_SCOPE_TASK, TASK, NUMBER);
  enc_scope(enc, chunk, tick + 1, HW_SCOPE_ENTER, NUMBER, 0);
  enc_scope(enc, chunk, tick + 2, HW_SCOPE_BEGIN_TEXT, FRAME, NUMBER);
  enc_alloc(enc, chunk, tick + 3, NODE, 40, 0x910000);
  enc_scope(enc, chunk, tick + 4, HW_SCOPE_LEAVE, NUMBER, 0);
  enc_scope(enc, chunk, tick + 6, HW_SCOPE_ENTER, NUMBER, 0);
  enc_free(enc, chunk, tick + 7, 0x910000);
  enc_scope(enc, chunk, tick + 8, HW_SCOPE_END, 1, 0);
  enc_scope(enc, chunk, tick + 9, HW_SCOPE_LEAVE, NUMBER, 0);
  enc_scope(enc, chunk, tick + 10, HW_SCOPE_FINISH, NUMBER, 0);
}

static void add_heap(struct enc *enc, int chunk, uint64_t tick)
{
  const struct enc_heap_event events[] = {
      {.op = HW_HEAP_CREATE, .heap = 1, .name = ARENA},
      {.op = HW_HEAP_ALLOC, .heap = 1, .name = ARENA, .node = NODE, .size = 100, .address = 0x900000},
      {.op = HW_HEAP_ALLOC, .heap = 1, .name = ARENA, .node = NODE, .size = 300, .address = 0x900100},
      {.op = HW_HEAP_FREE, .heap = 1, .name = ARENA, .address = 0x900000},
      {.op = HW_HEAP_FAILED, .heap = 1, .name = ARENA, .node = NODE, .size = 1 << 20},
  };
  for (size_t i = 0; i < sizeof events / sizeof *events; i++)
    enc_heap(enc, chunk, tick + i, &events[i]);
}

void enc_words(struct enc *enc, int chunk, uint64_t tick)
{
  static const char *const names[] = {"frame", "zone", "warm", "level", "arena", "task"};
  for (uint8_t i = 0; i < sizeof names / sizeof *names; i++)
    enc_name(enc, chunk, (uint8_t)(i + 1), names[i]);
  for (uint64_t i = 0; i < INSTANCES; i++)
    add_instance(enc, chunk, tick + i * INSTANCE_TICKS, i);
  enc_scope(enc, chunk, tick + INSTANCES * INSTANCE_TICKS, HW_SCOPE_MARK, WARM, 0);
  enc_scope(enc, chunk, tick + INSTANCES * INSTANCE_TICKS + 1, HW_SCOPE_MARK, FRAME,
            0); /* a name that is also a scope's */
  add_heap(enc, chunk, tick + INSTANCES * INSTANCE_TICKS + 2);
  add_task(enc, chunk, tick + INSTANCES * INSTANCE_TICKS + 10);
}
