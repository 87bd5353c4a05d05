/* groups.c - stacks grouped by function, source file, source line or module, as a list or a tree in a JSON object */

#include "report/json/members.h"

uint64_t hwi_json_rows(const struct hwi_report_options *options, uint64_t count)
{
  uint64_t top = options->top;
  return top == HWI_TOP_DEFAULT || top == 0 || top > count ? count : top;
}

/* A group's name: its function, file, line and module, those that distinguish it from other groups. */
struct group_name {
  enum hwi_by by;
  const struct hwi_symbol *symbol; /* NULL: not known */
  uint32_t module;
  bool has_line;
};

static void write_name(struct hwi_json *json, const struct hwi_profile *profile, const struct group_name *group)
{
  const struct hwi_symbol *symbol = group->symbol;
  if (group->by == HWI_BY_FUNCTION || group->by == HWI_BY_LINE)
    hwi_json_text(json, "function", symbol ? symbol->function : NULL);
  if (group->by != HWI_BY_MODULE)
    hwi_json_text(json, "file", symbol ? symbol->file : NULL);
  if (group->has_line && symbol && symbol->line > 0)
    hwi_json_number(json, "line", symbol->line);
  if (group->by == HWI_BY_FUNCTION && symbol && symbol->start != 0)
    hwi_json_number(json, "function_start", symbol->start);
  hwi_json_text(json, "module", group->module != 0 ? hwi_module_path(profile, group->module) : NULL);
}

static void write_group(struct hwi_json *json, const struct hwi_report *report, const struct hwi_group *group)
{
  const struct group_name name = {.by = (enum hwi_by)report->options.by,
                                  .symbol = group->symbol,
                                  .module = group->module,
                                  .has_line = report->options.by == HWI_BY_LINE};
  hwi_json_begin_object(json, NULL);
  write_name(json, report->profile, &name);
  hwi_json_amount_of(json, "self", &group->self);
  hwi_json_amount_of(json, "total", &group->total);
  hwi_json_end_object(json);
}

int hwi_json_groups(struct hwi_json *json, const struct hwi_report *report, const struct hwi_selection *selection,
                    const struct hwi_named_frames *frames, struct hwi_error *error)
{
  static const char *const keys[] = {"", "by_function", "by_file", "by_line", "by_module"};
  enum hwi_by by = (enum hwi_by)report->options.by;
  if (by == HWI_BY_STACK || !hwi_by_is_of_frames(by))
    return HW_OK; /* these lists are in every report */
  struct hwi_groups groups;
  int status = hwi_groups_init(&groups, report, selection, frames, error);
  if (status < 0)
    return status;
  hwi_json_begin_array(json, keys[by]);
  uint64_t rows = hwi_json_rows(&report->options, groups.count);
  for (uint64_t row = 0; row < rows; row++)
    write_group(json, report, &groups.items[row]);
  hwi_json_end_array(json);
  hwi_groups_release(&groups);
  return HW_OK;
}

/* --- the tree ---
 *
 * The nodes are one flat list, and each node has the number of its parent: many JSON readers fail on objects that
 * are nested a few hundred levels deep, and stacks can be deeper.
 */

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
  const struct group_name name = {.by = (enum hwi_by)writer->report->options.by,
                                  .symbol = node->member->symbol,
                                  .module = node->member->module,
                                  .has_line = !node->several_lines};
  hwi_json_begin_object(json, NULL);
  if (node->parent == HWI_TREE_NO_PARENT)
    hwi_json_text(json, "parent", NULL);
  else
    hwi_json_number(json, "parent", node->parent);
  write_name(json, writer->report->profile, &name);
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
