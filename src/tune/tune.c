/* tune.c - computes how large a pool a program needs: replays until a pool is large enough */
#include "tune/tune.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "allocators/process/settings.h"
#include "platform/os.h"
#include "report/content/evidence.h"
#include "trace/grow.h"

/* Address space for a pool without a limit: this many times the requested bytes at the peak, and an addend. */
enum { ROOM_FACTOR = 64, ROOM_LEAST_BYTES = 64 << 20, PASSES_MAX = 40, PERCENT = 100 };

/* A realloc whose first half was replayed. */
struct moving {
  uint32_t image, block; /* 0: none */
};

/* One replay of the run. */
struct pass {
  struct hwi_tune *tune;
  uint32_t *numbers;                /* by image: index in processes, plus 1; 0: not one of them */
  struct hwi_pool_replay **replays; /* by process; NULL: not begun, or ended */
  bool *ended;
  struct moving *moving; /* by thread */
  size_t moving_capacity;
  bool is_limited;        /* the pools have the sizes recommended so far */
  struct hwi_error error; /* why the replay was stopped; status 0: it was not */
};

static int no_memory(struct hwi_error *error)
{
  return hwi_error_set(error, HW_ERR_MEMORY, "no memory to replay the recording on a pool");
}

static uint64_t whole_pages(uint64_t bytes)
{
  return (bytes + HWI_OS_PAGE_BYTES - 1) & ~(uint64_t)(HWI_OS_PAGE_BYTES - 1);
}

/* --- one process --- */

static uint64_t times(uint64_t left, uint64_t right)
{
  uint64_t product;
  return __builtin_mul_overflow(left, right, &product) ? UINT64_MAX : product;
}

static uint64_t unlimited_bytes(const struct pass *pass, const struct hwi_tuned *tuned)
{
  uint64_t wanted = times(tuned->image->totals.peak_bytes / HWI_OS_PAGE_BYTES + 1, HWI_OS_PAGE_BYTES * ROOM_FACTOR);
  uint64_t most = (HWI_HEAP_LARGEST_BYTES / pass->tune->count) & ~(uint64_t)(HWI_OS_PAGE_BYTES - 1);
  wanted = wanted < ROOM_LEAST_BYTES ? ROOM_LEAST_BYTES : wanted;
  return wanted < most ? wanted : most;
}

/* Returns the process from which this one was forked, if it is in the list and has not ended. */
static const struct hwi_pool_replay *parent_of(const struct pass *pass, const struct hwi_tuned *tuned)
{
  const uint8_t *id = tuned->image->info->header.parent_image_id;
  for (size_t i = 0; i < pass->tune->count; i++)
    if (!memcmp(pass->tune->processes[i].image->info->header.image_id, id, HW_ID_BYTES))
      return pass->replays[i];
  return NULL;
}

static bool begin(struct pass *pass, size_t number)
{
  struct hwi_tuned *tuned = &pass->tune->processes[number];
  uint64_t bytes = pass->is_limited ? tuned->pool_bytes : unlimited_bytes(pass, tuned);
  struct hwi_pool_replay *replay = calloc(1, sizeof *replay);
  if (!replay || !hwi_pool_replay_init(replay, bytes)) {
    free(replay);
    hwi_error_set(&pass->error, HW_ERR_MEMORY,
                  "no memory for a pool of %" PRIu64 " bytes of address space; see ulimit -v", bytes);
    return false;
  }
  pass->replays[number] = replay;
  if (tuned->image->info->header.origin != HW_ORIGIN_FORK)
    return true;
  const struct hwi_pool_replay *parent = parent_of(pass, tuned);
  tuned->inherits_unknown = !parent;
  return !parent || hwi_pool_replay_inherit(replay, parent);
}

static void end(struct pass *pass, size_t number)
{
  struct hwi_pool_replay *replay = pass->replays[number];
  pass->ended[number] = true;
  if (!replay)
    return;
  struct hwi_pool_figures *figures = &pass->tune->processes[number].figures;
  if (pass->is_limited)
    figures->refused_count = replay->figures.refused_count;
  else
    *figures = replay->figures;
  hwi_pool_replay_release(replay);
  free(replay);
  pass->replays[number] = NULL;
}

/* --- events --- */

/* Ends the first half of the thread's realloc: its block is passed on in *handed_over, or freed if the second half did
 * not follow. Returns false if there is no memory. */
static bool settle_moving(struct pass *pass, const struct hwi_block_event *event, uint32_t *handed_over)
{
  *handed_over = 0;
  if (!hwi_grow((void **)&pass->moving, &pass->moving_capacity, (size_t)event->thread + 1, sizeof *pass->moving))
    return false;
  struct moving *moving = &pass->moving[event->thread];
  struct hwi_pool_replay *replay = pass->replays[pass->numbers[event->image] - 1];
  if (moving->block && moving->image == event->image) {
    if (event->kind == HWI_BLOCK_ALLOC && event->moved)
      *handed_over = moving->block;
    else
      hwi_pool_replay_free(replay, moving->block);
  }
  *moving = (struct moving){0};
  return true;
}

static bool apply(struct pass *pass, struct hwi_pool_replay *replay, const struct hwi_block_event *event)
{
  uint32_t old = 0;
  bool is_missed = event->kind == HWI_BLOCK_FREE_MISSED; /* a missed free comes between the halves of a realloc */
  if (!is_missed && !settle_moving(pass, event, &old))
    return false;
  if (event->kind == HWI_BLOCK_ALLOC)
    return hwi_pool_replay_alloc(replay, event, old);
  uint32_t block = hwi_pool_replay_take(replay, event->address);
  if (block && event->moved && !is_missed)
    pass->moving[event->thread] = (struct moving){event->image, block};
  else if (block)
    hwi_pool_replay_free(replay, block);
  return true;
}

static bool take(void *context, const struct hwi_block_event *event)
{
  struct pass *pass = context;
  uint32_t number = pass->numbers[event->image];
  if (!number || pass->ended[number - 1] || event->kind == HWI_BLOCK_FAILED || !event->address)
    return true;
  if (event->kind == HWI_BLOCK_LEFT) {
    end(pass, number - 1);
    return true;
  }
  if (!pass->replays[number - 1] && !begin(pass, number - 1)) {
    if (!pass->error.status)
      no_memory(&pass->error);
    return false;
  }
  if (apply(pass, pass->replays[number - 1], event))
    return true;
  no_memory(&pass->error);
  return false;
}

/* --- passes --- */

static bool init_pass(struct pass *pass, struct hwi_tune *tune)
{
  pass->tune = tune;
  pass->numbers = calloc(tune->profile->image_count + 1, sizeof *pass->numbers);
  pass->replays = calloc(tune->count, sizeof *pass->replays);
  pass->ended = calloc(tune->count, sizeof *pass->ended);
  for (size_t i = 0; pass->numbers && i < tune->count; i++)
    pass->numbers[tune->processes[i].image - tune->profile->images] = (uint32_t)i + 1;
  return pass->numbers && pass->replays && pass->ended;
}

static void release_pass(struct pass *pass)
{
  for (size_t i = 0; pass->replays && pass->ended && i < pass->tune->count; i++)
    end(pass, i);
  free(pass->numbers);
  free(pass->replays);
  free(pass->ended);
  free(pass->moving);
}

static int run_pass(struct hwi_tune *tune, const struct hwi_tune_question *question, bool is_limited,
                    struct hwi_error *error)
{
  struct pass pass = {.is_limited = is_limited};
  const struct hwi_block_sink sink = {.take = take, .context = &pass};
  int status =
      init_pass(&pass, tune) ? question->replayer.run(question->replayer.context, &sink, error) : no_memory(error);
  if (pass.error.status) {
    status = pass.error.status;
    *error = pass.error;
  }
  tune->passes++;
  release_pass(&pass);
  return status;
}

/* Sets the recommended size: the extent and the margin. */
static void recommend(const struct hwi_tune *tune, struct hwi_tuned *tuned)
{
  uint64_t extent = tuned->figures.extent_bytes;
  uint64_t bytes = whole_pages(extent + (extent * tune->margin_percent + PERCENT - 1) / PERCENT);
  tuned->pool_bytes = bytes < HWI_POOL_LEAST_BYTES ? HWI_POOL_LEAST_BYTES : bytes;
}

/* Enlarges the pools that were too small. Returns false if there were none. */
static bool enlarge(const struct hwi_tune *tune)
{
  enum { STEP_SHARE = 32 };
  bool any = false;
  for (size_t i = 0; i < tune->count; i++) {
    struct hwi_tuned *tuned = &tune->processes[i];
    if (!tuned->figures.refused_count)
      continue;
    tuned->figures.extent_bytes += tuned->figures.extent_bytes / STEP_SHARE;
    recommend(tune, tuned);
    any = true;
  }
  return any;
}

static int replay_until_enough(struct hwi_tune *tune, const struct hwi_tune_question *question, struct hwi_error *error)
{
  int status = run_pass(tune, question, false, error);
  for (size_t i = 0; i < tune->count && status == HW_OK; i++) {
    if (tune->processes[i].figures.refused_count)
      status = hwi_error_set(error, HW_ERR_LIMIT,
                             "process %" PRIu32 " asks for more than a pool can have: %" PRIu64
                             " of its requests do not fit into %" PRIu64 " bytes",
                             tune->processes[i].image->info->header.pid, tune->processes[i].figures.refused_count,
                             (uint64_t)HWI_HEAP_LARGEST_BYTES);
    recommend(tune, &tune->processes[i]);
  }
  do {
    if (status == HW_OK && tune->passes == PASSES_MAX)
      status = hwi_error_set(error, HW_ERR_LIMIT, "no pool size was found on which the replay needs no growth");
    if (status == HW_OK)
      status = run_pass(tune, question, true, error);
  } while (status == HW_OK && enlarge(tune));
  return status;
}

static int larger_first(const void *left, const void *right)
{
  const struct hwi_tuned *a = left, *b = right;
  if (a->pool_bytes != b->pool_bytes)
    return a->pool_bytes < b->pool_bytes ? 1 : -1;
  return (a->image > b->image) - (a->image < b->image);
}

int hwi_tune_init(struct hwi_tune *tune, const struct hwi_tune_question *question, struct hwi_error *error)
{
  const struct hwi_profile *profile = question->profile;
  *tune = (struct hwi_tune){.profile = profile, .margin_percent = question->margin_percent};
  tune->processes = calloc(profile->image_count + 1, sizeof *tune->processes);
  if (!tune->processes)
    return no_memory(error);
  for (uint32_t i = 0; i < profile->image_count; i++)
    if (profile->images[i].counted)
      tune->processes[tune->count++].image = &profile->images[i];
  int status = hwi_need_all_events(profile, "the size of a pool", error);
  if (status < 0) {
    hwi_tune_release(tune);
    return status;
  }
  status = tune->count > 0 ? replay_until_enough(tune, question, error)
                           : hwi_error_set(error, HW_ERR_DAMAGED, "no process of the run can be read");
  if (status < 0)
    hwi_tune_release(tune);
  else
    qsort(tune->processes, tune->count, sizeof *tune->processes, larger_first);
  return status;
}

void hwi_tune_release(struct hwi_tune *tune)
{
  free(tune->processes);
  tune->processes = NULL;
  tune->count = 0;
}
