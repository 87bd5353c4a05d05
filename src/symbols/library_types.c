/* library_types.c - what the types of the C++ library's containers do not say themselves */
#include "symbols/library_types.h"

#include <stddef.h>
#include <string.h>

static const struct {
  const char *prefix, *node_typedef; /* of the container */
  const char *node_prefix, *base;
} containers[] = {
    {"std::_Rb_tree<", "_Link_type", "std::_Rb_tree_node<", "std::_Rb_tree_node_base"}, /* of set and map */
    {"std::__cxx11::list<", "_Node", "std::_List_node<", "std::__detail::_List_node_base"},
    {"std::forward_list<", "_Node", "std::_Fwd_list_node<", "std::_Fwd_list_node_base"},
    {"std::_Hashtable<", "__node_type", "std::__detail::_Hash_node<", "std::__detail::_Hash_node_base"},
};
enum { CONTAINERS = sizeof containers / sizeof *containers };

static const char *const buffers[] = {"__gnu_cxx::__aligned_membuf<", "__gnu_cxx::__aligned_buffer<"};
enum { BUFFERS = sizeof buffers / sizeof *buffers };

/* Returns whether the name is the template, with arguments, and not a type in it: "std::_Rb_tree<A, B>", but not
 * "std::_Rb_tree<A, B>::_Rb_tree_impl<C>". */
static bool is_of(const char *name, const char *prefix)
{
  const size_t bytes = strlen(prefix);
  unsigned open = 1;
  if (!name || strncmp(name, prefix, bytes) != 0)
    return false;
  for (name += bytes; *name && open; name++)
    open += (*name == '<') - (*name == '>');
  return !*name;
}

bool hwi_library_has(const char *name)
{
  return name && (strncmp(name, "std::", 5) == 0 || strncmp(name, "__gnu_cxx::", 11) == 0);
}

const char *hwi_library_node_of(const char *name)
{
  for (int i = 0; i < CONTAINERS; i++)
    if (is_of(name, containers[i].prefix))
      return containers[i].node_typedef;
  return NULL;
}

bool hwi_library_is_node(const char *name)
{
  for (int i = 0; i < CONTAINERS; i++)
    if (is_of(name, containers[i].node_prefix))
      return true;
  return false;
}

bool hwi_library_is_node_base(const char *name)
{
  for (int i = 0; i < CONTAINERS; i++)
    if (name && strcmp(name, containers[i].base) == 0)
      return true;
  return false;
}

enum hwi_library_sequence hwi_library_sequence_of(const char *name)
{
  return is_of(name, "std::_Vector_base<")  ? HWI_LIBRARY_VECTOR
         : is_of(name, "std::_Deque_base<") ? HWI_LIBRARY_DEQUE
                                            : HWI_LIBRARY_NO_SEQUENCE;
}

const char *hwi_library_buffer(const char *name)
{
  for (int i = 0; i < BUFFERS; i++)
    if (is_of(name, buffers[i]))
      return "_Tp";
  return NULL;
}

bool hwi_library_is_string(const char *name)
{
  return is_of(name, "std::__cxx11::basic_string<");
}
