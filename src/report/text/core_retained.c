/* core_retained.c - the blocks that retain most, as text: a tree, in which what retains others is above them */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/content/core_blocks.h"
#include "report/words/number.h"

enum { RANK_CELLS = 4, BYTES_CELLS = 11, SHARE_CELLS = 8, BLOCKS_CELLS = 12, INDENT = 2, LEVELS_MAX = 12 };
enum { BEFORE_CELLS = RANK_CELLS + BYTES_CELLS + SHARE_CELLS + BLOCKS_CELLS };

/* A block of the list in the tree. */
struct node {
  uint32_t block;
  size_t number;                        /* in the list */
  size_t first_below, last_below, next; /* nodes; NONE: there is none */
  size_t above;
};

#define NONE SIZE_MAX

struct tree {
  const struct hwi_core_question *question;
  const struct hwi_retained *retained;
  struct node *nodes; /* by block */
};

static int by_block(const void *left, const void *right)
{
  const struct node *a = left, *b = right;
  return a->block < b->block ? -1 : a->block > b->block;
}

static int by_number(const void *left, const void *right)
{
  const struct node *const *a = left, *const *b = right;
  return (*a)->number < (*b)->number ? -1 : (*a)->number > (*b)->number;
}

static size_t find(const struct tree *tree, uint32_t block)
{
  const struct node key = {.block = block};
  const struct node *found = bsearch(&key, tree->nodes, tree->retained->count, sizeof key, by_block);
  return found ? (size_t)(found - tree->nodes) : NONE;
}

/* Puts each node below the one that retains it, those that retain most first. */
static bool link_nodes(struct tree *tree, size_t *first)
{
  const size_t count = tree->retained->count;
  struct node **in_order = calloc(count + 1, sizeof *in_order);
  size_t *link = first, last = NONE;
  for (size_t i = 0; i < count && in_order; i++)
    in_order[i] = &tree->nodes[i];
  if (in_order)
    qsort(in_order, count, sizeof *in_order, by_number);
  for (size_t i = 0; i < count && in_order; i++) {
    struct node *node = in_order[i];
    const size_t at = (size_t)(node - tree->nodes);
    const uint32_t over = tree->retained->list[node->number].over;
    node->above = over == HWI_NO_BLOCK ? NONE : find(tree, over);
    size_t *const last_of = node->above == NONE ? &last : &tree->nodes[node->above].last_below;
    size_t *const first_of = node->above == NONE ? link : &tree->nodes[node->above].first_below;
    if (*last_of == NONE)
      *first_of = at;
    else
      tree->nodes[*last_of].next = at;
    *last_of = at;
  }
  free(in_order);
  return in_order;
}

static void end(struct hwi_line *line, const struct hwi_style *style)
{
  fprintf(style->out, "%s\n", hwi_line_text(line));
  hwi_line_clear(line);
}

static void print_holder(struct hwi_line *line, const struct tree *tree, const struct hwi_retainer *one, size_t cells,
                         const struct hwi_style *style)
{
  if (one->root.place.kind == HWI_CORE_PLACE_UNKNOWN)
    return;
  hwi_line_repeat(line, " ", cells);
  hwi_line_puts(line, "held by ");
  hwi_core_question_add_place(line, tree->question, &one->root.place);
  end(line, style);
}

static void print_node(struct hwi_line *line, const struct tree *tree, const struct node *node, size_t level,
                       const struct hwi_style *style)
{
  const struct hwi_retainer *one = &tree->retained->list[node->number];
  const struct hwi_graph *graph = tree->question->graph;
  const struct hwi_core_block *block = &graph->heap->blocks[one->block];
  const char *state = hwi_core_block_words(graph, one->block);
  const size_t cells = BEFORE_CELLS + 2 + INDENT * (level < LEVELS_MAX ? level : LEVELS_MAX);
  struct hwi_line words = {0};
  hwi_line_right(line, hwi_count_text(node->number + 1).text, RANK_CELLS);
  hwi_line_right(line, hwi_bytes_text(one->retained.bytes).text, BYTES_CELLS);
  hwi_line_right(line, hwi_share_text(one->retained.bytes, tree->retained->reached.bytes).text, SHARE_CELLS);
  hwi_line_right(line, hwi_count_text(one->retained.blocks).text, BLOCKS_CELLS);
  hwi_line_repeat(line, " ", cells - BEFORE_CELLS);
  hwi_line_printf(&words, "%#" PRIx64 ", %s", block->address, hwi_bytes_text(hwi_core_block_bytes(block)).text);
  if (strcmp(state, "live") != 0)
    hwi_line_printf(&words, ", %s", state);
  hwi_core_block_add_names(&words, tree->question, one->block);
  hwi_line_shorten(line, hwi_line_text(&words), style->columns > cells ? style->columns - cells : 0,
                   hwi_style_ellipsis(style));
  hwi_line_release_part(line, &words);
  end(line, style);
  print_holder(line, tree, one, cells, style);
}

static void print_tree(const struct tree *tree, size_t first, const struct hwi_style *style)
{
  struct hwi_line line = {0};
  size_t level = 0, at = first;
  fputs("Blocks that retain most: what would go with each, itself included\n", style->out);
  hwi_line_right(&line, "retains", RANK_CELLS + BYTES_CELLS);
  hwi_line_right(&line, "blocks", SHARE_CELLS + BLOCKS_CELLS);
  hwi_line_puts(&line, "  block, above what it retains");
  end(&line, style);
  while (at != NONE) {
    print_node(&line, tree, &tree->nodes[at], level, style);
    if (tree->nodes[at].first_below != NONE) {
      at = tree->nodes[at].first_below;
      level++;
      continue;
    }
    while (at != NONE && tree->nodes[at].next == NONE) {
      at = tree->nodes[at].above;
      level -= level > 0;
    }
    at = at == NONE ? NONE : tree->nodes[at].next;
  }
  hwi_line_release(&line);
}

int hwi_core_retained_text(const struct hwi_core_question *question, uint64_t unused, const struct hwi_style *style,
                           struct hwi_error *error)
{
  (void)unused;
  struct hwi_retained retained;
  int status = hwi_retained_find(&retained, question->graph, question->most, HWI_RETAINED_MEMORY_MOST, error);
  if (status < 0)
    return status;
  struct tree tree = {question, &retained, calloc(retained.count + 1, sizeof *tree.nodes)};
  size_t first = NONE;
  for (size_t i = 0; i < retained.count && tree.nodes; i++)
    tree.nodes[i] = (struct node){retained.list[i].block, i, NONE, NONE, NONE, NONE};
  if (tree.nodes)
    qsort(tree.nodes, retained.count, sizeof *tree.nodes, by_block);
  if (!tree.nodes || !link_nodes(&tree, &first))
    status = hwi_error_set(error, HW_ERR_MEMORY, "no memory for the tree of blocks");
  else
    print_tree(&tree, first, style);
  free(tree.nodes);
  hwi_retained_release(&retained);
  return status;
}
