/* fuzz_pool.c - bytes as operations on a pool: each step is compared with a plain list, and the whole pool is
 * checked */
#include "pool_model.h"

enum { MEMORY_BYTES = 1 << 18, START_BYTES = 1 << 14, REGION_UNIT = 40 };

struct input {
  const uint8_t *at, *end;
};

static unsigned take(struct input *input)
{
  return input->at < input->end ? *input->at++ : 0;
}

/* A size of any magnitude from two bytes: five bits are the magnitude, the rest the value. */
static size_t take_size(struct input *input)
{
  unsigned magnitude = take(input), rest = take(input);
  size_t bytes = ((size_t)(magnitude >> 5) << 8 | rest) << (magnitude & 31) >> 11;
  return magnitude == 255 ? SIZE_MAX - rest : bytes;
}

static size_t take_block(struct input *input, const struct model *model)
{
  return (take(input) | take(input) << 8) % model->count;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
  static _Alignas(64) unsigned char memory[MEMORY_BYTES];
  struct input input = {bytes, bytes + count};
  size_t odd = take(&input) % 64;
  struct model model = {.pool = hw_pool_init(memory + odd, START_BYTES, take(&input) % 2 ? MEMORY_BYTES : 0)};
  if (!model.pool)
    return 0;
  while (input.at < input.end) {
    unsigned operation = take(&input) % 8;
    if (operation < 3)
      model_alloc(&model, 0, take_size(&input));
    else if (operation == 3)
      model_alloc(&model, (size_t)1 << take(&input) % 20, take_size(&input));
    else if (operation == 4)
      hw_pool_add_region(model.pool, memory + odd + take_size(&input) % (MEMORY_BYTES - 64 - 256 * REGION_UNIT),
                         take(&input) * REGION_UNIT);
    else if (model.count && operation == 5)
      model_resize(&model, take_block(&input, &model), take_size(&input));
    else if (model.count && operation == 6)
      model_realloc(&model, take_block(&input, &model), take_size(&input));
    else if (model.count)
      model_free(&model, take_block(&input, &model));
    model_expect_valid(&model);
  }
  model_finish(&model);
  return 0;
}
