/* core_retained.c - the blocks that retain most, as text: a tree, in which what retains others is above them */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/content/core_blocks.h"
#include "report/words/number.h"

enum { RANK_CELLS = 4, BYTES_CELLS = 11, SHARE_CELLS = 8, BLOCKS_CELLS = 12, INDENT = 2, LEVELS_MAX = 12 };
enum { BEFORE_CELLS = RANK_CELLS + BYTES_CELLS + SHARE_CELLS + BLOCKS_CELLS };

#define NONE SIZE_MAX

/* The place of a retainer in the tree: numbers of others in the list, or NONE. */
struct node {
  size_t above, first_below, last_below, next;
};

struct tree {
  const struct hwi_core_question *question;
  const struct hwi_retained *retained;
  struct node *nodes; /* of retained->list, and one more, above which there is nothing */
};

/* A retainer, by its block. */
struct named {
  uint32_t block;
  size_t number;
};

static int by_block(const void *left, const void *right)
{
  const struct named *a = left, *b = right;
  return a->block < b->block ? -1 : a->block > b->block;
}

/* Puts each retainer below the one that retains it, or else below the last node; those that retain most come first. `named` is
 * sorted. */
static void link_nodes(struct tree *tree, const struct named *named)
{
  const size_t count = tree->retained->count;
  for (size_t i = 0; i <= count; i++)
    tree->nodes[i] = (struct node){NONE, NONE, NONE, NONE};
  for (size_t i = 0; i < count; i++) {
    const struct named key = {.block = tree->retained->list[i].over};
    const struct named *over = bsearch(&key, named, count, sizeof key, by_block); /* HWI_NO_BLOCK is none */
    struct node *above = &tree->nodes[over ? over->number : count];
    tree->nodes[i].above = over ? over->number : count;
    if (above->first_below == NONE)
      above->first_below = i;
    else
      tree->nodes[above->last_below].next = i;
    above->last_below = i;
  }
}

static bool make_tree(struct tree *tree)
{
  const size_t count = tree->retained->count;
  struct named *named = calloc(count + 1, sizeof *named);
  tree->nodes = calloc(count + 1, sizeof *tree->nodes);
  const bool done = named && tree->nodes;
  for (size_t i = 0; i < count && done; i++)
    named[i] = (struct named){tree->retained->list[i].block, i};
  if (done) {
    qsort(named, count, sizeof *named, by_block);
    link_nodes(tree, named);
  }
  free(named);
  return done;
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

static void print_node(struct hwi_line *line, const struct tree *tree, size_t number, size_t level,
                       const struct hwi_style *style)
{
  const struct hwi_retainer *one = &tree->retained->list[number];
  const struct hwi_graph *graph = tree->question->graph;
  const struct hwi_core_block *block = &graph->heap->blocks[one->block];
  const char *state = hwi_core_block_words(graph, one->block);
  const size_t cells = BEFORE_CELLS + 2 + INDENT * (level < LEVELS_MAX ? level : LEVELS_MAX);
  struct hwi_line words = {0};
  hwi_line_right(line, hwi_count_text(number + 1).text, RANK_CELLS);
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

/* Returns the next one in the order of the tree. */
static size_t next_of(const struct tree *tree, size_t at, size_t *level)
{
  if (tree->nodes[at].first_below != NONE) {
    ++*level;
    return tree->nodes[at].first_below;
  }
  for (; at < tree->retained->count; at = tree->nodes[at].above, --*level)
    if (tree->nodes[at].next != NONE)
      return tree->nodes[at].next;
  return NONE;
}

static void print_tree(const struct tree *tree, const struct hwi_style *style)
{
  struct hwi_line line = {0};
  size_t level = 0;
  fputs("Blocks that retain most: what would go with each, itself included\n", style->out);
  hwi_line_right(&line, "retains", RANK_CELLS + BYTES_CELLS);
  hwi_line_right(&line, "blocks", SHARE_CELLS + BLOCKS_CELLS);
  hwi_line_puts(&line, "  block, above what it retains");
  end(&line, style);
  for (size_t at = tree->nodes[tree->retained->count].first_below; at != NONE; at = next_of(tree, at, &level))
    print_node(&line, tree, at, level, style);
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
  struct tree tree = {.question = question, .retained = &retained};
  if (make_tree(&tree))
    print_tree(&tree, style);
  else
    status = hwi_error_set(error, HW_ERR_MEMORY, "no memory for the tree of blocks");
  free(tree.nodes);
  hwi_retained_release(&retained);
  return status;
}
