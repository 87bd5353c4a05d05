/* board.c - a program for a Cortex-M board without an operating system, with owners in front of its blocks
 *
 * Its allocator gives out memory of an array, and has a list of free blocks of each size. When all is allocated, it says so
 * on its serial line, and waits for ever.
 */
#include <stddef.h>
#include <stdint.h>

extern uint32_t code_begin[], code_end[], data_load[], data_begin[], data_end[], bss_begin[], bss_end[], stack_end[];

enum { HEAP_BYTES = 24 << 10, LARGEST = 1024 };

static unsigned char heap[HEAP_BYTES] __attribute__((aligned(8)));
static size_t used;
static void *free_lists[LARGEST / 8 + 1];

static void *board_alloc(size_t bytes)
{
  bytes = (bytes + 7) & ~(size_t)7;
  void **list = &free_lists[bytes / 8], *memory = *list;
  if (bytes > LARGEST || (!memory && bytes + 8 > HEAP_BYTES - used))
    return NULL;
  if (memory) {
    *list = *(void **)memory;
    return memory;
  }
  *(size_t *)(heap + used) = bytes;
  memory = heap + used + 8;
  used += bytes + 8;
  return memory;
}

static void board_free(void *memory)
{
  void **list = &free_lists[*(size_t *)((unsigned char *)memory - 8) / 8];
  *(void **)memory = *list;
  *list = memory;
}

#define HW_ANNOTATE_ALLOC(bytes, align) board_alloc(bytes)
#define HW_ANNOTATE_FREE(memory) board_free(memory)
#define HW_ANNOTATE_ALIGN 8
#define HW_ANNOTATE_FRAMES 6
#define HW_ANNOTATE_TABLE_BYTES 2048
#define HW_ANNOTATE_CODE_BEGIN code_begin
#define HW_ANNOTATE_CODE_END code_end
#define HW_ANNOTATE_STACK_END stack_end
#include "heapwright/annotate.h"

#define OWNER __attribute__((noinline, noclone))

static void *kept[64];
static int count;

OWNER static void read_sensor(size_t bytes)
{
  kept[count++] = hw_annotate_malloc(bytes);
}

OWNER static void open_port(int times)
{
  for (int i = 0; i < times; i++)
    kept[count++] = hw_annotate_calloc(2, 50);
  hw_annotate_free(hw_annotate_malloc(200));
}

OWNER static void start(void)
{
  for (int i = 0; i < 10; i++)
    read_sensor(24 + 8 * (size_t)i);
  open_port(7);
  kept[0] = hw_annotate_realloc(kept[0], 300);
  for (int i = 1; i < 4; i++) {
    hw_annotate_free(kept[i]);
    kept[i] = NULL;
  }
}

static void say(const char *text)
{
  volatile uint32_t *serial = (volatile uint32_t *)0x4000c000;
  while (*text)
    *serial = (uint32_t)*text++;
}

__attribute__((noreturn)) void reset(void)
{
  uint32_t *from = data_load;
  for (volatile uint32_t *to = data_begin; to < data_end;)
    *to++ = *from++;
  for (volatile uint32_t *to = bss_begin; to < bss_end;)
    *to++ = 0;
  start();
  say("ready\n");
  for (;;)
    __asm__ volatile("wfi");
}

__attribute__((section(".vectors"), used)) static const void *const vectors[] = {stack_end, (const void *)reset};
