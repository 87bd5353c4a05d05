/* image.c - one trace during its replay: maps its numbers to those of the profile
 *
 * A node gets its frame in the profile's tree once: its callers first, then the node itself. Nothing is
 * assumed about the numbers, so a forged cycle of nodes is detected: a node whose frame is being added counts as
 * unknown to the nodes that name it as caller.
 */
#include "profile/blocks/resolve.h"

#include <stdlib.h>
#include <string.h>

#include "trace/grow.h"
#include "trace/table.h"

static const uint32_t BEING_ADDED = UINT32_MAX;

/* The first moment after which there may be blocks that were not recorded. */
static uint64_t first_pause(const struct hwi_trace_info *info)
{
  for (uint32_t i = 0; i < info->mark_count; i++) {
    if (info->marks[i].type == HW_TOOL_PAUSED)
      return info->marks[i].ns;
    if (info->marks[i].type == HW_TOOL_RESUMED)
      return 0; /* recording was paused at the start */
  }
  return info->header.control == HW_CONTROL_PAUSE ? 0 : UINT64_MAX;
}

bool hwi_replay_image_init(struct hwi_replay_image *image, struct hwi_trace *trace, uint32_t number)
{
  const struct hwi_trace_info *info = hwi_trace_info(trace);
  *image = (struct hwi_replay_image){
      .trace = trace,
      .number = number,
      .clock = hwi_trace_clock(trace),
      .has_usable = info->header.fields & HW_FIELD_USABLE,
      .has_durations = info->header.fields & HW_FIELD_DURATION,
      .forked = info->header.origin == HW_ORIGIN_FORK,
      .sample_bytes = info->header.sample_bytes,
      .first_pause_ns = first_pause(info),
  };
  image->nodes.first_own = image->forked && info->header.inherited_nodes ? info->header.inherited_nodes : 1;
  return hwi_live_init(&image->live) && hwi_live_init(&image->freed_inherited);
}

void hwi_replay_image_update(struct hwi_replay_image *image)
{
  image->first_pause_ns = first_pause(hwi_trace_info(image->trace));
}

void hwi_replay_image_release(struct hwi_replay_image *image)
{
  hwi_trace_close(image->trace);
  hwi_table_release(image->nodes.own, image->nodes.own_capacity * sizeof *image->nodes.own);
  hwi_table_release(image->nodes.inherited, image->nodes.inherited_capacity * sizeof *image->nodes.inherited);
  free(image->path);
  hwi_hash_table_release(&image->modules);
  hwi_hash_table_release(&image->threads);
  hwi_hash_table_release(&image->scope_names);
  hwi_live_release(&image->live);
  hwi_live_release(&image->freed_inherited);
  hwi_heap_blocks_release(&image->heap_blocks);
  *image = (struct hwi_replay_image){0};
}

/* Returns 0, for an item that a complete resolver does not know. */
static uint32_t unknown(struct hwi_replay_image *image, const char *item)
{
  hwi_error_set(&image->error, HW_ERR_DAMAGED, "the summary does not have %s of the recording", item);
  return 0;
}

/* --- nodes --- */

/* NULL: no memory. */
static struct hwi_mapped_node *mapped(struct hwi_node_map *nodes, uint32_t node)
{
  bool own = node >= nodes->first_own;
  struct hwi_mapped_node **list = own ? &nodes->own : &nodes->inherited;
  size_t *capacity = own ? &nodes->own_capacity : &nodes->inherited_capacity;
  size_t index = own ? node - nodes->first_own : node;
  if (index >= *capacity && !hwi_table_grow((void **)list, capacity, index + 1, sizeof **list))
    return NULL;
  return &(*list)[index];
}

/* Reads ahead because a definition is missing: another stream defines it, later. Returns false if nothing more can be
 * known. */
static bool read_ahead(struct hwi_replay_image *image)
{
  return !image->error.status && hwi_trace_complete(image->trace, &image->error) == 0;
}

static bool find_node(struct hwi_replay_image *image, uint32_t number, struct hwi_node *node)
{
  *node = hwi_trace_node(image->trace, number);
  if (!node->known && number && read_ahead(image))
    *node = hwi_trace_node(image->trace, number);
  return node->known;
}

/* Returns the profile's module. Returns 0 if there is none, if it is unknown or has a number too large for a frame, or
 * if there is no memory (*failed). */
static uint32_t module_of(struct hwi_replay_image *image, uint32_t number, struct hwi_frames *frames, bool *failed)
{
  uint32_t index = hwi_hash_table_first(&image->modules, number)->number;
  if (index)
    return index;
  const struct hwi_module *module = hwi_trace_module(image->trace, number);
  if (!module->known && read_ahead(image))
    module = hwi_trace_module(image->trace, number);
  *failed = image->error.status;
  if (!module->known)
    return 0;
  index = hwi_frames_intern_module(frames, module);
  if (!index && frames->module_count >= HWI_FRAME_MODULES_MOST)
    return 0;
  *failed = !index || !hwi_hash_table_add(&image->modules, number, index);
  return index;
}

/* Returns the frame's number, or 0 if there is no memory. */
static uint32_t add_frame(struct hwi_replay_image *image, const struct hwi_node *node, uint32_t caller,
                          struct hwi_frames *frames)
{
  /* Of such a stack only the entry point is known. */
  bool cut = node->cut || (!node->module && !node->address);
  struct hwi_frame frame = {.address = node->address, .caller = caller, .entry = node->entry, .cut = cut};
  bool failed = false;
  if (node->module && !node->cut) {
    frame.module = module_of(image, node->module, frames, &failed);
    if (frame.module)
      frame.address -= hwi_trace_module(image->trace, node->module)->bias;
  }
  return failed ? 0 : hwi_frames_intern(frames, &frame);
}

/* Returns the frame that stands for callers whose definitions are lost. */
static uint32_t lost_callers(struct hwi_frames *frames)
{
  return hwi_frames_intern(frames, &(struct hwi_frame){.cut = true});
}

/* Collects the nodes from `number` outward that have no frame yet. *caller becomes the frame that called the last of
 * them. Returns their number, or -1 if hwi_replay_image_find_stack is to return 0. */
static long collect(struct hwi_replay_image *image, uint32_t number, struct hwi_frames *frames, uint32_t *caller)
{
  long count = 0;
  *caller = 0;
  while (number) {
    struct hwi_node node;
    if (!find_node(image, number, &node)) {
      *caller = image->error.status ? 0 : lost_callers(frames);
      return *caller ? count : -1;
    }
    struct hwi_mapped_node *at = mapped(&image->nodes, number);
    if (!at || !hwi_grow((void **)&image->path, &image->path_capacity, (size_t)count + 1, sizeof *image->path))
      return -1;
    if (at->frame == BEING_ADDED) {
      *caller = lost_callers(frames);
      return *caller ? count : -1;
    }
    if (at->frame) {
      *caller = at->frame;
      return count;
    }
    at->frame = BEING_ADDED;
    image->path[count++] = number;
    number = node.parent;
  }
  return count;
}

/* Returns 0 if there are too many stacks. */
static uint32_t add_stack(struct hwi_resolver *resolver)
{
  return resolver->stack_count < UINT32_MAX ? resolver->stack_count++ : 0;
}

uint32_t hwi_replay_image_find_stack(struct hwi_replay_image *image, uint32_t number, struct hwi_resolver *resolver)
{
  const struct hwi_node_map *nodes = &image->nodes;
  struct hwi_frames *frames = &resolver->frames;
  if (number < nodes->first_own && number < nodes->inherited_capacity && nodes->inherited[number].stack)
    return nodes->inherited[number].stack;

  struct hwi_node node;
  if (resolver->complete) { /* an undefined node has the stack of node 0 */
    const uint32_t stack = nodes->inherited_capacity ? nodes->inherited[0].stack : 0;
    return stack ? stack : unknown(image, "a stack");
  }
  if (!find_node(image, number, &node)) {
    if (image->error.status)
      return 0;
    if (!frames->links[0].stack)
      frames->links[0].stack = add_stack(resolver);
    return frames->links[0].stack;
  }
  uint32_t caller;
  long count = collect(image, number, frames, &caller);
  if (count < 0)
    return 0;
  while (count-- > 0) {
    node = hwi_trace_node(image->trace, image->path[count]);
    caller = add_frame(image, &node, caller, frames);
    if (!caller)
      return 0;
    mapped(&image->nodes, image->path[count])->frame = caller;
  }
  if (!frames->links[caller].stack)
    frames->links[caller].stack = add_stack(resolver);
  mapped(&image->nodes, number)->stack = frames->links[caller].stack;
  return frames->links[caller].stack;
}

uint32_t hwi_replay_image_frame(const struct hwi_replay_image *image, uint32_t node)
{
  const struct hwi_node_map *nodes = &image->nodes;
  if (node < nodes->first_own)
    return node < nodes->inherited_capacity ? nodes->inherited[node].frame : 0;
  return node - nodes->first_own < nodes->own_capacity ? nodes->own[node - nodes->first_own].frame : 0;
}

bool hwi_replay_image_know_node(struct hwi_replay_image *image, uint32_t number, uint32_t stack)
{
  struct hwi_mapped_node *at = mapped(&image->nodes, number);
  if (at)
    at->stack = stack;
  return at;
}

bool hwi_replay_image_each_node(const struct hwi_replay_image *image,
                                bool (*take)(void *context, uint32_t node, uint32_t stack), void *context)
{
  const struct hwi_node_map *nodes = &image->nodes;
  for (size_t i = 0; i < nodes->inherited_capacity; i++)
    if (nodes->inherited[i].stack && !take(context, (uint32_t)i, nodes->inherited[i].stack))
      return false;
  for (size_t i = 0; i < nodes->own_capacity; i++)
    if (nodes->own[i].stack && !take(context, nodes->first_own + (uint32_t)i, nodes->own[i].stack))
      return false;
  return true;
}

/* --- threads --- */

uint32_t hwi_replay_image_find_thread(struct hwi_replay_image *image, uint32_t number, struct hwi_resolver *resolver)
{
  uint32_t thread = hwi_hash_table_first(&image->threads, number)->number;
  if (!thread) {
    thread = resolver->thread_count + 1;
    if (resolver->complete)
      return unknown(image, "a thread");
    if (thread == UINT32_MAX || !hwi_hash_table_add(&image->threads, number, thread))
      return 0;
    resolver->thread_count = thread;
  }
  image->latest_threads[number % HWI_LATEST_THREADS] = (struct hwi_hash_slot){number, thread};
  return thread;
}

/* --- scopes --- */

uint32_t hwi_replay_image_scope_name(struct hwi_replay_image *image, uint64_t number, struct hwi_resolver *resolver)
{
  const uint32_t key = number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
  uint32_t known = hwi_hash_table_first(&image->scope_names, key)->number;
  if (known)
    return known;
  const char *name = hwi_trace_name(image->trace, key);
  if (!name && read_ahead(image))
    name = hwi_trace_name(image->trace, key);
  if (image->error.status)
    return 0;
  known = hwi_store_intern_text(&resolver->scope_names, name ? name : "?");
  return known && hwi_hash_table_add(&image->scope_names, key, known) ? known : 0;
}

/* --- what is known before --- */

bool hwi_replay_image_know_thread(struct hwi_replay_image *image, uint32_t number, uint32_t thread)
{
  return hwi_hash_table_first(&image->threads, number)->number ||
         hwi_hash_table_add(&image->threads, number, thread + 1);
}

/* --- frees without a block --- */

bool hwi_replay_image_free_unknown(struct hwi_replay_image *image, uint64_t address, uint8_t *what)
{
  struct hwi_live_slot *slot = image->forked ? hwi_live_slot(&image->freed_inherited, address) : NULL;
  *what = HWI_RESOLVED_FREE_UNKNOWN;
  if (!slot || slot->address)
    return true;
  if (!hwi_live_grow(&image->freed_inherited))
    return false;
  hwi_live_slot(&image->freed_inherited, address)->address = address;
  image->freed_inherited.count++;
  *what = HWI_RESOLVED_FREE_INHERITED;
  return true;
}
