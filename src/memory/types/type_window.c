/* type_window.c - follows the pointers in many blocks of the queue together, in the order of their addresses
 *
 * The labels are those that the blocks would give one after the other:
 * - First, the pointers in all blocks are read; no label changes meanwhile. The claims get the order in which the blocks would have made
 *   them: that of the queue.
 * - Then the claims are handled, which are sorted by the addresses of their blocks. Those for one block are in order.
 * - What they push comes into the queue in the order of the claims.
 * The one difference would be a block of the window that gets a better label from another one, and would have been read with it.
 * If that happens, which is seldom, all labels are taken back, and the blocks are followed one after the other. The same if
 * there are too many claims, but with fewer blocks.
 */
#include "memory/types/type_spread.h"
#include "trace/table.h"

enum {
  AHEAD = 24, /* blocks whose bytes are fetched */
  BLOCKS_LEAST = 256,
  BLOCKS_MOST = 1 << 23,
};

void hwi_type_window_release(struct hwi_type_window *window)
{
  hwi_table_release(window->blocks, window->block_capacity * sizeof *window->blocks);
  hwi_table_release(window->orders, window->order_capacity * sizeof *window->orders);
  hwi_table_release(window->pushed, window->pushed_capacity * sizeof *window->pushed);
  hwi_table_release(window->changes, window->change_capacity * sizeof *window->changes);
}

void hwi_type_window_change(struct hwi_type_spread *spread, uint32_t block)
{
  struct hwi_type_window *window = &spread->window;
  const uint32_t before = spread->label_of[block];
  window->is_void |= (before & HWI_TYPE_FOLLOWED) != 0;
  if (!hwi_table_grow((void **)&window->changes, &window->change_capacity, window->change_count + 1,
                      sizeof *window->changes))
    spread->failed = true;
  else
    window->changes[window->change_count++] = (struct hwi_label_change){block, before};
}

void hwi_type_window_push(struct hwi_type_spread *spread, const struct hwi_queued *queued)
{
  struct hwi_type_window *window = &spread->window;
  if (!hwi_table_grow((void **)&window->pushed, &window->pushed_capacity, window->pushed_count + 1,
                      sizeof *window->pushed))
    spread->failed = true;
  else
    window->pushed[window->pushed_count++] =
        (struct hwi_sort_item){.key = window->order, .item = queued->block, .detail = queued->elements};
}

void hwi_type_window_close(struct hwi_type_spread *spread)
{
  struct hwi_type_window *window = &spread->window;
  if (!hwi_radix_sort(window->pushed, window->pushed_count)) /* the largest first */
    spread->failed = true;
  for (size_t i = window->pushed_count; i-- > 0 && !spread->failed;)
    hwi_type_queue_push(spread, &(struct hwi_queued){window->pushed[i].item, window->pushed[i].detail});
  window->pushed_count = window->change_count = 0;
  window->is_open = false;
}

/* --- the blocks --- */

static bool sort_blocks(struct hwi_type_spread *spread, size_t count)
{
  struct hwi_type_window *window = &spread->window;
  if (!hwi_table_grow((void **)&window->blocks, &window->block_capacity, count, sizeof *window->blocks) ||
      !hwi_table_grow((void **)&window->orders, &window->order_capacity, count, sizeof *window->orders))
    return false;
  for (size_t i = 0; i < count; i++) {
    const struct hwi_queued *queued = hwi_type_queue_at(spread, i);
    window->blocks[i] = (struct hwi_sort_item){.key = queued->block, .item = (uint32_t)i, .detail = queued->elements};
  }
  return hwi_radix_sort(window->blocks, count);
}

/* Asks for what is read of a block soon: its label, and the bytes that a small object has. */
static void fetch(const struct hwi_type_spread *spread, size_t block)
{
  enum { SMALL_BYTES = 48 };
  const uint64_t address = spread->index->blocks[block].address;
  __builtin_prefetch(&spread->label_of[block]);
  hwi_type_fetch(spread, address);
  hwi_type_fetch(spread, address + SMALL_BYTES - 1);
}

/* Lists the claims of all blocks; `orders` are how many each one has. */
static void read_blocks(struct hwi_type_spread *spread, size_t count)
{
  struct hwi_type_window *window = &spread->window;
  struct hwi_type_claims *claims = &spread->claims;
  claims->is_of_many = true;
  for (size_t i = 0; i < count && !spread->failed && !claims->is_full; i++) {
    const struct hwi_queued queued = {(uint32_t)window->blocks[i].key, window->blocks[i].detail};
    const size_t before = claims->count;
    if (i + 2 * AHEAD < count)
      __builtin_prefetch(&spread->index->blocks[window->blocks[i + 2 * AHEAD].key]);
    if (i + AHEAD < count)
      fetch(spread, window->blocks[i + AHEAD].key);
    claims->maker = window->blocks[i].item;
    hwi_type_spread_block(spread, &queued);
    window->orders[claims->maker] = (uint32_t)(claims->count - before);
  }
  claims->is_of_many = false;
}

/* Sets the order in which the claims would have been made. */
static void order_claims(struct hwi_type_spread *spread, size_t count)
{
  uint32_t *orders = spread->window.orders, before = 0;
  for (size_t i = 0; i < count; i++) {
    const uint32_t claims = orders[i];
    orders[i] = before;
    before += claims;
  }
  for (size_t i = 0; i < spread->claims.count; i++)
    spread->claims.list[i].item = orders[spread->claims.list[i].item]++;
}

static void change_flags(struct hwi_type_spread *spread, size_t count, uint32_t away, uint32_t more)
{
  for (size_t i = 0; i < count; i++) {
    uint32_t *label = &spread->label_of[spread->window.blocks[i].key];
    *label = (*label & ~away) | more;
  }
}

static void take_back(struct hwi_type_spread *spread)
{
  struct hwi_type_window *window = &spread->window;
  for (size_t i = window->change_count; i-- > 0;)
    spread->label_of[window->changes[i].block] = window->changes[i].before;
  window->pushed_count = window->change_count = 0;
  window->is_open = window->is_void = false;
}

/* Returns whether the blocks gave the labels that they would have given one after the other; else they gave none. */
static bool follow(struct hwi_type_spread *spread, size_t count)
{
  struct hwi_type_claims *claims = &spread->claims;
  read_blocks(spread, count);
  if (claims->is_full || spread->failed) {
    claims->count = 0;
    claims->is_full = false;
    return false;
  }
  order_claims(spread, count);
  change_flags(spread, count, HWI_TYPE_QUEUED, HWI_TYPE_FOLLOWED);
  spread->window.is_open = true;
  hwi_type_claims_handle(spread);
  const bool done = !spread->window.is_void;
  if (!done)
    take_back(spread);
  change_flags(spread, count, HWI_TYPE_FOLLOWED, done ? 0 : HWI_TYPE_QUEUED);
  return done;
}

void hwi_type_window_follow(struct hwi_type_spread *spread)
{
  struct hwi_type_window *window = &spread->window;
  const uint64_t work = spread->work;
  window->most = window->most ? window->most : BLOCKS_MOST;
  const size_t count = spread->waiting < window->most ? spread->waiting : window->most;
  if (!sort_blocks(spread, count)) {
    spread->failed = true;
    return;
  }
  if (follow(spread, count)) {
    hwi_type_queue_pop(spread, count);
    hwi_type_window_close(spread);
    window->most = window->most < BLOCKS_MOST ? 2 * window->most : BLOCKS_MOST;
    return;
  }
  spread->work = work;
  window->most = count > 2 * BLOCKS_LEAST ? count / 2 : BLOCKS_LEAST;
  for (size_t i = 0; i < BLOCKS_LEAST && i < count && !spread->failed; i++)
    hwi_type_queue_follow_first(spread);
}
