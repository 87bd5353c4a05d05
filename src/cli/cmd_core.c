/* cmd_core.c - heapwright core: the heap of a core dump */
#include <inttypes.h>
#include <stdlib.h>

#include "cli/command.h"
#include "memory/graph/graph.h"
#include "memory/image/core_file.h"
#include "report/json/json.h"
#include "report/words/number.h"

struct values {
  bool leaks, retained, json;
  const char *who;
};

enum { REFERENCES_MOST = 100, RETAINED_MOST = 20 };
#define RETAINED_MEMORY_MOST ((uint64_t)2 << 30)

static const struct values defaults = {0};

static const struct hwi_option options[] = {
    {.name = "leaks", HWI_VALUE(ON, leaks), .help = "the blocks that nothing reaches"},
    {.name = "who", HWI_VALUE(TEXT, who), .value = "ADDRESS", .help = "which block has ADDRESS, and what refers to it"},
    {.name = "retained", HWI_VALUE(ON, retained), .help = "the blocks without which the most memory would go"},
    {.name = "json", HWI_VALUE(ON, json), .help = "print JSON"},
    {.name = NULL},
};

/* --- leaks --- */

static const char *const kind_names[] = {"direct", "indirect", "cycle"};

static void print_leaks_json(const struct hwi_leaks *leaks)
{
  struct hwi_json json = {.out = stdout, .first = true};
  uint64_t blocks = 0, bytes = 0;
  hwi_json_begin_object(&json, NULL);
  hwi_json_begin_array(&json, "leaks");
  for (size_t i = 0; i < leaks->group_count; i++) {
    const struct hwi_leak_group *group = &leaks->groups[i];
    blocks += group->blocks;
    bytes += group->blocks * group->block_bytes;
    hwi_json_begin_object(&json, NULL);
    hwi_json_number(&json, "blocks", group->blocks);
    hwi_json_number(&json, "bytes", group->blocks * group->block_bytes);
    hwi_json_bool(&json, "direct", group->kind == HWI_LEAK_DIRECT);
    hwi_json_bool(&json, "cycle", group->kind == HWI_LEAK_CYCLE);
    hwi_json_number(&json, "block_bytes", group->block_bytes);
    hwi_json_end_object(&json);
  }
  hwi_json_end_array(&json);
  hwi_json_number(&json, "leaked_blocks", blocks);
  hwi_json_number(&json, "leaked_bytes", bytes);
  hwi_json_number(&json, "from_below_blocks", leaks->from_below.blocks);
  hwi_json_number(&json, "from_freed_blocks", leaks->from_freed.blocks);
  hwi_json_number(&json, "by_interior_blocks", leaks->by_interior.blocks);
  hwi_json_end_object(&json);
  putchar('\n');
}

static void print_sum(const char *name, const struct hwi_heap_sum *sum)
{
  printf("%-40s %10" PRIu64 " blocks %14" PRIu64 " bytes\n", name, sum->blocks, sum->bytes);
}

static void print_leaks(const struct hwi_leaks *leaks, const struct hwi_graph *graph)
{
  for (int kind = 0; kind < HWI_LEAK_KINDS; kind++)
    print_sum(kind_names[kind], &leaks->sums[kind]);
  print_sum("of these, reached from below a stack", &leaks->from_below);
  print_sum("of these, reached from free blocks", &leaks->from_freed);
  print_sum("not leaked", &leaks->reached);
  print_sum("of these, only by interior pointers", &leaks->by_interior);
  if (graph->unknown_bytes)
    printf("%" PRIu64 " bytes of memory are not in the core dump: references in them are not known\n",
           graph->unknown_bytes);
  for (size_t i = 0; i < leaks->group_count; i++)
    printf("%14" PRIu64 " bytes in %10" PRIu64 " blocks of %10" PRIu64 ", %s, e.g. %#" PRIx64 "\n",
           leaks->groups[i].blocks * leaks->groups[i].block_bytes, leaks->groups[i].blocks,
           leaks->groups[i].block_bytes, kind_names[leaks->groups[i].kind],
           graph->heap->blocks[leaks->groups[i].first].address);
}

static int say_leaks(struct hwi_graph *graph, const struct values *values, struct hwi_error *error)
{
  struct hwi_leaks leaks;
  const int status = hwi_leaks_find(&leaks, graph, error);
  if (status < 0)
    return status;
  if (values->json)
    print_leaks_json(&leaks);
  else
    print_leaks(&leaks, graph);
  hwi_leaks_release(&leaks);
  return 0;
}

/* --- who --- */

static void print_reference(const struct hwi_graph *graph, const struct hwi_reference *reference)
{
  char text[HWI_PLACE_TEXT_BYTES];
  hwi_place_text(graph, &reference->place, text, sizeof text);
  if (reference->is_start)
    printf("  %s\n", text);
  else
    printf("  %s (to +%#" PRIx64 ")\n", text, reference->to_off);
}

static int print_path(const struct hwi_graph *graph, uint32_t block, struct hwi_error *error)
{
  struct hwi_path path;
  const int status = hwi_path_find(&path, graph, block, error);
  if (status < 0)
    return status;
  puts(path.count ? "a shortest chain from a root:" : "no chain of references leads to it from a root");
  for (size_t i = 0; i < path.count; i++)
    print_reference(graph, &path.steps[i]);
  hwi_path_release(&path);
  return 0;
}

static int say_who(const struct hwi_graph *graph, const struct values *values, struct hwi_error *error)
{
  struct hwi_references references;
  struct hwi_place place;
  char *end, text[HWI_PLACE_TEXT_BYTES];
  const uint64_t address = strtoull(values->who, &end, 16);
  if (end == values->who || *end)
    return hwi_error_set(error, HW_ERR_USAGE, "--who %s: try an address in hexadecimal, such as 0x5581e0", values->who);
  hwi_graph_place(graph, address, &place);
  hwi_place_text(graph, &place, text, sizeof text);
  printf("%#" PRIx64 " is in %s\n", address, text);
  if (place.block == HWI_NO_BLOCK)
    return 0;
  int status = hwi_references_find(&references, graph, place.block, REFERENCES_MOST, error);
  if (status < 0)
    return status;
  printf("%" PRIu64 " bytes; %" PRIu64 " references to it:\n", hwi_block_bytes(&graph->heap->blocks[place.block]),
         references.total);
  for (size_t i = 0; i < references.count; i++)
    print_reference(graph, &references.list[i]);
  hwi_references_release(&references);
  return place.kind == HWI_PLACE_BLOCK ? print_path(graph, place.block, error) : 0;
}

/* --- retained --- */

static int say_retained(struct hwi_graph *graph, struct hwi_error *error)
{
  struct hwi_leaks leaks;
  struct hwi_retained retained;
  int status = hwi_leaks_find(&leaks, graph, error);
  if (status < 0)
    return status;
  hwi_leaks_release(&leaks);
  status = hwi_retained_find(&retained, graph, RETAINED_MOST, RETAINED_MEMORY_MOST, error);
  if (status < 0)
    return status;
  for (size_t i = 0; i < retained.count; i++) {
    const struct hwi_retainer *one = &retained.list[i];
    printf("%14" PRIu64 " bytes in %10" PRIu64 " blocks by %#" PRIx64, one->retained.bytes, one->retained.blocks,
           graph->heap->blocks[one->block].address);
    if (one->over == HWI_NO_BLOCK)
      putchar('\n');
    else
      printf(", which %#" PRIx64 " retains\n", graph->heap->blocks[one->over].address);
  }
  printf("it took %" PRIu64 " bytes of memory for %" PRIu64 " references between %" PRIu64 " blocks\n",
         retained.memory_bytes, retained.reference_count, retained.reached.blocks);
  hwi_retained_release(&retained);
  return 0;
}

static int say_graph(const struct hwi_memory *memory, const struct hwi_heap *heap, const struct values *values,
                     struct hwi_error *error)
{
  struct hwi_graph graph;
  int status = hwi_graph_open(&graph, memory, heap, error);
  if (status < 0)
    return status;
  status = values->leaks      ? say_leaks(&graph, values, error)
           : values->retained ? say_retained(&graph, error)
                              : say_who(&graph, values, error);
  hwi_graph_close(&graph);
  return status;
}

/* --- the heap --- */

static void print_heap(const struct hwi_heap *heap)
{
  static const char *const states[] = {"live", "own", "free", "cached", "top"};
  for (size_t i = 0; i < heap->part_count; i++) {
    const struct hwi_heap_part *part = &heap->parts[i];
    printf("%-24s system %" PRIu64 " understood %" PRIu64 " residue %" PRId64 "\n", part->name, part->system_bytes,
           part->understood_bytes, (int64_t)(part->system_bytes - part->understood_bytes));
    for (int s = 0; s < HWI_BLOCK_STATES; s++)
      printf("  %-8s %10" PRIu64 " blocks %14" PRIu64 " bytes\n", states[s], part->sums[s].blocks, part->sums[s].bytes);
  }
  for (size_t i = 0; i < heap->damage_count && i < HWI_DAMAGES_MAX; i++)
    printf("%#" PRIx64 ": %s\n", heap->damages[i].address, heap->damages[i].text);
}

static int run(const void *given, int word_count, char **words)
{
  const struct values *values = given;
  struct hwi_memory memory;
  struct hwi_heap heap;
  struct hwi_error error = {0};
  if (hwi_core_file_open(&memory, words[word_count - 1], &error) < 0)
    return hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text);
  if (hwi_heap_find(&heap, &memory, &error) < 0)
    return hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text);
  int status = 0;
  if (values->leaks || values->retained || values->who)
    status = say_graph(&memory, &heap, values, &error);
  else
    print_heap(&heap);
  hwi_heap_release(&heap);
  hwi_memory_close(&memory);
  return status < 0 ? hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text) : 0;
}

const struct hwi_command hwi_command_core = {
    .name = "core",
    .summary = "the heap of a core dump, of a process or of an image of memory",
    .usage = "[options] PROGRAM CORE",
    .details = "",
    .options = options,
    .defaults = &defaults,
    .values_bytes = sizeof defaults,
    .usage_status = HWI_EXIT_TROUBLE,
    .run = run,
};
