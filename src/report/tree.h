/* tree.h - the selected stacks as a tree of what lies on their way: functions, source files, lines or modules
 *
 * way        a stack's frames as groups (group_table.h), from its outermost frame inwards (callers first), or from its innermost
 *            one outwards (callees first). Stacks whose ways begin alike share nodes that far.
 * total      what all stacks through a node are accountable for.
 * self       ... those whose way ends there: callers first, the function asked for the memory itself. A node's self and its
 *            children's totals add up to its total, and the roots' totals to what is selected.
 * folded     ways leave out what hwi_named_frames_trim leaves out, and loops: a group that was passed already takes the way
 *            back to where it was, so that a recursion is one node, however deep it went and however many functions it goes
 *            round. Ways are folded unless all frames are asked for.
 */
#ifndef HWI_REPORT_TREE_H
#define HWI_REPORT_TREE_H

#include "report/group_table.h"
#include "report/names/named_frames.h"
#include "report/selection.h"

enum { HWI_TREE_NO_PARENT = UINT32_MAX };

struct hwi_tree_node {
  uint32_t number, parent;               /* parents are visited first, counting from 0; NO_PARENT: a root */
  uint32_t depth;                        /* 0: a root */
  bool is_last;                          /* of its parent's branches, with nothing cut behind it */
  bool recurs;                           /* a loop that leads back here was folded */
  bool several_lines;                    /* the symbols at this node are not all of one line */
  const struct hwi_group_member *member; /* one of them */
  struct hwi_amount total, self;
  uint32_t branches;     /* children that are visited, too */
  uint32_t cut_count;    /* ... that are not, and cost anything */
  struct hwi_amount cut; /* the sum of all that are not */
};

/* What is not visited. */
struct hwi_tree_cut {
  uint64_t least; /* branches that cost less */
  uint64_t top;   /* of each node's branches, those behind so many; 0: all are */
};

/* As the options have it: `share` is the percentage below which branches are cut where they say nothing. */
struct hwi_tree_cut hwi_tree_cut_of(const struct hwi_report_options *options, const struct hwi_selection *selection,
                                    double share);

extern const char *const hwi_tree_names[]; /* by enum hwi_tree_order; ended by NULL */

struct hwi_tree_row; /* private */

struct hwi_tree {
  const struct hwi_selection *selection;
  struct hwi_group_table table;
  struct hwi_tree_row *rows; /* a stack each */
  uint32_t row_count;
  uint32_t *steps; /* of all ways: members, some with a bit for a loop */
  size_t step_count, step_room;
};

/* For report->options.tree and .by (FUNCTION, FILE, LINE or MODULE). To be released, even after a failure. */
int hwi_tree_init(struct hwi_tree *tree, const struct hwi_report *report, const struct hwi_selection *selection,
                  struct hwi_named_frames *frames, struct hwi_error *error);
void hwi_tree_release(struct hwi_tree *tree);

/* Asked for each node, parents before children, and those by their cost. */
struct hwi_tree_visitor {
  void (*visit)(void *context, const struct hwi_tree_node *node);
  void *context;
};

/* Goes through the tree: as often as wanted, each time the same. The root that is given to nobody, whose branches are the
 * roots, is left in *whole. */
int hwi_tree_walk(struct hwi_tree *tree, const struct hwi_tree_cut *cut, const struct hwi_tree_visitor *visitor,
                  struct hwi_tree_node *whole, struct hwi_error *error);

#endif
