/* names.c - the names of scopes of ROS callbacks
 *
 * A callback belongs to a subscription object of rclcpp, that to a subscription of rcl, which has the name; a callback of
 * a service or timer belongs to that of rcl at once. The links are stated in any order, so that they are followed when a
 * callback begins.
 */
#include "ros/names.h"

#include <stdbool.h>
#include <string.h>

#include "base/text.h"
#include "heapwright/monitor.h"
#include "ros/objects.h"

enum { LONGEST_NAME = 1024, NODE_TEXT_BYTES = 1 << 18, MOST_LINKS = 4 };

/* --- the paths of nodes --- */

/* They follow each other, each with a NUL. The first byte is of no node. */
static char node_texts[NODE_TEXT_BYTES];
static _Atomic uint32_t node_texts_used = 1;

static const char *path_of(const void *node)
{
  const struct hwi_ros_object *object = hwi_ros_object_at(node);
  return object ? node_texts + atomic_load_explicit(&object->path_off, memory_order_acquire) : "";
}

/* Returns where the text is stored, or 0 if there is no room. */
static uint32_t store(const struct hwi_text *text)
{
  if (atomic_load_explicit(&node_texts_used, memory_order_relaxed) + text->bytes >= NODE_TEXT_BYTES)
    return 0;
  uint32_t off = atomic_fetch_add(&node_texts_used, (uint32_t)text->bytes + 1);
  if (off + text->bytes >= NODE_TEXT_BYTES)
    return 0;
  memcpy(node_texts + off, text->to, text->bytes);
  return off;
}

void hwi_ros_name_node(const void *node, const char *name, const char *space)
{
  char path[LONGEST_NAME];
  struct hwi_text text = hwi_text_begin(path, sizeof path);
  struct hwi_ros_object *object = hw_monitor_found && name && space ? hwi_ros_object_make(node) : NULL;
  if (!object)
    return;
  hwi_text_add(&text, space);
  if (!text.bytes || path[text.bytes - 1] != '/')
    hwi_text_add(&text, "/");
  hwi_text_add(&text, name);
  if (strcmp(path_of(node), path) != 0) /* a node that is created again stays where it is */
    atomic_store_explicit(&object->path_off, store(&text), memory_order_release);
}

/* --- scopes --- */

/* Begins a name: the node, if it is known, and a blank. */
static struct hwi_text begin(char name[LONGEST_NAME], const void *node)
{
  struct hwi_text text = hwi_text_begin(name, LONGEST_NAME);
  hwi_text_add(&text, path_of(node));
  if (text.bytes)
    hwi_text_add(&text, " ");
  return text;
}

/* The object at this address is a new one, with a scope of this name (0: none) or an owner's. */
static struct hwi_ros_object *replace(const void *address, uint32_t scope_name, const void *owner)
{
  struct hwi_ros_object *object = hwi_ros_object_make(address);
  if (object) {
    atomic_store_explicit(&object->owner, (uintptr_t)owner, memory_order_relaxed);
    atomic_store_explicit(&object->scope_name, scope_name, memory_order_relaxed);
  }
  return object;
}

void hwi_ros_name_entity(const void *entity, const void *node, const char *kind, const char *name)
{
  char full[LONGEST_NAME];
  if (!hw_monitor_found)
    return;
  struct hwi_text text = begin(full, node);
  hwi_text_add(&text, kind);
  hwi_text_add(&text, name ? name : "");
  replace(entity, name ? hw_monitor_found->name(full) : 0, NULL);
}

/* --- timers --- */

/* Adds the period with at most three decimals: "33.333 ms". */
static void add_period(struct hwi_text *text, uint64_t ns)
{
  static const struct {
    uint64_t ns;
    const char *name;
  } units[] = {{1000000000, " s"}, {1000000, " ms"}, {1000, " us"}, {1, " ns"}};
  size_t at = 0;
  while (ns < units[at].ns && units[at].ns > 1)
    at++;
  uint64_t unit = units[at].ns, thousandths = ns % unit * 1000 / unit;
  hwi_text_add_number(text, ns / unit);
  hwi_text_add(text, thousandths ? "." : "");
  for (uint64_t digit = 100; thousandths; thousandths %= digit, digit /= 10)
    hwi_text_add_number(text, thousandths / digit);
  hwi_text_add(text, units[at].name);
}

static uint32_t timer_name(const void *node, int64_t period_ns)
{
  char name[LONGEST_NAME];
  struct hwi_text text = begin(name, node);
  hwi_text_add(&text, "timer");
  if (period_ns >= 0) {
    hwi_text_add(&text, " ");
    add_period(&text, (uint64_t)period_ns);
  }
  return hw_monitor_found->name(name);
}

void hwi_ros_name_timer(const void *timer, int64_t period_ns)
{
  struct hwi_ros_object *object = hw_monitor_found ? replace(timer, timer_name(NULL, period_ns), NULL) : NULL;
  if (object)
    atomic_store_explicit(&object->period_ns, period_ns, memory_order_relaxed);
}

void hwi_ros_name_timer_of(const void *timer, const void *node)
{
  struct hwi_ros_object *object = hw_monitor_found ? hwi_ros_object_at(timer) : NULL;
  if (object)
    atomic_store_explicit(&object->scope_name,
                          timer_name(node, atomic_load_explicit(&object->period_ns, memory_order_relaxed)),
                          memory_order_relaxed);
}

/* --- callbacks --- */

void hwi_ros_name_owner(const void *object, const void *owner)
{
  if (hw_monitor_found)
    replace(object, 0, owner);
}

void hwi_ros_name_function(const void *callback, const char *function)
{
  struct hwi_ros_object *object = hw_monitor_found && function ? hwi_ros_object_make(callback) : NULL;
  if (object)
    atomic_store_explicit(&object->scope_name, hw_monitor_found->name(function), memory_order_relaxed);
}

uint32_t hwi_ros_name_of(const void *callback)
{
  uint32_t name = 0;
  const struct hwi_ros_object *object = hwi_ros_object_at(callback);
  for (int links = 0; object && links < MOST_LINKS; links++) {
    uint32_t own = atomic_load_explicit(&object->scope_name, memory_order_relaxed);
    name = own ? own : name;
    object = hwi_ros_object_at((const void *)atomic_load_explicit(&object->owner, memory_order_relaxed));
  }
  return name ? name : hw_monitor_found->name("callback");
}
