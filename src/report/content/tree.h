/* tree.h - the selected stacks as a tree of functions, source files, lines or modules
 *
 * way        a stack's frames as groups (group_table.h), from its outermost frame inwards (callers first), or from its
 *            innermost one outwards (callees first). Stacks share the nodes of the common beginning of their ways.
 * total      the amount of all stacks that go through a node.
 * self       the amount of the stacks whose way ends at a node; with callers first, the function itself requested the
 *            memory. A node's self and its children's totals add up to its total; the roots' totals add up to the
 *            selected amount.
 * folded     ways leave out the frames that hwi_named_frames_trim leaves out, and loops: when a group occurs again,
 *            the way returns to its first node. So a recursion is one node at any depth and through any number of
 *            functions. Ways are folded unless the user asks for all frames.
 */
#ifndef HWI_REPORT_CONTENT_TREE_H
#define HWI_REPORT_CONTENT_TREE_H

#include "report/content/group_table.h"
#include "report/names/named_frames.h"
#include "report/selection/selection.h"

enum { HWI_TREE_NO_PARENT = UINT32_MAX };

struct hwi_tree_node {
  uint32_t number, parent;               /* numbered from 0 in the order of visits, parents first; NO_PARENT: a root */
  uint32_t depth;                        /* 0: a root */
  bool is_last;                          /* the last of its parent's branches, and nothing is cut after it */
  bool recurs;                           /* a loop that leads back here was folded */
  bool several_lines;                    /* the symbols at this node are of different lines */
  const struct hwi_group_member *member; /* one of them */
  struct hwi_amount total, self;
  uint32_t branches;     /* children that are visited */
  uint32_t cut_count;    /* children that are not visited, and whose cost is not 0 */
  struct hwi_amount cut; /* the sum of all children that are not visited */
};

/* The branches that are not visited. */
struct hwi_tree_cut {
  uint64_t least; /* leaves out branches that cost less */
  uint64_t top;   /* visits at most so many branches of each node; 0: all */
};

/* The cut that the options ask for. `share` is the percentage below which branches are cut if the options do not say
 * it. */
struct hwi_tree_cut hwi_tree_cut_of(const struct hwi_report_options *options, const struct hwi_selection *selection,
                                    double share);

extern const char *const hwi_tree_names[]; /* by enum hwi_tree_order; ended by NULL */

struct hwi_tree_row; /* private */

struct hwi_tree {
  const struct hwi_selection *selection;
  struct hwi_group_table table;
  struct hwi_tree_row *rows; /* one for each stack */
  uint32_t row_count;
  uint32_t *steps; /* of all ways: members, some marked with a bit as a loop */
  size_t step_count, step_room;
};

/* Makes the tree for report->options.tree and .by (FUNCTION, FILE, LINE or MODULE). Returns 0 or a negative status.
 * The caller releases it, also after a failure. */
int hwi_tree_init(struct hwi_tree *tree, const struct hwi_report *report, const struct hwi_selection *selection,
                  struct hwi_named_frames *frames, struct hwi_error *error);
void hwi_tree_release(struct hwi_tree *tree);

/* Called for each node, parents before children, and children by their cost. */
struct hwi_tree_visitor {
  void (*visit)(void *context, const struct hwi_tree_node *node);
  void *context;
};

/* Visits the tree. Each walk gives the same result. *whole gets the node above the roots, which is not visited.
 * Returns 0 or a negative status. */
int hwi_tree_walk(struct hwi_tree *tree, const struct hwi_tree_cut *cut, const struct hwi_tree_visitor *visitor,
                  struct hwi_tree_node *whole, struct hwi_error *error);

#endif
