/* fuzz_reader.c - arbitrary bytes as a trace: no crash, no hang, no more memory than their size justifies
 *
 * An input is the file itself, but the mostly empty tool area of a raw trace is left out: page 0 is the header, the
 * tool area begins in page 1, and chunks follow. With HW_FUZZ_STANDALONE this is a program: fuzz_reader SECONDS [SEED].
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../fuzz_file.h"
#include "../fuzz_trace.h"
#include "profile/follow.h"
#include "trace/format.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static uint64_t read_instances(const struct hwi_profile *p, const struct hwi_worst *worst)
{
  uint64_t sum = 0;
  for (uint32_t i = 0; i < worst->count; i++) {
    const struct hwi_instance_detail *detail = worst->items[i].detail;
    if (!detail || detail->size_count > HWI_INSTANCE_SIZES_MAX || worst->items[i].thread >= p->thread_count)
      abort();
    for (uint32_t k = 0; k < detail->size_count; k++)
      if (detail->sizes[k].blocks == 0 || (k > 0 && detail->sizes[k].size <= detail->sizes[k - 1].size))
        abort();
    sum += detail->text ? strlen(detail->text) : 0;
  }
  return sum;
}

/* Reads everything that a report would read: any value may be invalid, but no index may leave its array. */
static uint64_t read_everything(const struct hwi_profile *p)
{
  uint64_t sum = 0;
  for (uint32_t i = 1; i < p->frame_count; i++) {
    if (p->frames[i].caller >= i || p->frames[i].module >= p->module_count || p->frames[i].entry >= HW_ENTRY_COUNT)
      abort();
    sum += p->frames[i].module ? strlen(p->modules[p->frames[i].module].path) : 0;
  }
  for (uint32_t i = 1; i < p->stack_count; i++)
    if (p->stacks[i].frame >= p->frame_count)
      abort();
  for (uint32_t i = 0; i < p->cell_count; i++) {
    const struct hwi_profile_cell *cell = &p->cells[i];
    if (cell->thread >= p->thread_count || cell->stack >= p->stack_count || cell->size >= p->size_count)
      abort();
  }
  for (uint32_t i = 0; i < p->thread_count; i++)
    sum += strnlen(p->threads[i].name, sizeof p->threads[i].name) + p->threads[i].image;
  if (p->timeline_count > 2000)
    abort();
  const struct hwi_trace_info *info = p->images[0].info;
  sum += strlen(info->command) + strlen(info->exe) + strlen(info->cwd);
  for (const char *const *e = info->environment; *e; e++)
    sum += strlen(*e);
  for (uint32_t i = 0; i < info->mark_count; i++)
    sum += strlen(info->marks[i].text);
  for (uint32_t i = 0; i < info->note_count; i++)
    sum += strlen(info->notes[i].text);
  for (uint32_t i = 1; i < p->scope_count; i++)
    for (int measure = 0; p->scopes[i].worst && measure < HWI_INSTANCE_MEASURES; measure++)
      sum += read_instances(p, &p->scopes[i].worst[measure]);
  for (uint32_t i = 0; i < p->heap_count; i++)
    sum += strlen(p->heaps[i].name) + p->heaps[i].live_bytes;
  return sum;
}

static bool take(void *context, const struct hwi_block_event *event)
{
  (void)context;
  (void)event;
  return true;
}

static bool take_scope(void *context, const struct hwi_scope_event *event)
{
  *(uint64_t *)context += event->text ? strlen(event->text) : 0;
  return true;
}

/* The same file, of which a half is there when it is begun to be followed. */
static uint64_t follow(const struct fuzz_file *file, const uint8_t *bytes, size_t count)
{
  enum { LOOKS = 6, EVENTS_A_LOOK = 50 };
  const struct hwi_profile_options options = {.images = HWI_IMAGES_ALL, .instance_details = true, .history = true};
  const struct hwi_profile *profile;
  struct hwi_follow *followed;
  struct hwi_error error = {.text = ""};
  uint64_t sum = 0;
  int state = HWI_FOLLOW_MORE;
  if (ftruncate(file->fd, 0) < 0)
    abort();
  fuzz_write_trace(file->fd, bytes, count / 2);
  const bool goes_on = hwi_follow_create(&followed, file->path, &options, &error) == 0;
  for (int i = 0; i < LOOKS && goes_on && state >= 0; i++) {
    state = hwi_follow_look(followed, EVENTS_A_LOOK, &error);
    if (i == LOOKS / 2)
      fuzz_write_trace(file->fd, bytes, count);
  }
  if (goes_on && state >= 0 && hwi_follow_profile(followed, &profile, &error) == 0)
    sum = read_everything(profile);
  else if (!error.text[0] || error.status == HW_ERR_MEMORY)
    abort();
  hwi_follow_destroy(followed);
  return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
  static volatile uint64_t sink;
  struct fuzz_file file = fuzz_file_open();
  fuzz_write_trace(file.fd, bytes, count);
  static const char *const heaps[] = {NULL, "*"}; /* malloc, and the program's own heaps */
  for (size_t i = 0; i < sizeof heaps / sizeof *heaps; i++) {
    struct hwi_profile *profile;
    struct hwi_profile_options options = {.images = HWI_IMAGES_LARGEST, .instance_details = true, .heap = heaps[i]};
    struct hwi_error error = {.text = ""};
    if (hwi_profile_create(&profile, file.path, &options, &error) == 0) {
      sink += read_everything(profile);
      hwi_profile_destroy(profile);
      uint64_t text_bytes = 0;
      const struct hwi_block_sink events = {take, &text_bytes, take_scope, .wants_texts = true};
      if (hwi_profile_events(file.path, &options, &events, &error) == HW_ERR_MEMORY)
        abort();
      sink += text_bytes;
    } else if (!error.text[0] || error.status == HW_ERR_MEMORY) {
      abort(); /* an error without a text, or memory for more than the bytes can hold */
    }
  }
  sink += follow(&file, bytes, count);
  close(file.fd);
  return 0;
}

#ifdef HW_FUZZ_STANDALONE
#include <time.h>

#include "encoder.c"
#include "samples.h"

enum { MUTATIONS_MOST = 12, SEED_MAX_BYTES = 1 << 16 };

static uint64_t random_state;

static uint32_t below(uint32_t limit)
{
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(random_state >> 33) % limit;
}

/* The file of a sample in the form of an input. */
static size_t make_seed(int which, uint8_t *to)
{
  static struct enc enc;
  size_t bytes;
  sample_make(&enc, which);
  uint8_t *file = enc_file(&enc, &bytes);
  size_t skip = enc.header.kind == HW_TRACE_RAW ? HW_TOOL_AREA_BYTES - FUZZ_PAGE : 0;
  size_t head = skip ? 2 * FUZZ_PAGE : 0;
  if (bytes - skip > SEED_MAX_BYTES)
    abort();
  memcpy(to, file, head);
  memcpy(to + head, file + head + skip, bytes - skip - head);
  free(file);
  enc_release(&enc);
  return bytes - skip;
}

/* Most damage is put at the bytes that have a meaning: the start of a page. */
static size_t mutate(uint8_t *bytes, size_t count)
{
  static const uint64_t values[] = {0, 1, 0x7f, 0x80, 0xff, UINT32_MAX, UINT64_MAX, INT64_MAX, 1 << 20};
  for (uint32_t i = below(MUTATIONS_MOST) + 1; i > 0 && count > 16; i--) {
    size_t at = below((uint32_t)count - 8);
    if (below(4))
      at = at / FUZZ_PAGE * FUZZ_PAGE + below(500);
    if (at + 8 > count)
      continue;
    switch (below(5)) {
    case 0:
      bytes[at] ^= (uint8_t)(1 << below(8));
      break;
    case 1:
      bytes[at] = (uint8_t)below(256);
      break;
    case 2:
      memcpy(bytes + at, &values[below(sizeof values / sizeof *values)], 1 << below(4));
      break;
    case 3:
      memmove(bytes + at, bytes + below((uint32_t)at + 1), count - at < 64 ? count - at : 64);
      break;
    default:
      if (below(8) == 0)
        count = at;
    }
  }
  return count;
}

int main(int argc, char **argv)
{
  static uint8_t seeds[SAMPLE_COUNT][SEED_MAX_BYTES], input[SEED_MAX_BYTES];
  size_t counts[SAMPLE_COUNT];
  for (int i = 0; i < SAMPLE_COUNT; i++)
    counts[i] = make_seed(i, seeds[i]);
  time_t end = time(NULL) + (argc > 1 ? strtol(argv[1], NULL, 10) : 10);
  random_state = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)time(NULL);
  unsigned long runs = 0;
  for (; time(NULL) < end; runs++) {
    uint32_t which = below(SAMPLE_COUNT);
    memcpy(input, seeds[which], counts[which]);
    LLVMFuzzerTestOneInput(input, mutate(input, counts[which]));
  }
  printf("%lu inputs\n", runs);
  return 0;
}
#endif
