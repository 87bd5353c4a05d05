/* tree.c - the selected stacks as a tree, as a member of a JSON object
 *
 * The nodes are one flat list, and each node has the number of its parent: many JSON readers fail on objects that
 * are nested a few hundred levels deep, and stacks can be deeper.
 */
#include "report/json/tree.h"

#include "report/json/figures.h"
#include "report/json/groups.h"

struct writer {
  struct hwi_json *json;
  const struct hwi_report *report;
};

static void write_cut(struct hwi_json *json, const struct hwi_tree_node *node)
{
  if (node->cut_count == 0 && hwi_amount_is_nothing(&node->cut))
    return;
  hwi_json_begin_object(json, "cut");
  hwi_json_number(json, "branches", node->cut_count);
  hwi_json_amount(json, &node->cut);
  hwi_json_end_object(json);
}

static void write_node(void *context, const struct hwi_tree_node *node)
{
  const struct writer *writer = context;
  struct hwi_json *json = writer->json;
  const struct hwi_json_group name = {.by = (enum hwi_by)writer->report->options.by,
                                      .symbol = node->member->symbol,
                                      .module = node->member->module,
                                      .has_line = !node->several_lines};
  hwi_json_begin_object(json, NULL);
  if (node->parent == HWI_TREE_NO_PARENT)
    hwi_json_text(json, "parent", NULL);
  else
    hwi_json_number(json, "parent", node->parent);
  hwi_json_group_name(json, writer->report->profile, &name);
  if (node->member->group == HWI_GROUP_LEFT_OUT)
    hwi_json_bool(json, "frames_left_out", true);
  hwi_json_amount_of(json, "self", &node->self);
  hwi_json_amount_of(json, "total", &node->total);
  write_cut(json, node);
  hwi_json_end_object(json);
  fputc('\n', json->out);
}

int hwi_json_tree(struct hwi_json *json, const struct hwi_report *report, const struct hwi_selection *selection,
                  struct hwi_named_frames *frames, struct hwi_error *error)
{
  struct hwi_report whole = *report;
  whole.options.all_frames = true;
  struct hwi_tree tree;
  struct hwi_tree_node root = {0};
  struct writer writer = {json, report};
  const struct hwi_tree_visitor visitor = {write_node, &writer};
  const struct hwi_tree_cut cut = hwi_tree_cut_of(&report->options, selection, 0);
  int status = hwi_tree_init(&tree, &whole, selection, frames, error);
  if (status == HW_OK) {
    hwi_json_begin_object(json, "tree");
    hwi_json_text(json, "order", hwi_tree_names[report->options.tree]);
    hwi_json_begin_array(json, "nodes");
    status = hwi_tree_walk(&tree, &cut, &visitor, &root, error);
    hwi_json_end_array(json);
    write_cut(json, &root);
    hwi_json_end_object(json);
  }
  hwi_tree_release(&tree);
  return status;
}
