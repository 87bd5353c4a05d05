/* names.h - the names of scopes of ROS callbacks: "/talker timer 500 ms", "/listener /chatter", "/adder service /add"
 *
 * All functions are async-signal-safe and do not change errno. Without a recorder they do nothing.
 */
#ifndef HWI_ROS_NAMES_H
#define HWI_ROS_NAMES_H

#include <stdint.h>

/* ROS creates a node, a subscription (`kind` is "") or a service ("service ") of a node, or a timer. */
void hwi_ros_name_node(const void *node, const char *name, const char *space);
void hwi_ros_name_entity(const void *entity, const void *node, const char *kind, const char *name);
void hwi_ros_name_timer(const void *timer, int64_t period_ns);

/* A timer gets its node. */
void hwi_ros_name_timer_of(const void *timer, const void *node);

/* The callbacks of `object`, or the callback itself, are in the owner's scope. */
void hwi_ros_name_owner(const void *object, const void *owner);

/* The callback calls this function: its name if no other is known. */
void hwi_ros_name_function(const void *callback, const char *function);

/* Returns the recorder's number of the name of the callback's scope. There is a recorder. */
uint32_t hwi_ros_name_of(const void *callback);

#endif
